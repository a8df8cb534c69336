/** An HTTP request, as whoever received it describes it to the endpoint: Effect's router, or Node itself. */
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import type * as Tracer from "effect/Tracer"

export interface Asked {
  readonly method: string
  /** By names in lower case. */
  readonly headers: Headers
  /** The address, whole where the request does not carry its host as a header. */
  readonly originalUrl: string
  readonly principal: Principal["Service"] | undefined
  /** The address of the client, or of the proxy before it, where the platform says it. */
  readonly address: string | undefined
  /** What lies around it, where there is a tracer. */
  readonly span: Tracer.AnySpan | undefined
}
