/** The requests that differ between the two eras, after a revision is negotiated. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientError, Closed } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { OtherResult } from "../extension/OtherResult.ts"

/** Options of a request of a method that is in no table. */
export interface SendOptions extends CallOptions {
  /** Whether questions inside its result are answered (2026-07-28); otherwise they are its result. */
  readonly answered: boolean
  /** Whether results of another kind are for their handlers; otherwise they are its result. */
  readonly followed: boolean
}

/** A subscription of any kind: what the server granted, and when the server or the connection ends it. */
export interface Listened {
  readonly granted: JsonObject
  readonly ended: Effect.Effect<Closed>
}

export interface EraRequests {
  /** A result of another kind is handed to its handler; see `decode`. */
  readonly request: <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<ClientRequests[M]["result"] | OtherResult, ClientError>
  /** The final result that a handler of results gave. */
  readonly decode: <M extends keyof ClientRequests>(
    method: M,
    wire: unknown
  ) => Effect.Effect<ClientRequests[M]["result"], ClientError>
  /** Sends a request of a method that is in no table; params and result are those of the wire. */
  readonly send: (method: string, params: JsonObject, options: SendOptions) => Effect.Effect<unknown, ClientError>
  /** Sends a notification of a method that is in no table, when the transport has room. */
  readonly notify: (method: string, params: JsonObject | undefined) => Effect.Effect<void, ClientError>
  /** The answers to questions that a result of another kind carries. */
  readonly answer: (method: string, inputRequests: JsonObject) => Effect.Effect<JsonObject, ClientError>
  /** `subscriptions/listen` with any filter, for as long as the scope; `received` is called in the reader. */
  readonly listen: (
    filter: JsonObject,
    received: (notification: JsonRpc.Notification) => void
  ) => Effect.Effect<Listened, ClientError, Scope.Scope>
  /**
   * Subscribes to updates of a resource for as long as the scope, from when this returns. The inner effect completes if the server ends
   * the subscription. `updated` is called in the reader with the URI of each update that names this subscription; an update that names
   * none is announced like every other notification.
   */
  readonly subscribeResource: (
    uri: string,
    updated: (uri: string) => void
  ) => Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Subscribes to changes of lists for as long as the scope; the inner effect is as above. */
  readonly subscribeLists: Effect.Effect<Effect.Effect<Closed>, ClientError, Scope.Scope>
  /** Asks the server for log messages of at least this level. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** The smallest request that the server answers. */
  readonly ping: (options?: CallOptions) => Effect.Effect<void, ClientError>
}
