/**
 * Makes a session of a wire: a peer, its record, and everything that lives as long as both.
 */
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import * as Peer from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Transport } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { Session } from "./Session.ts"
import * as Stateful from "./Stateful.ts"

export interface ConnectOptions {
  readonly principal?: Principal.Principal["Service"] | undefined
  /** How the session is called; where the client is told, nobody else may guess it. Default `session-1` and so on. */
  readonly id?: string | undefined
  /** When the client ends the conversation: how long requests in flight may still run. Default not at all. */
  readonly grace?: Duration.Input | undefined
  /** It has no wire of its own: what arrives is handed to its peer, and it is not pinged. Default false. */
  readonly passive?: boolean | undefined
}

export interface Options {
  /** `traced`: there is a tracer where the connection was made. */
  readonly request: (
    session: Session,
    exchange: Peer.Exchange,
    traced: boolean
  ) => Effect.Effect<unknown, McpError.McpError>
  /** Whether a ping is answered at once. */
  readonly pings: (request: JsonRpc.Request) => boolean
  /** Those that are open. */
  readonly sessions: Set<Session>
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly limits: Pick<Peer.Options, "inFlight" | "pending"> | undefined
  readonly keepAlive: KeepAlive | undefined
  readonly drain: Duration.Input | undefined
}

const standing = ({ method }: JsonRpc.Request): boolean => method === "subscriptions/listen"

/** Serves one connection until its end, or until the scope closes. */
export const make = ({ drain, keepAlive, limits, pings, request, runFork, sessions }: Options) => {
  let nextSession = 0
  const common: Pick<Peer.Handlers, "cancelled" | "dropped" | "immediate"> = {
    immediate: (asked) => (asked.method === "ping" && pings(asked) ? {} : undefined),
    cancelled: ({ id, method }, reason) =>
      void runFork(Effect.logDebug(`${method} (${JSON.stringify(id)}) was cancelled: ${JSON.stringify(reason)}`)),
    dropped: (reason) => void runFork(Effect.logDebug(`Dropped: ${reason}`))
  }
  return Effect.fnUntraced(function* (
    transport: Transport,
    connectOptions: ConnectOptions = {}
  ): Effect.fn.Return<Session, never, Scope.Scope> {
    // Ends with the wire, or with the caller's scope if that is sooner.
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const traced = TraceContext.isTraced(yield* Effect.context<never>())
    let session: Session | undefined
    // The reader may be at work before `Peer.make` has returned, so the record is made by whoever is first to need it.
    const sessionOf = (peer: Peer.Peer): Session =>
      (session ??= new Session({
        id: connectOptions.id ?? `session-${++nextSession}`,
        peer,
        principal: connectOptions.principal ?? Principal.anonymous,
        scope,
        runFork: (effect) => void Fiber.runIn(runFork(effect), scope)
      }))
    const peer = yield* Peer.make(
      transport,
      {
        request: (exchange) => request(sessionOf(exchange.peer), exchange, traced),
        ...common,
        notification: (notification, _envelope, peer) =>
          Stateful.receive(sessionOf(peer), notification, connectOptions.passive === true ? undefined : keepAlive)
      },
      {
        ...limits,
        grace: connectOptions.grace,
        passive: connectOptions.passive,
        ended: () => void runFork(Scope.close(scope, Exit.void)),
        standing,
        unreadableId: () => (session?.negotiated?.revision ?? Revision.latestStateful).rules.unreadableId,
        batches: () => session?.negotiated?.revision.rules.batches === true
      }
    )
    const opened = sessionOf(peer)
    sessions.add(opened)
    yield* Scope.addFinalizer(
      scope,
      Effect.sync(() => sessions.delete(opened))
    )
    yield* Effect.addFinalizer(() => opened.endSubscriptions)
    if (drain !== undefined) yield* Effect.addFinalizer(() => Effect.interruptible(opened.drain(drain)))
    return opened
  })
}
