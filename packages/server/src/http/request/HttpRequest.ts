/** An HTTP request as the endpoint sees it, whatever received it: Effect's router or `node:http`. */
import { anonymous, callerKey, type Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import type * as Tracer from "effect/Tracer"

export interface HttpRequest {
  /** In upper case. */
  readonly method: string
  /** By names in lower case. */
  readonly headers: Headers
  /** The path and query; the whole URL where the request has no `host` header. */
  readonly originalUrl: string
  /** The authenticated user; undefined for an anonymous one. */
  readonly principal: Principal["Service"] | undefined
  /** The address of the client, or of the proxy before it; undefined where the platform does not give it. */
  readonly address: string | undefined
  /** The span that the request belongs to, where there is a tracer. */
  readonly span: Tracer.AnySpan | undefined
}

export const principalOf = ({ principal }: HttpRequest): Principal["Service"] => principal ?? anonymous

/** The principal as a key; empty for an anonymous one. */
export const ownerOf = (http: HttpRequest): string => callerKey(principalOf(http)) ?? ""

/** The principal, or else the address, as a key; empty where neither is known. */
export const callerOf = (http: HttpRequest): string => callerKey(principalOf(http), http.address) ?? ""
