/**
 * The stateful era (2024-11-05 to 2025-11-25): revision and capabilities of a request are those that its session agreed on.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { keepAlive, type KeepAlive } from "@effect-mcp/core/KeepAlive"
import type { Exchange } from "@effect-mcp/core/Peer"
import type { Connection } from "@effect-mcp/core/RequestContext"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Dispatcher } from "./Dispatcher.ts"
import * as EncodedLists from "../features/EncodedLists.ts"
import * as Lifecycle from "./Initialize.ts"
import type { Limits } from "../Limits.ts"
import type { Logging } from "./Logging.ts"
import type { Result } from "../request/Decoded.ts"
import type { Caller, RateLimit } from "../features/RateLimit.ts"
import type { EraContext } from "../request/RequestServices.ts"
import { ServerRequest } from "../request/ServerRequest.ts"
import type { Negotiated, Session } from "../session/Session.ts"

export interface Options {
  readonly identity: Lifecycle.Identity
  readonly dispatcher: Dispatcher
  readonly limits: Limits
  readonly rateLimit: RateLimit
  readonly logging: Logging
  /** How long a client may take to answer a question. */
  readonly askTimeout: Duration.Input
  readonly greet: Lifecycle.Greet | undefined
}

/** Answers requests of this era. */
export const make = ({ identity, dispatcher, greet, limits, logging, askTimeout, rateLimit }: Options) => {
  /** Clients without a session, a name and an address share one budget. */
  const unnamed: Caller = { buckets: [] }

  /** The connection that the requests of a session share; made by the first that needs it. */
  const conversationOf = (session: Session, { revision, clientCapabilities }: Negotiated): Connection =>
    (session.conversation ??= {
      ...session.connection,
      ready: Effect.andThen(session.whenReady, session.connection.ready),
      input: inputOf(session, { revision, clientCapabilities }, undefined, askTimeout),
      rootsChanges: clientCapabilities.roots?.listChanged === true ? session.rootsChanges : undefined
    })

  const eraContextOf = (session: Session, negotiated: Negotiated, exchange: Exchange): EraContext => {
    const conversation = conversationOf(session, negotiated)
    return {
      context: { ...negotiated, sessionId: session.sessionless ? undefined : session.id },
      input: inputOf(session, negotiated, exchange.request.id, askTimeout),
      log: logging.forRequest(session, exchange, () =>
        session.sessionless ? undefined : (session.logLevel ?? logging.fallback)
      ),
      rootsChanges: conversation.rootsChanges,
      connection: conversation,
      closing: session.closing,
      holder: session
    }
  }

  // Without stateful revisions `initialize` is no remedy: the request lacks the version of a stateless one.
  const unopened = identity.revisions.some(({ era }) => era === "stateful")
    ? McpError.invalidRequest("Send initialize first")
    : McpError.invalidParams(`Invalid _meta: it must name a version, as ${Meta.protocolVersion}`)

  const open = (session: Session, { envelope, request }: Exchange): Effect.Effect<unknown, McpError.McpError> =>
    Lifecycle.initialize(
      identity,
      session,
      request.params,
      limits,
      greet &&
        ((answer, negotiated) => {
          session.conversation = undefined
          const connection = conversationOf(session, negotiated)
          return greet(answer, { ...negotiated, principal: envelope.principal ?? session.principal, connection })
        })
    )

  /** `base`: the context of the fiber that runs the effect at once; undefined where it must not start before it runs. */
  const handle = (
    session: Session,
    exchange: Exchange,
    base: Context.Context<never> | undefined
  ): Effect.Effect<unknown, McpError.McpError> => {
    const { method, params } = exchange.request
    if (method === "initialize") return open(session, exchange)
    const { negotiated } = session
    if (negotiated === undefined) return Effect.fail(unopened)
    const { revision } = negotiated
    const operation = dispatcher.operation(revision, method)
    if (operation === undefined) return Effect.fail(McpError.methodNotFound(method))
    if (session.sessionless && operation.needsSession) return Effect.fail(McpError.sessionRequired(method))
    const principal = exchange.envelope.principal ?? session.principal
    if (operation.rateLimit !== undefined) {
      const excess = session.sessionless
        ? rateLimit.take(operation.rateLimit, false, unnamed, principal, exchange.envelope.address)
        : rateLimit.take(operation.rateLimit, false, session, principal, undefined)
      if (excess !== undefined) return Effect.fail(excess)
    }
    const request = new ServerRequest(
      exchange,
      principal,
      session,
      () => eraContextOf(session, negotiated, exchange),
      base
    )
    const encode = (result: Result): Effect.Effect<unknown, McpError.McpError> =>
      EncodedLists.encoded(result, revision.version, () => operation.encode(result))
    const answered = Effect.flatMapEager(operation.decode(params), (params) =>
      Effect.flatMapEager(dispatcher.answer(operation, params, request), encode)
    )
    return request.provide(answered)
  }
  return { handle }
}

const inputOf = (
  session: Session,
  { clientCapabilities: capabilities, revision }: Pick<Negotiated, "clientCapabilities" | "revision">,
  relatedTo: JsonRpc.Id | undefined,
  timeout: Duration.Input
): ClientInput.ClientInput["Service"] =>
  session.sessionless
    ? unasked
    : ClientInput.remote({ revision, capabilities, peer: session.peer, relatedTo, timeout, ready: session.whenReady })

const unasked = ClientInput.unavailable("The client cannot be asked: this endpoint has no sessions (sessions: false)")

/** Handles a notification of the client. */
export const receive = (session: Session, notification: JsonRpc.Notification, pings: KeepAlive | undefined): void => {
  if (notification.method === "notifications/initialized") {
    if (session.negotiated === undefined || session.initialized) return
    session.begin()
    if (pings !== undefined) session.fork(keepAlive(session.peer, pings))
  } else if (notification.method === "notifications/roots/list_changed") session.rootsChanged()
}
