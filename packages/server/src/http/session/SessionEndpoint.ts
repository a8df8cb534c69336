/**
 * POST, GET and DELETE for stateful revisions (spec 2025-11-25: basic/transports, streamable HTTP): the handshake that opens a session,
 * messages posted to the session, the standalone GET stream, resumption, and the end of the session.
 *
 * Without sessions (`sessionless`), each POST opens a session that ends with its responses.
 */
import type { DeadlineQueue } from "@effect-mcp/core/internal/inFlight"
import type { Decoded, Single } from "@effect-mcp/core/Transport"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { EventsGone } from "../../session/EventStore.ts"
import { assumed } from "../../session/Session.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import { type HttpRequest, sessionIdHeader } from "../request/HttpRequest.ts"
import type { InFlightRequests } from "../request/InFlightRequests.ts"
import {
  accepted,
  answered,
  noSession,
  refuse,
  shuttingDown,
  storeFailed,
  unexpectedResponse
} from "../response/Responses.ts"
import { wholeBody } from "../response/EventStream.ts"
import { emptySseResponse, type KeepAliveTimer, type SseBody, sseResponse } from "../response/SseBody.ts"
import type { HttpSession } from "./HttpSession.ts"
import {
  HttpSessions,
  isOpened,
  type OpenedSession,
  type Options as SessionsOptions,
  refusalOf
} from "./HttpSessions.ts"
import { cursorOf, type EventCursor, isGetStream, type ResumableStream } from "./ResumableStream.ts"
import { SessionResponse } from "./SessionResponse.ts"

export interface Options extends SessionsOptions {
  readonly exchanges: InFlightRequests
  readonly keepAlive: KeepAliveTimer
  /** Turns a resumable response into a stream if no answer has decided its form in time. */
  readonly slow: DeadlineQueue<SessionResponse>
  /** How long a connection lasts if its client can reconnect, or `undefined` for as long as its stream. */
  readonly lifetime: Duration.Input | undefined
}

/** The header with the ID of the last event that a client received. */
const lastEventIdHeader = "last-event-id"

type Response = HttpServerResponse.HttpServerResponse
type Answer = Effect.Effect<Response>
type Message = Extract<Single, { readonly _tag: "Message" }>
type InvalidMessage = Extract<Single, { readonly _tag: "InvalidMessage" }>

const requestOf = (single: Single): JsonRpc.Request | undefined =>
  single._tag === "Message" && JsonRpc.isRequest(single.message) ? single.message : undefined

/** The response to a failed `initialize`, whose error may require a status. */
const notOpened = (response: Response): Response =>
  response.status === 200 ? HttpServerResponse.setStatus(response, 400) : response

type Resumed = Effect.Effect<Response, EventsGone>

const notKept = new EventsGone({ message: "There are no stored events for this id" })

/** Returns the response to a failure of the store, and logs the failure. */
const failedStore = (defect: unknown): Answer =>
  Effect.as(Effect.logError("The event store failed", defect), storeFailed)

/** Does nothing here: closing the session answers its requests, so shutdown must not. */
const endsWithSession = (): void => {}

export class SessionEndpoint {
  readonly sessions: HttpSessions
  readonly options: Options

  constructor(options: Options) {
    this.options = options
    this.sessions = new HttpSessions(options)
  }

  // ---- the handshake

  /** Handles an `initialize` POST without a session ID. */
  initialize(initialize: Message, request: JsonRpc.Request, http: HttpRequest, exchange: HttpExchange): Answer {
    if (!this.options.exchanges.admits) return Effect.succeed(shuttingDown(request.id))
    if (!this.options.config.sessionless) return this.open(initialize, request, http, exchange)
    return this.once(http, request.id, (opened) =>
      Effect.map(this.request(opened, initialize, request, exchange), (response) =>
        opened.session.negotiated === undefined ? notOpened(response) : response
      )
    )
  }

