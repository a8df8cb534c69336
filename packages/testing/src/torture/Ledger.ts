/** What happened outside of a handler in one run: what it holds, and what cannot be undone. Doubles write it, `Torture` reads it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface LedgerEntry {
  readonly kind: "acquired" | "released" | "happened" | "called" | "asked"
  readonly name: string
}

/**
 * The ledger of a run. A double that hands out connections says `acquired` and `released`; one that charges a card says `happened`, by a name
 * that may come once: `charge order-7`.
 */
export class Ledger extends Context.Service<
  Ledger,
  {
    readonly acquired: (name: string) => Effect.Effect<void>
    readonly released: (name: string) => Effect.Effect<void>
    readonly happened: (name: string) => Effect.Effect<void>
    /** All entries so far, the oldest first. */
    readonly entries: Effect.Effect<ReadonlyArray<LedgerEntry>>
  }
>()("@effect-mcp/testing/Ledger") {
  static readonly layer: Layer.Layer<Ledger> = Layer.sync(Ledger, () => Ledger.of(ledgerOf([])))
}

/** A ledger that writes to an array. */
export const ledgerOf = (entries: Array<LedgerEntry>): Ledger["Service"] => {
  const write = (kind: LedgerEntry["kind"]) => (name: string) => Effect.sync(() => void entries.push({ kind, name }))
  return {
    acquired: write("acquired"),
    released: write("released"),
    happened: write("happened"),
    entries: Effect.sync(() => [...entries])
  }
}

/** Says that a thing was acquired, which must be released before the run ends. */
export const acquired = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.acquired(name))

/** Says that a thing was released. */
export const released = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.released(name))

/** Notes an event that must not happen twice in a run. */
export const happened = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.happened(name))

/** What is wrong with a ledger at the end of a run. */
export const audit = (entries: ReadonlyArray<LedgerEntry>): ReadonlyArray<string> => {
  const found: Array<string> = []
  const held = new Map<string, number>()
  const done = new Set<string>()
  const twice = new Set<string>()
  for (const { kind, name } of entries) {
    if (kind === "acquired") held.set(name, (held.get(name) ?? 0) + 1)
    if (kind === "released") held.set(name, (held.get(name) ?? 0) - 1)
    if (kind === "happened" && done.has(name)) twice.add(name)
    if (kind === "happened") done.add(name)
  }
  for (const name of twice) found.push(`${name} happened twice`)
  for (const [name, count] of held) {
    if (count > 0) found.push(`${name} is not released`)
    if (count < 0) found.push(`${name} is released more often than it was acquired`)
  }
  return found
}
