/**
 * Bodies being received by an endpoint, or lines by a socket, with limits on their number and bytes, in total and per caller.
 *
 * A body that exceeds a limit isn't rejected. Instead, the heaviest caller's oldest body is cut off, so that bodies that never end can't
 * block others.
 */
import { type Bounds, BusyMap, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"

export interface ArrivingBody {
  /** The principal or the address. Empty if neither is known. */
  readonly caller: string
  /** Bytes that have arrived; see `partCost`. */
  bytes: number
}

/** Overhead in bytes that each part of a body adds, however small it is. */
export const partCost = 128

export class ArrivingBodies<B extends ArrivingBody> {
  private readonly bodies = new BusyMap<B, B>()
  private readonly bytes: Shares
  private readonly most: number
  private readonly cutOff: (body: B) => void

  private readonly sparesOnly: boolean

  /**
   * `most` limits the number of bodies, `bytes` their size. `cutOff` must call `leave`. With `sparesOnly`, a body that alone exceeds a
   * limit is not cut off.
   */
  constructor(most: number, bytes: Bounds, cutOff: (body: B) => void, sparesOnly = false) {
    this.most = most
    this.bytes = new Shares(bytes)
    this.cutOff = cutOff
    this.sparesOnly = sparesOnly
  }

  get size(): number {
    return this.bodies.size
  }

  /** Bytes of all bodies. */
  get held(): number {
    return this.bytes.total
  }

  all(): ReadonlyArray<B> {
    return this.bodies.values()
  }

  /** Starts a body. */
  enter(body: B): void {
    if (this.bodies.size >= this.most) this.cutOne(this.bodies.values(), () => 1)
    this.bodies.set(body, body)
  }

  /** Counts a part that has arrived. Returns false if the body was cut off and reading should stop. */
  received(body: B, length: number): boolean {
    if (!this.bodies.has(body)) return false
    const cost = length + partCost
    body.bytes += cost
    this.bytes.add(body.caller, cost)
    while (this.cutExcess(body.caller));
    return this.bodies.has(body)
  }

  /** Cuts off a body if a limit is exceeded. */
  private cutExcess(caller: string): boolean {
    const exceeded = this.bytes.exceededBy(caller, 0)
    if (exceeded === undefined) return false
    const holding = this.bodies.values().filter(({ bytes }) => bytes > 0)
    const among = exceeded === "total" ? holding : holding.filter((one) => one.caller === caller)
    if (this.sparesOnly && among.length === 1) return false
    return this.cutOne(among, ({ bytes }) => bytes)
  }

  private cutOne(bodies: ReadonlyArray<B>, amountOf: (body: B) => number): boolean {
    const slow = oldestOfHeaviest(bodies, amountOf)
    if (slow !== undefined) this.cutOff(slow)
    return slow !== undefined
  }

  /** Removes a body that has arrived or was cut off. Returns false if it was already removed. */
  leave(body: B): boolean {
    if (!this.bodies.delete(body)) return false
    this.bytes.add(body.caller, -body.bytes)
    return true
  }
}