  private readonly open = Effect.fnUntraced(function* (
    this: SessionEndpoint,
    initialize: Message,
    request: JsonRpc.Request,
    http: HttpRequest,
    exchange: HttpExchange
  ): Effect.fn.Return<Response> {
    const { sessions } = this
    const { config, table } = this.options
    const refused = refusalOf(table, http, request.id)
    if (refused !== undefined) return refused
    const opened = yield* sessions.create(http, request.id)
    if (!isOpened(opened)) return opened
    const { manager } = config
    opened.isOpening = true
    const answered = this.request(opened, initialize, request, exchange)
    // The other nodes must know the id before the client does, because the client may send it to any node.
    const refusal = (error: McpError.McpError) => refuse(503, error, request.id, { "retry-after": "1" })
    const kept =
      manager === undefined
        ? answered
        : Effect.flatMap(answered, (response) =>
            Effect.match(manager.open(opened), { onSuccess: () => response, onFailure: refusal })
          )
    const response = yield* Effect.onInterrupt(kept, () =>
      // The client never receives the session's id.
      Effect.sync(() => table.end(opened, "The client has disconnected"))
    )
    opened.isOpening = false
    if (opened.session.negotiated === undefined || response.status === 503) {
      table.end(opened, "The session could not be opened")
      return notOpened(response)
    }
    return HttpServerResponse.setHeader(response, sessionIdHeader, opened.id)
  })

  // ---- POST

  /** Handles any other POST. */
  post(http: HttpRequest, body: Decoded, exchange: HttpExchange): Answer {
    const id = body._tag === "Batch" ? undefined : requestOf(body)?.id
    if (this.options.config.sessionless) return this.postOnce(http, body, id, exchange)
    const opened = this.sessions.find(http, id)
    return isOpened(opened) ? this.receive(opened, body, exchange) : Effect.succeed(opened)
  }

  /** Handles a message posted to a session. */
  private receive(opened: OpenedSession, body: Decoded, exchange: HttpExchange): Answer {
    if (body._tag === "Message") return this.single(opened, body, exchange)
    if (body._tag === "Batch") return this.batch(opened, body.members, exchange)
    if (body.response) opened.receive(body)
    const unreadableId = opened.session.negotiated?.revision.rules.unreadableId
    return Effect.succeed(refuse(400, body.error, body.response ? undefined : (body.id ?? unreadableId)))
  }

  private single(opened: OpenedSession, message: Message, exchange: HttpExchange): Answer {
    const request = requestOf(message)
    if (request === undefined) {
      opened.receive(message)
      return Effect.succeed(accepted)
    }
    const refused = this.sessions.conflict(opened, [request])
    return refused === undefined ? this.request(opened, message, request, exchange) : Effect.succeed(refused)
  }

  private request(session: HttpSession, message: Message, { id }: JsonRpc.Request, exchange: HttpExchange): Answer {
    const response = new SessionResponse(session.sink, id, 1, false)
    session.receive(message, response)
    return this.answer(session, response, exchange)
  }

  /** A batch (2025-03-26). */
  private batch(opened: OpenedSession, members: ReadonlyArray<Single>, exchange: HttpExchange): Answer {
    const rules = opened.session.negotiated?.revision.rules
    const invalid =
      rules?.batches !== true
        ? "The body must be a single message, not a batch"
        : members.length === 0
          ? "A batch must not be empty"
          : undefined
    if (invalid !== undefined) {
      return Effect.succeed(refuse(400, McpError.invalidRequest(invalid), rules?.unreadableId))
    }
    const requests = members.flatMap((member) => requestOf(member) ?? [])
    const refused = this.sessions.conflict(opened, requests)
    return refused === undefined ? this.members(opened, members, requests, exchange) : Effect.succeed(refused)
  }

  private members(
    opened: OpenedSession,
    members: ReadonlyArray<Single>,
    requests: ReadonlyArray<JsonRpc.Request>,
    exchange: HttpExchange
  ): Answer {
    const isRefused = (member: Single): member is InvalidMessage => member._tag === "InvalidMessage" && !member.response
    const ids = requests.map(({ id }) => id)
    const expected = requests.length + members.filter(isRefused).length
    const response = new SessionResponse(opened.sink, ids, expected, true)
    for (const member of members) {
      // Not sent through the peer, because its id may also belong to a running request.
      if (isRefused(member)) {
        response.refuse(
          JsonRpc.failure(member.id ?? opened.session.negotiated?.revision.rules.unreadableId, member.error)
        )
      } else if (!this.outlasts(opened, member)) opened.receive(member, response)
    }
    return expected === 0 ? Effect.succeed(accepted) : this.answer(opened, response, exchange)
  }

