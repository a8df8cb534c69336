/**
 * Counts how much of a resource each caller holds: bytes, connections, tasks. All per-caller limits use this module.
 *
 * There is a limit for all callers together and a limit for each caller. Some resources can be reclaimed, such as a body that is still
 * arriving or a call that is waiting. When a limit is exceeded, the caller with the largest share loses its oldest holding
 * (`oldestOfHeaviest`), so that no caller ever loses something to a caller with more. For any other resource, the request for more is
 * rejected. Callers without a key cannot be distinguished, so they only count toward the total.
 */
import { BusyMap } from "./BusyMap.ts"

export interface Bounds {
  /** Maximum amount for all callers together. */
  readonly total: number
  /** Maximum amount for one caller. */
  readonly perCaller: number
}

/** Returns the limits for a resource. `share` is the fraction one caller may hold, from 0 to 1. */
export const boundsOf = (total: number, share: number): Bounds => ({ total, perCaller: Math.ceil(total * share) })

/** The limit that was exceeded. */
type Exceeded = keyof Bounds

/** A caller, as identified by `callerKey`. Empty or `undefined` if neither its principal nor its address is known. */
type Key = string | undefined

export class Shares {
  readonly bounds: Bounds
  /** Amount held by all callers. */
  total = 0
  private readonly held = new BusyMap<string, number>()

  constructor(bounds: Bounds) {
    this.bounds = bounds
  }

  /** Returns the amount a caller holds. */
  of(caller: Key): number {
    return (caller && this.held.get(caller)) || 0
  }

  /** Returns the limit that would be exceeded if the caller held this much more, or `undefined` if there is room. */
  exceededBy(caller: Key, more: number): Exceeded | undefined {
    if (caller && this.of(caller) + more > this.bounds.perCaller) return "perCaller"
    return this.total + more > this.bounds.total ? "total" : undefined
  }

  /** Adds to the amount a caller holds, even if that exceeds a limit. Pass a negative amount to release. */
  add(caller: Key, amount: number): void {
    this.total += amount
    if (!caller) return
    const held = this.of(caller) + amount
    if (held > 0) this.held.set(caller, held)
    else this.held.delete(caller)
  }
}

/** A holding that can be reclaimed from its caller. */
export interface Holding {
  readonly caller: Key
}

/**
 * Returns the first holding of the caller that holds the most according to `held`. In a tie, `asking` loses if it is among these callers;
 * otherwise the caller with the first holding does.
 */
export const firstOfHeaviest = <A extends Holding>(
  holdings: ReadonlyArray<A>,
  held: (caller: Key) => number,
  asking?: Key
): A | undefined => {
  // Spreading this many arguments could overflow the stack.
  const most = holdings.reduce((amount, { caller }) => Math.max(amount, held(caller)), 0)
  const heaviest = holdings.filter(({ caller }) => held(caller) === most)
  const own = asking === undefined ? undefined : heaviest.find(({ caller }) => caller === asking)
  return own ?? heaviest[0]
}

/** Same as `firstOfHeaviest`, if `holdings` is everything the callers hold, oldest first. `amountOf` returns the size of each holding. */
export const oldestOfHeaviest = <A extends Holding>(
  holdings: ReadonlyArray<A>,
  amountOf: (holding: A) => number = () => 1,
  asking?: Key
): A | undefined => {
  const amounts = new Map<Key, number>()
  for (const one of holdings) amounts.set(one.caller, (amounts.get(one.caller) ?? 0) + amountOf(one))
  return firstOfHeaviest(holdings, (caller) => amounts.get(caller) ?? 0, asking)
}
