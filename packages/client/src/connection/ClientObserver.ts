/**
 * What observes clients: metrics, audit trails. Without one nothing is measured, and no call is made.
 *
 * Owns the services that hand observers to clients. Refuses to change requests: `ClientMiddleware` does that.
 */
import type { ReceivedEnd, RequestError, SentEnd } from "@effect-mcp/core/Peer"
import type { Traffic } from "@effect-mcp/core/Transport"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** A connection to a server, as far as it is known. */
export interface ObservedConnection {
  /** Undefined before the handshake has ended, as `server` is. */
  readonly revision: string | undefined
  readonly server: Implementation | undefined
  /** Where the server is: a URL without its query, or a command line. */
  readonly address: string | undefined
  /** What the transport has carried, where it knows. */
  readonly traffic: Traffic | undefined
  /** How many requests wait for their answers. */
  readonly outstanding: () => number
}

/**
 * Called with what happens at a client. The calls are in the path of the messages: they must neither block nor throw, and must not keep
 * what they are given. What is left out costs nothing.
 */
export interface ClientObserver {
  /** A request has ended, after `duration` milliseconds. Each try, and each round of questions, is one. */
  readonly request?: (
    end: SentEnd & { readonly duration: number },
    exit: Exit.Exit<unknown, RequestError>,
    connection: ObservedConnection
  ) => void
  /** A question of the server was answered. In 2026-07-28 questions are part of results, and not among them. */
  readonly question?: (
    end: ReceivedEnd & { readonly duration: number },
    exit: Exit.Exit<unknown, McpError>,
    connection: ObservedConnection
  ) => void
  /** The handshake has ended. */
  readonly opened?: (connection: ObservedConnection) => void
  /** An opened connection has ended, after `duration` milliseconds. */
  readonly closed?: (connection: ObservedConnection, duration: number) => void
  /** A lost connection was replaced. */
  readonly reconnected?: () => void
}

const prefix = "@effect-mcp/client/ClientObserver/"
let made = 0

/**
 * An observer of clients that are built in this context. Each has a key of its own: side by side, no layer with an observer replaces that
 * of another.
 */
export class ClientObservers extends Context.Service<ClientObservers, ClientObserver>()(prefix) {}

/** The clients that are given this layer have the observer, beside those of other layers. */
export const layer = <E, R>(
  make: Effect.Effect<ClientObserver, E, R>
): Layer.Layer<ClientObservers, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(
    Effect.map(make, (observer) => Context.makeUnsafe<ClientObservers>(new Map([[`${prefix}${++made}`, observer]])))
  )

/** The observers of the context. */
export const current: Effect.Effect<ReadonlyArray<ClientObserver>> = Effect.map(
  Effect.context<never>(),
  ({ mapUnsafe }) =>
    // Only `layer` makes services with this prefix.
    [...mapUnsafe].flatMap(([key, observer]): ReadonlyArray<ClientObserver> =>
      key.startsWith(prefix) ? [observer] : []
    )
)