  // ---- POST without sessions

  /**
   * True if a batch's member is a notification that may outlast the batch and its session, and must therefore be handled outside the
   * session.
   */
  private outlasts({ config, session: { negotiated } }: OpenedSession, member: Single): boolean {
    if (!config.sessionless || member._tag !== "Message" || negotiated === undefined) return false
    const { message } = member
    if (!JsonRpc.isNotification(message) || MethodInfo.isOfRequest(message.method)) return false
    return this.notified(member, negotiated.revision)
  }

  private postOnce(http: HttpRequest, body: Decoded, id: JsonRpc.Id | undefined, exchange: HttpExchange): Answer {
    // The session belongs to an endpoint that has sessions, so the client has to initialize again.
    if (http.headers[sessionIdHeader] !== undefined) return Effect.succeed(noSession(id))
    const version = http.headers[Headers.version] ?? "2025-03-26" // spec 2025-06-18: basic/transports, protocol version header
    const revision = this.options.server.revisions.find((one) => one.era === "stateful" && one.version === version)
    if (revision === undefined) return Effect.succeed(this.sessions.unserved(version, id))
    if (!this.options.exchanges.admits) return Effect.succeed(shuttingDown(id))
    if (body._tag === "Message" && id === undefined) {
      return Effect.succeed(this.notified(body, revision) ? accepted : unexpectedResponse)
    }
    return this.once(http, id, (opened) => {
      opened.session.assume(revision)
      return this.receive(opened, body, exchange)
    })
  }

  /** Passes a notification to the server, because handling it may take longer than its POST. Returns false for other messages. */
  private notified({ envelope, message }: Message, revision: Revision.Revision): boolean {
    if (!JsonRpc.isNotification(message)) return false
    const { exchanges, server } = this.options
    const { address } = envelope
    server.receive(message, envelope, { address, closing: exchanges.closing, negotiated: assumed(revision) })
    return true
  }

  /** Opens a session that ends with the responses to its POST. */
  private once(http: HttpRequest, id: JsonRpc.Id | undefined, answer: (opened: OpenedSession) => Answer): Answer {
    return Effect.flatMap(this.sessions.create(http, id), (opened) =>
      isOpened(opened)
        ? // Requests that still run end the session later.
          Effect.ensuring(
            Effect.suspend(() => answer(opened)),
            Effect.sync(() => opened.sink.running === 0 && opened.over())
          )
        : Effect.succeed(opened)
    )
  }

  // ---- responses

  /** Returns the response, synchronously if it is already decided. */
  private answer(session: HttpSession, response: SessionResponse, exchange: HttpExchange): Answer {
    if (response.isDecided) return Effect.succeed(this.responseOf(session, response, exchange))
    const { slow } = this.options
    const left = (): void => response.disconnected()
    response.bytes = exchange.bytes
    exchange.left = left
    exchange.stop = endsWithSession
    const responded = Effect.map(response.decided, () => this.responseOf(session, response, exchange))
    if (!session.sink.polls) return responded
    slow.add(response)
    return Effect.onExit(responded, () => {
      slow.remove(response)
      return Effect.void
    })
  }

  private responseOf(session: HttpSession, response: SessionResponse, exchange: HttpExchange): Response {
    if (response.json !== undefined) return answered(response.json, response.refusal)
    // A cancelled request has no answer.
    if (response.stream === undefined) return emptySseResponse
    exchange.stop = endsWithSession
    return this.events(session, response.stream, response.stream.attach(), exchange)
  }

