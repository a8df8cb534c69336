/**
 * One HTTP request and its response, from admission until the response was written or cut off.
 *
 * Made for every request: it has no closures of its own, and drops its references at the end.
 */
import { callerOf, type HttpRequest } from "./HttpRequest.ts"

const nothing = (): void => {}

export class HttpExchange {
  /** Whether it is a subscription, which stays open by design: set once, before the response. */
  isSubscription = false
  /** For how many rounds of the deadline its body has been arriving; undefined once the body is there. */
  reading: number | undefined = 0
  /** Interrupts the request that it carries; does nothing once the exchange has ended. */
  stop: () => void
  /** Cuts the response off; does nothing once the exchange has ended. */
  cut: () => void
  /** Called once, when the exchange ends. Undefined before the response needs it, and afterwards. */
  left: (() => void) | undefined = undefined
  /** Undefined for a request that is not limited, and once the exchange has ended. */
  private http: HttpRequest | undefined
  /** Computed when it is first read: few exchanges are counted by their caller. */
  private key: string | undefined = undefined

  constructor(cut: () => void, http: HttpRequest | undefined) {
    this.http = http
    this.stop = cut
    this.cut = cut
  }

  /** The principal or the address; empty where neither is known. */
  get caller(): string {
    if (this.http === undefined) return this.key ?? ""
    return (this.key ??= callerOf(this.http))
  }

  /** Drops all references, so that a promoted object does not keep its request alive. */
  end(): void {
    this.http = undefined
    const { left } = this
    this.stop = nothing
    this.cut = nothing
    this.left = undefined
    left?.()
  }
}
