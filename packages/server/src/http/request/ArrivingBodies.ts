/**
 * The bodies that are arriving at an endpoint: how many, and their bytes, of all callers and of each.
 *
 * A body beyond a bound is not refused. Instead the oldest body of the caller that holds the most is cut off. So bodies that never end do
 * not keep others from arriving.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { type Bounds, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/Shares"

export interface ArrivingBody {
  /** The principal or the address; empty if neither is known. */
  readonly caller: string
  /** Bytes that have arrived; see `partCost`. */
  bytes: number
}

/** Bytes that a part of a body costs besides its own, however small it is. */
export const partCost = 128

export class ArrivingBodies<B extends ArrivingBody> {
  private readonly bodies = new BusyMap<B, B>()
  private readonly bytes: Shares
  private readonly most: number
  private readonly cutOff: (body: B) => void

  /** `most`: bodies at once. `bytes`: bounds of their bytes. `cutOff` must call `leave`. */
  constructor(most: number, bytes: Bounds, cutOff: (body: B) => void) {
    this.most = most
    this.bytes = new Shares(bytes)
    this.cutOff = cutOff
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

  /** Begins a body. */
  enter(body: B): void {
    if (this.bodies.size >= this.most) this.cutOne(this.bodies.values(), () => 1)
    this.bodies.set(body, body)
  }

  /** Counts a part that has arrived. Returns whether to go on reading: false if the body was cut off. */
  received(body: B, length: number): boolean {
    if (!this.bodies.has(body)) return false
    const cost = length + partCost
    body.bytes += cost
    this.bytes.add(body.caller, cost)
    while (this.cutExcess(body.caller));
    return this.bodies.has(body)
  }

  /** Cuts off a body if a bound is exceeded. */
  private cutExcess(caller: string): boolean {
    const exceeded = this.bytes.exceededBy(caller, 0)
    if (exceeded === undefined) return false
    const holding = this.bodies.values().filter(({ bytes }) => bytes > 0)
    const among = exceeded === "total" ? holding : holding.filter((one) => one.caller === caller)
    return this.cutOne(among, ({ bytes }) => bytes)
  }

  private cutOne(bodies: ReadonlyArray<B>, amountOf: (body: B) => number): boolean {
    const slow = oldestOfHeaviest(bodies, amountOf)
    if (slow !== undefined) this.cutOff(slow)
    return slow !== undefined
  }

  /** The body has arrived, or was cut off. Returns false if it did before. */
  leave(body: B): boolean {
    if (!this.bodies.delete(body)) return false
    this.bytes.add(body.caller, -body.bytes)
    return true
  }
}