  /** Returns a response that carries a stream until the exchange ends. */
  private events(session: HttpSession, stream: ResumableStream, body: SseBody, exchange: HttpExchange): Response {
    const { config, keepAlive, lifetime } = this.options
    const timer =
      lifetime === undefined || !session.sink.polls
        ? undefined
        : session.sink.fork(
            Effect.andThen(
              Effect.sleep(lifetime),
              Effect.sync(() => stream.closeStream(config.retry))
            )
          )
    exchange.left = stream.detaching(body, timer)
    return sseResponse(body, keepAlive, config.sessionless ? undefined : { [sessionIdHeader]: session.id })
  }

  /**
   * Same as above, for a GET. It begins with a comment, because otherwise the client would wait for the response's
   * head.
   */
  private opening(session: HttpSession, stream: ResumableStream, body: SseBody, exchange: HttpExchange): Response {
    body.prefix = `: here\n\n${body.prefix}`
    return this.events(session, stream, body, exchange)
  }

  // ---- GET and DELETE

  /** GET: opens the standalone stream, or with `Last-Event-ID`, resumes the stream that the event belongs to. */
  get(http: HttpRequest, exchange: HttpExchange): Answer {
    const opened = this.sessions.find(http)
    if (!isOpened(opened)) return Effect.succeed(opened)
    const { config, exchanges } = this.options
    const eventId = config.store === undefined ? undefined : http.headers[lastEventIdHeader]
    if (eventId !== undefined) return this.resume(opened, eventId, exchange)
    // During a shutdown, only running requests may be resumed.
    if (!exchanges.admitsInSessions) return Effect.succeed(shuttingDown())
    const stream = opened.sink.standaloneStream()
    const body = stream.attach()
    if (!opened.sink.polls) return Effect.succeed(this.opening(opened, stream, body, exchange))
    stream.sendPrimingEvent(config.retry)
    return Effect.succeed(this.events(opened, stream, body, exchange))
  }

  /** Resumes an event's stream. */
  private resume(session: HttpSession, eventId: string, exchange: HttpExchange): Answer {
    const gone = refuse(410, McpError.invalidRequest(`The events after ${eventId} are no longer stored`))
    const cursor = cursorOf(eventId)
    if (cursor === undefined) return Effect.succeed(gone)
    const resumed = session.names(cursor.stream)
      ? this.resumeHere(session, cursor, exchange)
      : this.resumeElsewhere(session, cursor, exchange)
    return resumed.pipe(
      Effect.catch(() => Effect.succeed(gone)),
      Effect.catchDefect(failedStore)
    )
  }

  private resumeHere(session: HttpSession, { seq, stream: name }: EventCursor, exchange: HttpExchange): Resumed {
    const stream = session.sink.findStream(name)
    if (stream?.has(seq) !== true) return Effect.fail(notKept)
    const body = stream.attach()
    // If the client hangs up, stop waiting for the store.
    exchange.left = stream.detaching(body)
    return Effect.map(stream.resume(body, seq), () => this.opening(session, stream, body, exchange))
  }

  /** Resumes a stream from a node that held the session before this one. */
  private resumeElsewhere(session: HttpSession, cursor: EventCursor, exchange: HttpExchange): Resumed {
    const { manager } = session.config
    if (manager === undefined) return Effect.fail(notKept)
    return Effect.flatMap(manager.resume(session, cursor), (missed): Resumed => {
      if (!isGetStream(cursor.stream)) {
        return Effect.succeed(sseResponse(wholeBody(missed), this.options.keepAlive, { [sessionIdHeader]: session.id }))
      }
      const stream = session.sink.standaloneStream()
      const body = stream.attach()
      exchange.left = stream.detaching(body)
      // Everything that this node has sent on the stream follows.
      return Effect.map(stream.has(0) ? stream.resume(body, -1) : Effect.void, () => {
        body.prefix = missed + body.prefix
        return this.opening(session, stream, body, exchange)
      })
    })
  }

  /** DELETE: the client ends its session. */
  delete(http: HttpRequest): Answer {
    const opened = this.sessions.find(http)
    if (!isOpened(opened)) return Effect.succeed(opened)
    this.options.table.end(opened, "The client closed the session")
    return Effect.succeed(HttpServerResponse.empty({ status: 204 }))
  }
}
