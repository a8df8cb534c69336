/**
 * An HTTP request and its response, from admission until the response has been written or cut off.
 *
 * One is created for every request, so it has no closures and drops its references at the end.
 */
import type { ArrivingBody } from "../../internal/ArrivingBodies.ts"

const nothing = (): void => {}

/** A response waiting for its client to read it. */
export interface UnreadAnswer extends ArrivingBody {
  readonly exchange: HttpExchange
  /** Closes the connection. */
  readonly close: () => void
}

export class HttpExchange {
  /** True for a subscription, which stays open by design. Set once, before the response. */
  isSubscription = false
  /** Number of deadline rounds for which its body has been arriving. */
  rounds = 0
  /** Bytes of its body that have arrived; see `partCost`. */
  bytes = 0
  /** Interrupts its request. Does nothing after the exchange has ended. */
  stop: () => void
  /** Cuts the response off. Does nothing after the exchange has ended. */
  cut: () => void
  /** Its response while that is waiting for the client, or `undefined`. */
  unread: UnreadAnswer | undefined = undefined
  /** Called once, when the exchange ends. `undefined` until the response needs it, and again afterwards. */
  left: (() => void) | undefined = undefined
  /** The principal or the address. Empty if neither is known. */
  readonly caller: string

  constructor(cut: () => void, caller: string) {
    this.caller = caller
    this.stop = cut
    this.cut = cut
  }

  /** Drops all references, so that an object in the old generation doesn't keep its request alive. */
  end(): void {
    const { left } = this
    this.stop = nothing
    this.cut = nothing
    this.left = undefined
    left?.()
  }
}
