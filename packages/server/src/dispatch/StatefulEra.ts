/** The stateful revisions (2024-11-05 to 2025-11-25), in which a request uses the revision and capabilities that its session negotiated. */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import type { Caller } from "@effect-mcp/core/Extensions"
import { effectOf, exitOf } from "@effect-mcp/core/internal/calling"
import { remote } from "@effect-mcp/core/internal/questions"
import { keepAlive, type KeepAlive } from "@effect-mcp/core/KeepAlive"
import type { Exchange } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Dispatcher } from "./Dispatcher.ts"
import * as EncodedLists from "../features/EncodedLists.ts"
import * as Initialize from "./Initialize.ts"
import type { MethodOperation } from "./Operation.ts"
import * as ExtensionMethods from "./ExtensionMethods.ts"
import type { Limits } from "../Limits.ts"
import type { Logging } from "./Logging.ts"
import type { DecodedResult } from "../request/DecodedRequest.ts"
import { type Account, arrivalOf, type RateLimit, type MethodLimit } from "../features/RateLimit.ts"
import type { EraContext } from "../request/RequestServices.ts"
import { ServerRequest } from "../request/ServerRequest.ts"
import type { Drain } from "../session/Drain.ts"
import type { NegotiatedSession, Session } from "../session/Session.ts"
import { hasSessions, type ServerInfo } from "./ServerInfo.ts"

export interface Options {
  readonly drain: Drain
  readonly info: ServerInfo
  readonly dispatcher: Dispatcher
  readonly limits: Limits
  readonly rateLimit: RateLimit
  readonly logging: Logging
  /** How long a client has to answer a question. */
  readonly askTimeout: Duration.Input
  readonly onInitialize: Initialize.OnInitialize | undefined
}

/** Handles stateful requests. */
export class StatefulEra {
  private readonly options: Options
  /** Clients without a session, a principal or an address share one budget. */
  private readonly unnamed: Account = { buckets: [] }
  private made: McpError.McpError | undefined

  constructor(options: Options) {
    this.options = options
  }

  private get notInitialized(): McpError.McpError {
    // Without stateful revisions `initialize` would not help: the request lacks the version that a stateless request needs.
    return (this.made ??= hasSessions(this.options.info)
      ? McpError.invalidRequest("Send initialize first")
      : McpError.invalidParams(`Invalid _meta: ${Meta.protocolVersion} is missing`))
  }

  /** Handles a request. `eager` is as in `HandledRequest`. */
  handle(session: Session, received: Exchange, eager: boolean): Effect.Effect<unknown, McpError.McpError> {
    const { method, params } = received.request
    if (method === "initialize") return this.initialize(session, received)
    const { negotiated } = session
    if (negotiated === undefined) return Effect.fail(this.notInitialized)
    const { dispatcher } = this.options
    const { revision } = negotiated
    const known = dispatcher.operation(revision, method)
    const principal = received.envelope.principal ?? session.principal
    if (known === undefined || !ExtensionMethods.isOffered(known.own, callerOf(principal, revision, session))) {
      return Effect.fail(McpError.methodNotFound(method))
    }
    const operation = session.sessionless ? dispatcher.withoutSession(known) : known
    if (operation === undefined) return Effect.fail(McpError.sessionRequired(method))
    if (operation.rateLimit !== undefined) {
      const excess = this.excess(operation.rateLimit, session, principal, received, eager)
      if (excess !== undefined) return Effect.fail(excess)
    }
    const undeclared = operation.own && ExtensionMethods.undeclaredMethod(operation.own, declarationOf(negotiated))
    if (undeclared !== undefined) return Effect.fail(undeclared)
    const request = new ServerRequest(
      received,
      principal,
      session,
      () => new SessionContext(this.options, session, negotiated, received, this.connectionOf),
      eager
    )
    return this.answered(operation, params, request, negotiated)
  }

  /** Returns the answer in wire form. Answering a request at once creates no closures. */
  private answered(
    operation: MethodOperation,
    params: unknown,
    request: ServerRequest,
    negotiated: NegotiatedSession
  ): Answer {
    const decoded = operation.decode(params)
    const known = exitOf(decoded)
    if (known === undefined) return this.later(operation, decoded, request, negotiated)
    if (Exit.isFailure(known)) return known
    const result = request.provide(this.options.dispatcher.answer(operation, known.value, request))
    const done = exitOf(result)
    if (done === undefined) return encodedLater(operation, result, negotiated)
    return Exit.isFailure(done) ? done : encode(operation, done.value, negotiated)
  }

  private later(
    operation: MethodOperation,
    decoded: ReturnType<MethodOperation["decode"]>,
    request: ServerRequest,
    negotiated: NegotiatedSession
  ): Answer {
    return Effect.flatMap(decoded, (params) =>
      encodedLater(operation, request.provide(this.options.dispatcher.answer(operation, params, request)), negotiated)
    )
  }

  private excess(
    rule: MethodLimit,
    session: Session,
    principal: Principal["Service"],
    received: Exchange,
    eager: boolean
  ): McpError.McpError | undefined {
    const { rateLimit } = this.options
    const now = arrivalOf(received, eager)
    return session.sessionless
      ? rateLimit.take(rule, false, this.unnamed, principal, received.envelope.address, now)
      : rateLimit.take(rule, false, session, principal, undefined, now)
  }

