/**
 * What chance decides in a run: each decision has a name, and follows from the seed and its name alone. So a run can be repeated with fewer of
 * them, as a shrinker does: what is left decides as before, and what is taken out is as if no chance existed.
 */

/** A decision that differs from the ordinary course: an order other than that of arrival, a delay, a cut. */
export interface Decision {
  /** What is decided, such as `alice > 3 late`. */
  readonly name: string
  /** At least 1. */
  readonly value: number
  /** For people. */
  readonly text: string
}

/** A number from 0 to 1 for a text and a seed (FNV-1a, then a 32-bit mix). */
const chance = (seed: number | string, text: string): number => {
  let hash = 0x811c9dc5
  const all = `${seed}:${text}`
  for (let index = 0; index < all.length; index++) hash = Math.imul(hash ^ all.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}

export class Decisions {
  /** Those that were taken, in order. */
  readonly taken: Array<Decision> = []
  readonly seed: number | string
  private readonly given: ReadonlyMap<string, number> | undefined

  /** `given`: only these are taken. */
  constructor(seed: number | string, given?: ReadonlyArray<Pick<Decision, "name" | "value">>) {
    this.seed = seed
    this.given = given && new Map(given.map(({ name, value }) => [name, value]))
  }

  /** One of the values, the same for all runs of the seed: how much chance there is in them. */
  pick<A>(name: string, values: readonly [A, ...ReadonlyArray<A>]): A {
    return values[Math.floor(chance(this.seed, name) * values.length)] ?? values[0]
  }

  /** 0 for the ordinary course, else from 1 to `most`. */
  decide(name: string, likelihood: number, most: number, text: (value: number) => string): number {
    const value = this.given === undefined ? this.drawn(name, likelihood, most) : (this.given.get(name) ?? 0)
    const decided = Math.min(value, most)
    if (decided > 0) this.taken.push({ name, value: decided, text: text(decided) })
    return decided
  }

  private drawn(name: string, likelihood: number, most: number): number {
    if (likelihood <= 0 || most < 1 || chance(this.seed, name) >= likelihood) return 0
    return 1 + Math.floor(chance(this.seed, `${name} value`) * most)
  }
}
