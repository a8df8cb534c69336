/**
 * One HTTP request and its response, from admission until the response was written or cut off.
 *
 * Made for every request: it has no closures of its own, and drops its references at the end.
 */
const nothing = (): void => {}

export class HttpExchange {
  /** Whether it is a subscription, which stays open by design: set once, before the response. */
  isSubscription = false
  /** For how many rounds of the deadline its body has been arriving. */
  rounds = 0
  /** Bytes of its body that have arrived; see `partCost`. */
  bytes = 0
  /** Interrupts the request that it carries; does nothing once the exchange has ended. */
  stop: () => void
  /** Cuts the response off; does nothing once the exchange has ended. */
  cut: () => void
  /** Called once, when the exchange ends. Undefined before the response needs it, and afterwards. */
  left: (() => void) | undefined = undefined
  /** The principal or the address; empty if neither is known, or if the exchange is not limited. */
  readonly caller: string

  constructor(cut: () => void, caller: string) {
    this.caller = caller
    this.stop = cut
    this.cut = cut
  }

  /** Drops all references, so that a promoted object does not keep its request alive. */
  end(): void {
    const { left } = this
    this.stop = nothing
    this.cut = nothing
    this.left = undefined
    left?.()
  }
}