  private initialize(session: Session, { envelope, request }: Exchange): Effect.Effect<unknown, McpError.McpError> {
    const { drain, info, limits, onInitialize } = this.options
    if (drain.isDraining) return Effect.fail(McpError.interrupted("The server is draining and accepts no new sessions"))
    const principal = envelope.principal ?? session.principal
    return Effect.interruptible(
      Initialize.initialize(
        info,
        session,
        request.params,
        principal,
        limits,
        onInitialize &&
          ((answer, negotiated, meta) => {
            session.initializedConnection = undefined
            const connection = this.connectionOf(session, negotiated)
            const caller = { ...negotiated, principal, connection, address: envelope.address, meta }
            return effectOf("onInitialize", () => onInitialize(answer, caller))
          })
      )
    )
  }

  /** Returns the connection shared by all of a session's requests. Created by the first request that needs it. */
  private readonly connectionOf = (
    session: Session,
    { revision, clientCapabilities }: NegotiatedSession
  ): RequestConnection =>
    (session.initializedConnection ??= {
      ...session.connection,
      ready: Effect.flatMap(session.whenReady, () => session.connection.ready),
      read: Effect.andThen(session.whenReady, session.connection.read),
      input: inputOf(session, { revision, clientCapabilities }, undefined, this.options.askTimeout),
      rootsChanges: clientCapabilities.roots?.listChanged === true ? session.rootsChanges : undefined
    })
}

type Answer = Effect.Effect<unknown, McpError.McpError>

const callerOf =
  (principal: Principal["Service"], revision: Revision, { duplex }: Session) =>
  (): Caller => ({
    principal,
    revision,
    duplex
  })

const declarationOf = ({ clientCapabilities, revision }: NegotiatedSession): ClientInput.ClientDeclaration => ({
  revision,
  capabilities: clientCapabilities
})

const encode = (operation: MethodOperation, result: DecodedResult, negotiated: NegotiatedSession): Answer =>
  ExtensionMethods.encoded(
    result,
    () => declarationOf(negotiated),
    (result) => EncodedLists.encoded(result, negotiated.revision.version, () => operation.encode(result))
  )

const encodedLater = (
  operation: MethodOperation,
  answer: ReturnType<ServerRequest["provide"]>,
  negotiated: NegotiatedSession
): Answer => Effect.flatMapEager(answer, (result) => encode(operation, result, negotiated))

/** The session's context for one of its requests. Input and log are created on first use, because most requests neither ask nor log. */
class SessionContext implements EraContext {
  private readonly options: Options
  private readonly session: Session
  private readonly negotiated: NegotiatedSession
  private readonly received: Exchange
  readonly connection: RequestConnection
  private madeInput: EraContext["input"] | undefined = undefined
  private madeLog: EraContext["log"] | undefined = undefined

  constructor(
    options: Options,
    session: Session,
    negotiated: NegotiatedSession,
    received: Exchange,
    connectionOf: (session: Session, negotiated: NegotiatedSession) => RequestConnection
  ) {
    this.options = options
    this.session = session
    this.negotiated = negotiated
    this.received = received
    this.connection = connectionOf(session, negotiated)
  }

  get context(): EraContext["context"] {
    const { clientCapabilities, clientInfo, revision } = this.negotiated
    const sessionId = this.session.sessionless ? undefined : this.session.id
    return { revision, clientInfo, clientCapabilities, sessionId }
  }

  get input(): EraContext["input"] {
    return (this.madeInput ??= inputOf(this.session, this.negotiated, this.received, this.options.askTimeout))
  }

  get log(): EraContext["log"] {
    const { session } = this
    const { logging } = this.options
    return (this.madeLog ??= logging.forRequest(session, this.received, () =>
      session.sessionless ? undefined : (session.logLevel ?? logging.fallback)
    ))
  }

  get rootsChanges(): EraContext["rootsChanges"] {
    return this.connection.rootsChanges
  }

  get duplex(): boolean {
    return this.session.duplex
  }

  get closing(): EraContext["closing"] {
    return this.session.closing
  }

  get holder(): EraContext["holder"] {
    return this.session
  }
}

const inputOf = (
  session: Session,
  { clientCapabilities: capabilities, revision }: Pick<NegotiatedSession, "clientCapabilities" | "revision">,
  relatedTo: Exchange | undefined,
  timeout: Duration.Input
): ClientInput.ClientInput["Service"] =>
  session.sessionless
    ? unasked()
    : remote({ revision, capabilities, peer: session.peer, relatedTo, timeout, ready: session.whenReady })

const unasked = (): ClientInput.ClientInput["Service"] => ({
  ...ClientInput.unavailable(
    "Cannot send requests to the client, because this endpoint has no sessions (sessions: false)"
  ),
  once: ClientInput.unrecordedOnce()
})

/** Handles a client notification. */
export const receive = (session: Session, notification: JsonRpc.Notification, pings: KeepAlive | undefined): void => {
  if (notification.method === "notifications/initialized") {
    if (session.negotiated === undefined || session.initialized) return
    session.begin()
    if (pings !== undefined) session.fork(keepAlive(session.peer, pings))
  } else if (notification.method === "notifications/roots/list_changed") session.rootsChanged()
}
