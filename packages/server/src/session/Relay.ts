/**
 * Forwards an HTTP request to the node that holds its session, and streams back the response. An implementation must keep outsiders out,
 * because the receiving node trusts the principal in the request.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import type { Headers } from "@effect-mcp/protocol/Headers"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** A request that the node that received it has admitted. */
export interface RelayedRequest {
  /** Name of the server that it is for, and ID of the session. */
  readonly server: string
  readonly session: string
  readonly method: string
  readonly url: string
  /** Headers by lower-case name. */
  readonly headers: Headers
  /** `undefined` for a request without a body. */
  readonly body: Uint8Array | undefined
  readonly principal: Principal["Service"] | undefined
  /** The client's network address, or `undefined` if the platform doesn't report it. */
  readonly address: string | undefined
}

/**
 * The request has no response, or only part of one. `NotSent` means that no server has seen the request, so it can be sent to another node.
 * `Cut` means that the connection to the node broke, and the request may have run.
 */
export class RelayError extends Data.TaggedError("RelayError")<{
  readonly reason: "NotSent" | "Cut"
  readonly message: string
}> {}

export interface RelayedResponse {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  /** A complete body as text or bytes, or a stream. A stream is read as fast as it is consumed, and fails if the response breaks off. */
  readonly body: string | Uint8Array | Stream.Stream<Uint8Array, RelayError>
}

/** Handles requests from other nodes. */
export interface RelayEndpoint {
  readonly server: string
  /**
   * Fails with `NotSent` if it doesn't have the session. The response lasts until the scope closes, which disconnects. The request may run
   * before the effect does, so run the effect immediately and only once.
   */
  readonly answer: (request: RelayedRequest) => Effect.Effect<RelayedResponse, RelayError, Scope.Scope>
}

export interface Relay {
  /**
   * Sends a request to a node. Closing the scope disconnects from that node, as the client would. The response, or the rest of its body,
   * fails with `Cut` when the node's lease has ended, within two seconds of its death.
   */
  readonly send: (node: string, request: RelayedRequest) => Effect.Effect<RelayedResponse, RelayError, Scope.Scope>
  /** Lets an endpoint handle other nodes' requests, until the scope closes. */
  readonly serve: (endpoint: RelayEndpoint) => Effect.Effect<void, never, Scope.Scope>
}
