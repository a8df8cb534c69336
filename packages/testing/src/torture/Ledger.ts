/**
 * Records a handler's effects on the outside world during a run: resources it holds, and events that can't be undone. Test doubles write to
 * the ledger, and `Torture` reads it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface LedgerEntry {
  readonly kind: "acquired" | "released" | "happened" | "called" | "asked"
  readonly name: string
}

/**
 * The ledger for one run. A double that hands out connections calls `acquired` and `released`. A double that charges a card calls
 * `happened` with a name that may occur only once, such as `charge order-7`.
 */
export class Ledger extends Context.Service<
  Ledger,
  {
    readonly acquired: (name: string) => Effect.Effect<void>
    readonly released: (name: string) => Effect.Effect<void>
    readonly happened: (name: string) => Effect.Effect<void>
    /** All entries so far, oldest first. */
    readonly entries: Effect.Effect<ReadonlyArray<LedgerEntry>>
  }
>()("@effect-mcp/testing/Ledger") {
  static readonly layer: Layer.Layer<Ledger> = Layer.sync(Ledger, () => Ledger.of(ledgerOf([])))
}

/** Creates a ledger that writes to an array. */
export const ledgerOf = (entries: Array<LedgerEntry>): Ledger["Service"] => {
  const write = (kind: LedgerEntry["kind"]) => (name: string) => Effect.sync(() => void entries.push({ kind, name }))
  return {
    acquired: write("acquired"),
    released: write("released"),
    happened: write("happened"),
    entries: Effect.sync(() => [...entries])
  }
}

/** Records that a resource was acquired. It must be released before the run ends. */
export const acquired = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.acquired(name))

/** Records that a resource was released. */
export const released = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.released(name))

/** Records an event that must not happen twice in the same run. */
export const happened = (name: string): Effect.Effect<void, never, Ledger> =>
  Effect.flatMap(Ledger, (ledger) => ledger.happened(name))

/** Returns the problems of a ledger at the end of a run. */
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
