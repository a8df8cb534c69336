/**
 * Client observers, for metrics and audit trails. Without an observer, nothing is measured or called.
 *
 * Observers can't change requests. Use `ClientMiddleware` for that.
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

/** A connection to a server, including details known only after the handshake. */
export interface ObservedConnection {
  /** The negotiated revision, or `undefined` until the handshake completes. The same applies to `server`. */
  readonly revision: string | undefined
  readonly server: Implementation | undefined
  /** The server's address: its URL without the query, or its command line. */
  readonly address: string | undefined
  /** Number of bytes transferred, if the transport counts them. */
  readonly traffic: Traffic | undefined
  /** Returns the number of requests still waiting for a response. */
  readonly outstanding: () => number
}

/**
 * Callbacks for client events. They run while messages are being processed, so they must not block, throw, or hold on to their arguments.
 * Omitted callbacks cost nothing.
 */
export interface ClientObserver {
  /** Called when a request ends, with its `duration` in milliseconds. Each retry and each round of questions counts as a request. */
  readonly request?: (
    end: SentEnd & { readonly duration: number },
    exit: Exit.Exit<unknown, RequestError>,
    connection: ObservedConnection
  ) => void
  /** Called after a server question is answered. In 2026-07-28, questions are part of results, so they are not reported. */
  readonly question?: (
    end: ReceivedEnd & { readonly duration: number },
    exit: Exit.Exit<unknown, McpError>,
    connection: ObservedConnection
  ) => void
  /** Called when the handshake completes. */
  readonly opened?: (connection: ObservedConnection) => void
  /** Called when an open connection closes, with its `duration` in milliseconds. */
  readonly closed?: (connection: ObservedConnection, duration: number) => void
  /** Called when a lost connection has been replaced. */
  readonly reconnected?: () => void
}

const prefix = "@effect-mcp/client/ClientObserver/"
let made = 0

/** An observer for the clients built in this context. Each observer has its own key, so several observer layers can be combined. */
export class ClientObservers extends Context.Service<ClientObservers, ClientObserver>()(prefix) {}

/** Adds an observer to the clients that receive this layer. */
export const layer = <E, R>(
  make: Effect.Effect<ClientObserver, E, R>
): Layer.Layer<ClientObservers, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(
    Effect.map(make, (observer) => Context.makeUnsafe<ClientObservers>(new Map([[`${prefix}${++made}`, observer]])))
  )

/** Returns the observers in the context. */
export const current: Effect.Effect<ReadonlyArray<ClientObserver>> = Effect.map(
  Effect.context<never>(),
  ({ mapUnsafe }) =>
    // Only `layer` creates services with this prefix.
    [...mapUnsafe].flatMap(([key, observer]): ReadonlyArray<ClientObserver> =>
      key.startsWith(prefix) ? [observer] : []
    )
)
