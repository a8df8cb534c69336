/**
 * Carries an HTTP request to the node that holds its session, and the response back as it is written. Whatever carries it has to keep
 * strangers out: the receiving node believes the principal that it is told.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** A request that was admitted by the node it came to. */
export interface RelayedRequest {
  /** The name of the server, and the session, that it is for. */
  readonly server: string
  readonly session: string
  readonly method: string
  readonly url: string
  /** By names in lower case. */
  readonly headers: Headers
  /** Undefined for a request without one. */
  readonly body: Uint8Array | undefined
  readonly principal: Principal["Service"] | undefined
  /** The address of the client; undefined where the platform does not give it. */
  readonly address: string | undefined
}

/**
 * The request has no response, or not all of it. `NotSent`: no server has seen it, so it may be sent to another node. `Cut`: the
 * connection to the node broke, and the request may have run.
 */
export class RelayError extends Data.TaggedError("RelayError")<{
  readonly reason: "NotSent" | "Cut"
  readonly message: string
}> {}

export interface RelayedResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** Whole, as text or bytes; or a stream, which is read as fast as it is consumed. Whether that breaks off is told by its failure. */
  readonly body: string | Uint8Array | Stream.Stream<Uint8Array, RelayError>
}

/** What answers requests of other nodes. */
export interface RelayEndpoint {
  readonly server: string
  /**
   * Fails with `NotSent` where it does not have the session. The response lasts until the scope closes, which hangs up. The request may run
   * before the effect does, which is to be run once, at once.
   */
  readonly answer: (request: RelayedRequest) => Effect.Effect<RelayedResponse, RelayError, Scope.Scope>
}

export interface Relay {
  /**
   * Sends a request to a node. Closing the scope hangs up there, as the client would. The response, or the rest of its body, fails with `Cut`
   * when the lease of the node has ended, within two seconds of its death.
   */
  readonly send: (node: string, request: RelayedRequest) => Effect.Effect<RelayedResponse, RelayError, Scope.Scope>
  /** Has an endpoint answer the requests that other nodes send, until the scope closes. */
  readonly serve: (endpoint: RelayEndpoint) => Effect.Effect<void, never, Scope.Scope>
}
