/**
 * Amounts of one resource that callers hold: bytes, conversations, tasks. Every limit per caller counts with this module.
 *
 * There is a bound for all callers and one for each. Some resources can be taken back: a body that arrives, a call that waits. Beyond a
 * bound the caller that holds the most loses its oldest one (`oldestOfHeaviest`), so that no caller loses anything to one that holds more. Any other resource is refused to the caller that asks for it. Callers without a key cannot be told apart: they only count in the total.
 */
import { BusyMap } from "./BusyMap.ts"

export interface Bounds {
  /** Amount that all callers may hold together. */
  readonly total: number
  /** Amount that one caller may hold. */
  readonly perCaller: number
}

/** Bounds of a resource of which one caller may hold a part, from 0 to 1. */
export const boundsOf = (total: number, share: number): Bounds => ({ total, perCaller: Math.ceil(total * share) })

/** The bound that an amount exceeds. */
export type Exceeded = keyof Bounds

/** A caller by `callerKey`. Empty or `undefined` if neither its principal nor its address is known. */
type Key = string | undefined

export class Shares {
  readonly bounds: Bounds
  /** Amount that all callers hold. */
  total = 0
  private readonly held = new BusyMap<string, number>()

  constructor(bounds: Bounds) {
    this.bounds = bounds
  }

  /** Amount that a caller holds. */
  of(caller: Key): number {
    return (caller && this.held.get(caller)) || 0
  }

  /** The bound that is exceeded if a caller holds this much more, or `undefined` if none is. */
  exceededBy(caller: Key, more: number): Exceeded | undefined {
    if (caller && this.of(caller) + more > this.bounds.perCaller) return "perCaller"
    return this.total + more > this.bounds.total ? "total" : undefined
  }

  /** Counts an amount that the caller holds from now on, even beyond a bound. A negative amount is one that it no longer holds. */
  add(caller: Key, amount: number): void {
    this.total += amount
    if (!caller) return
    const held = this.of(caller) + amount
    if (held > 0) this.held.set(caller, held)
    else this.held.delete(caller)
  }
}

/** A holding that can be taken back from its caller. */
export interface Holding {
  readonly caller: Key
}

/**
 * The oldest holding of the caller that holds the most. `holdings` are in the order of their age. If several callers hold the most, it is
 * that of `asking` if it is one of them, else the oldest of all of theirs.
 */
export const oldestOfHeaviest = <A extends Holding>(
  holdings: ReadonlyArray<A>,
  amountOf: (holding: A) => number = () => 1,
  asking?: Key
): A | undefined => {
  const amounts = new Map<Key, number>()
  for (const one of holdings) amounts.set(one.caller, (amounts.get(one.caller) ?? 0) + amountOf(one))
  // A spread of this many arguments can overflow the stack.
  const most = Array.from(amounts.values()).reduce((one, two) => Math.max(one, two), 0)
  const heaviest = (caller: Key) => amounts.get(caller) === most
  const own = asking !== undefined && heaviest(asking)
  return holdings.find(({ caller }) => (own ? caller === asking : heaviest(caller)))
}
