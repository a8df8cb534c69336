/** Requests that differ between the two eras, once a revision has been negotiated. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientError, Closed } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { OtherResult } from "../extension/OtherResult.ts"

/** Options for a request whose method is not in the method tables. */
export interface SendOptions extends CallOptions {
  /** Whether to answer questions in the result (2026-07-28). If false, they are returned as the result. */
  readonly answered: boolean
  /** Whether to pass other result types to their handlers. If false, they are returned as the result. */
  readonly followed: boolean
}

/** An open subscription: the server's grant, and an effect that completes when the server or the connection ends it. */
interface Listened {
  readonly granted: JsonObject
  readonly ended: Effect.Effect<Closed>
}

export interface EraRequests {
  /** Passes a result of another type to its handler; see `decode`. */
  readonly request: <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<ClientRequests[M]["result"] | OtherResult, ClientError>
  /** Decodes the final result that a handler returned. */
  readonly decode: <M extends keyof ClientRequests>(
    method: M,
    wire: unknown
  ) => Effect.Effect<ClientRequests[M]["result"], ClientError>
  /** Sends a request whose method is not in the method tables, with params and result in wire format. */
  readonly send: (method: string, params: JsonObject, options: SendOptions) => Effect.Effect<unknown, ClientError>
  /** Sends a notification whose method is not in the method tables, once the transport can take it. */
  readonly notify: (method: string, params: JsonObject | undefined) => Effect.Effect<void, ClientError>
  /** Answers questions in another result type. */
  readonly answer: (method: string, inputRequests: JsonObject) => Effect.Effect<JsonObject, ClientError>
  /** Sends `subscriptions/listen` with any filter, until the scope closes. The reader calls `received`. */
  readonly listen: (
    filter: JsonObject,
    received: (notification: JsonRpc.Notification) => void
  ) => Effect.Effect<Listened, ClientError, Scope.Scope>
  /**
   * Subscribes to resource updates. The subscription starts when this effect returns and ends when the scope closes. The inner effect
   * completes if the server ends the subscription. The reader calls `updated` with the URI of each update for this subscription. Updates
   * that don't name a subscription are announced like other notifications.
   */
  readonly subscribeResource: (
    uri: string,
    updated: (uri: string) => void
  ) => Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Subscribes to list changes until the scope closes. The inner effect completes if the server ends the subscription. */
  readonly subscribeLists: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Sets the minimum level of the log messages the server sends. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** Sends the smallest request the server responds to. */
  readonly ping: (options?: CallOptions) => Effect.Effect<void, ClientError>
}
