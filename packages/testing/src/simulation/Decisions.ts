/**
 * Random decisions of a run. Each decision has a name, and depends only on the seed and that name. A shrinker can therefore repeat a run
 * with fewer decisions: the remaining ones stay the same, and dropped ones take their ordinary course.
 */

/** A decision that deviates from the ordinary course: another order, a delay, a cut. */
export interface Decision {
  /** Name of the decision, such as `alice > 3 late`. */
  readonly name: string
  /** Strength of the deviation. At least 1. */
  readonly value: number
  /** Description for people. */
  readonly text: string
}

/** Hashes a text and a seed to a number from 0 to 1 (FNV-1a, then a 32-bit mix). */
const chance = (seed: number | string, text: string): number => {
  let hash = 0x811c9dc5
  const all = `${seed}:${text}`
  for (let index = 0; index < all.length; index++) hash = Math.imul(hash ^ all.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}

export class Decisions {
  /** The decisions that were taken, in order. */
  readonly taken: Array<Decision> = []
  readonly seed: number | string
  private readonly given: ReadonlyMap<string, number> | undefined

  /** If `given` is set, takes only these decisions. */
  constructor(seed: number | string, given?: ReadonlyArray<Pick<Decision, "name" | "value">>) {
    this.seed = seed
    this.given = given && new Map(given.map(({ name, value }) => [name, value]))
  }

  /** Picks one of the values for all runs with the seed, such as the amount of randomness. */
  pick<A>(name: string, values: readonly [A, ...ReadonlyArray<A>]): A {
    return values[Math.floor(chance(this.seed, name) * values.length)] ?? values[0]
  }

  /** Returns 0 for the ordinary course, or a number from 1 to `most`. */
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
