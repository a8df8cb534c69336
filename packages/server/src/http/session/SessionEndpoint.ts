/**
 * The sessions of the stateful era over HTTP (spec 2025-11-25: basic/transports, streamable HTTP): what opens one, what is posted to it,
 * the stream that stands for it, and what ends it.
 */
import type { Decoded, Single } from "@effect-mcp/core/Transport"
import * as Principal from "@effect-mcp/core/Principal"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Patience } from "../response/SlowResponseTimer.ts"
import type { Pulse } from "../response/KeepAliveTimer.ts"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Session } from "../../session/Session.ts"
import type { Sessions } from "./Sessions.ts"
import type { Asked } from "../request/HttpRequest.ts"
import { events, noEvents } from "../response/SseResponse.ts"
import { type Connection, cursorOf, type EventStream } from "./EventStream.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import { objection } from "./conflict.ts"
import { PostStream } from "./SessionResponse.ts"
import { accepted, full, json, noSession, refuse, type Refusal, shuttingDown, tooMany } from "../response/Responses.ts"
import type { Post, Work } from "../request/InFlightRequests.ts"

export const sessionId = "mcp-session-id"
export const lastEventId = "last-event-id"

export interface Options {
  readonly server: McpServer["Service"]
  readonly sessions: Sessions<HttpSession>
  readonly config: Config
  readonly work: Work
  /** Requests of one session at once. */
  readonly inFlight: number
  readonly pulse: Pulse
  /** After so long without an answer a resumable POST becomes a stream. */
  readonly patience: Patience
  /** How long a connection may last whose client can come back. */
  readonly lifetime: Duration.Input | undefined
}

type Response = HttpServerResponse.HttpServerResponse
type InvalidMessage = Extract<Single, { readonly _tag: "InvalidMessage" }>

/** Whose a session is; empty for an anonymous caller. */
const ownerOf = ({ principal }: Asked): string => Principal.callerKey(principal ?? Principal.anonymous) ?? ""

/** What a POST without a version is read as (spec 2025-06-18: basic/transports, protocol version header). */
const unsaidVersion = "2025-03-26"

const unwanted = refuse(
  400,
  McpError.invalidRequest("This endpoint has no sessions and asks nothing: no response is expected")
)

const requestOf = (single: Single): JsonRpc.Request | undefined =>
  single._tag === "Message" && JsonRpc.isRequest(single.message) ? single.message : undefined

/** The answer to what could not be read. */
const refusalOf = (session: HttpSession, { error, id }: InvalidMessage): JsonRpc.Failure =>
  JsonRpc.failure(id ?? session.session?.negotiated?.revision.rules.unreadableId, error)

/** What is kept cannot be read now. */
const unkept = refuse(503, McpError.internalError("The events cannot be read"), undefined, { "retry-after": "1" })

/** The end of its session answers it. */
const endsWithSession = (): void => {}

/** The endpoint's side of sessions. */
export const make = (options: Options) => {
  const { sessionless } = options.config
  const { config, inFlight, lifetime, patience, pulse, server, sessions, work } = options
  const served: ReadonlyArray<string> = server.revisions.flatMap(({ era, version }) =>
    era === "stateful" ? [version] : []
  )

  /** Whether that is a version with sessions, served or not. */
  const knows = (version: string): boolean => Revision.get(version)?.era === "stateful"

  const unserved = (version: string, id: JsonRpc.Id | undefined): Refusal => {
    const error = McpError.invalidRequest(`${Headers.version}: ${version} is not served`, { supported: served })
    return refuse(400, error, id)
  }

  const find = (asked: Asked, request?: JsonRpc.Id): HttpSession | Refusal => {
    const { headers } = asked
    const id = headers[sessionId]
    if (id === undefined) {
      return refuse(400, McpError.invalidRequest("Mcp-Session-Id is missing: send initialize first"), request)
    }
    const session = sessions.get(id)
    if (session === undefined || session.owner !== ownerOf(asked)) return noSession(request)
    const version = headers[Headers.version]
    if (version !== undefined && !served.includes(version)) return unserved(version, request)
    session.touch()
    return session
  }

  /** The answer that a connection takes from a stream, as long as the request is there. */
  const streamed = (session: HttpSession, stream: EventStream, connection: Connection, post: Post): Response => {
    // Sends its client away in time, where it can come back.
    const timer =
      lifetime === undefined || !session.polls
        ? undefined
        : session.fork(
            Effect.andThen(
              Effect.sleep(lifetime),
              Effect.sync(() => stream.closeStream(config.retry))
            )
          )
    post.left = () => {
      timer?.interruptUnsafe()
      stream.detach(connection)
    }
    return events(connection, pulse, sessionless ? undefined : { [sessionId]: session.id })
  }

  // ---- POST

  /** What a POST is answered by, once that is known. */
  const answered = (session: HttpSession, answers: PostStream, post: Post): Response => {
    const { json: text, stream } = answers
    if (text !== undefined) return json(text)
    // Cancelled: there is no answer.
    if (stream === undefined) return noEvents
    post.stop = endsWithSession
    return streamed(session, stream, stream.attach(), post)
  }

  /** Answers what was handed over: at once, if that is possible. */
  const answering = (session: HttpSession, answers: PostStream, post: Post): Effect.Effect<Response> => {
    if (answers.isDecided) return Effect.succeed(answered(session, answers, post))
    post.left = () => answers.left()
    post.stop = endsWithSession
    const decided = session.polls
      ? patience.during(answers.decided, { overdue: () => answers.streaming() })
      : answers.decided
    return Effect.map(decided, () => answered(session, answers, post))
  }

  const single = (
    session: HttpSession,
    message: Extract<Single, { readonly _tag: "Message" }>,
    post: Post
  ): Effect.Effect<Response> => {
    const request = requestOf(message)
    if (request === undefined) {
      session.session?.peer.receive(message)
      return Effect.succeed(accepted)
    }
    const refused = objection(session, [request], work, inFlight)
    if (refused !== undefined) return Effect.succeed(refused)
    const answers = new PostStream(session, request.id, 1, false)
    session.session?.peer.receive(message, answers)
    return answering(session, answers, post)
  }

  const all = (session: HttpSession, members: ReadonlyArray<Single>, post: Post): Effect.Effect<Response> => {
    const requests = members.flatMap((member) => requestOf(member) ?? [])
    const refused = objection(session, requests, work, inFlight)
    if (refused !== undefined) return Effect.succeed(refused)
    const unreadable = members.filter((member) => member._tag === "InvalidMessage" && !member.response).length
    const expected = requests.length + unreadable
    const ids = requests.map(({ id }) => id)
    const answers = new PostStream(session, ids, expected, true)
    for (const member of members) {
      // Answered here: it may have the id of a request that runs, and is none.
      if (member._tag === "InvalidMessage" && !member.response) answers.refuse(refusalOf(session, member))
      else session.session?.peer.receive(member, answers)
    }
    return expected === 0 ? Effect.succeed(accepted) : answering(session, answers, post)
  }

  const batched = (session: HttpSession, members: ReadonlyArray<Single>, post: Post) => {
    const rules = session.session?.negotiated?.revision.rules
    const refusal =
      rules?.batches !== true
        ? "A body is one message, not a batch"
        : members.length === 0
          ? "A batch must not be empty"
          : undefined
    return refusal === undefined
      ? all(session, members, post)
      : Effect.succeed(refuse(400, McpError.invalidRequest(refusal), rules?.unreadableId))
  }

  const received = (session: HttpSession, body: Decoded, post: Post): Effect.Effect<Response> => {
    if (body._tag === "Batch") return batched(session, body.members, post)
    if (body._tag === "Message") return single(session, body, post)
    if (body.response) session.session?.peer.receive(body)
    const unreadableId = session.session?.negotiated?.revision.rules.unreadableId
    return Effect.succeed(refuse(400, body.error, body.response ? undefined : (body.id ?? unreadableId)))
  }

  /** What was posted with a session's id, or ought to have been. */
  const posted = (asked: Asked, body: Decoded, post: Post): Effect.Effect<Response> => {
    const id = body._tag === "Batch" ? undefined : requestOf(body)?.id
    if (sessionless) return alone(asked, body, id, post)
    const session = find(asked, id)
    return session instanceof HttpSession ? received(session, body, post) : Effect.succeed(session)
  }

  // ---- POST without sessions

  /** A session that ends with the answers to its POST. */
  const during = (
    asked: Asked,
    id: JsonRpc.Id | undefined,
    answer: (session: HttpSession, opened: Session) => Effect.Effect<Response>
  ): Effect.Effect<Response> =>
    Effect.suspend(() => {
      const principal = asked.principal ?? Principal.anonymous
      const session = new HttpSession(globalThis.crypto.randomUUID(), principal, asked.address, config)
      sessions.add(session)
      return session.start(server.connect(session.wire, session)).pipe(
        Effect.flatMap(() =>
          session.session === undefined
            ? Effect.succeed(refuse(500, McpError.internalError(), id))
            : answer(session, session.session)
        ),
        // What still runs ends it later.
        Effect.ensuring(Effect.sync(() => session.running === 0 && session.over()))
      )
    })

  const alone = (asked: Asked, body: Decoded, id: JsonRpc.Id | undefined, post: Post): Effect.Effect<Response> => {
    // It was opened where there are sessions: its client has to introduce itself anew.
    if (asked.headers[sessionId] !== undefined) return Effect.succeed(noSession(id))
    const version = asked.headers[Headers.version] ?? unsaidVersion
    const revision = server.revisions.find((one) => one.era === "stateful" && one.version === version)
    if (revision === undefined) return Effect.succeed(unserved(version, id))
    if (work.draining) return Effect.succeed(shuttingDown(id))
    if (body._tag === "Message" && id === undefined) {
      return Effect.succeed(JsonRpc.isNotification(body.message) ? accepted : unwanted)
    }
    return during(asked, id, (session, opened) => {
      opened.assume(revision)
      return received(session, body, post)
    })
  }

  const introduced = (
    initialize: Single,
    request: JsonRpc.Request,
    asked: Asked,
    post: Post
  ): Effect.Effect<Response> =>
    work.draining
      ? Effect.succeed(shuttingDown(request.id))
      : during(asked, request.id, (session, opened) => {
          const answers = new PostStream(session, request.id, 1, false)
          opened.peer.receive(initialize, answers)
          return Effect.map(answering(session, answers, post), (response) =>
            opened.negotiated === undefined ? HttpServerResponse.setStatus(response, 400) : response
          )
        })

  // ---- POST that opens a session

  /** The request that opens a session. */
  const opened = Effect.fnUntraced(function* (
    initialize: Single,
    request: JsonRpc.Request,
    asked: Asked,
    post: Post
  ): Effect.fn.Return<Response> {
    if (work.draining) return shuttingDown(request.id)
    if (sessions.full) return full("sessions are open", sessions.capacity, request.id)
    const principal = asked.principal ?? Principal.anonymous
    if (sessions.hasEnough(ownerOf(asked)))
      return tooMany("sessions are open for this caller", sessions.perCaller, request.id)
    const session = new HttpSession(globalThis.crypto.randomUUID(), principal, asked.address, config)
    sessions.add(session)
    yield* session.start(server.connect(session.wire, session))
    if (session.session === undefined) return refuse(500, McpError.internalError(), request.id)
    const answers = new PostStream(session, request.id, 1, false)
    session.session.peer.receive(initialize, answers)
    const response = yield* Effect.onInterrupt(answering(session, answers, post), () =>
      // Nobody will ever learn its id.
      Effect.sync(() => sessions.end(session, "The client has disconnected"))
    )
    if (session.session?.negotiated !== undefined) {
      return HttpServerResponse.setHeader(response, sessionId, session.id)
    }
    sessions.end(session, "The session could not be opened")
    return HttpServerResponse.setStatus(response, 400)
  })

  // ---- GET and DELETE

  const resumed = (session: HttpSession, eventId: string, post: Post): Effect.Effect<Response> => {
    const gone = refuse(410, McpError.invalidRequest(`The events after ${eventId} are not kept any more`))
    const cursor = cursorOf(eventId)
    const stream = cursor === undefined ? undefined : session.stream(cursor.stream)
    if (cursor === undefined || stream === undefined || !stream.has(cursor.seq)) return Effect.succeed(gone)
    const connection = stream.attach()
    // Whoever hangs up does not wait for the log.
    post.left = () => stream.detach(connection)
    return Effect.match(stream.resume(connection, cursor.seq), {
      onFailure: () => gone,
      onSuccess: () => begun(session, stream, connection, post)
    }).pipe(Effect.catchDefect((defect) => Effect.as(Effect.logError("The event store failed", defect), unkept)))
  }

  /** Its head leaves with the first bytes: the client is not to wait for them. */
  const begun = (session: HttpSession, stream: EventStream, connection: Connection, post: Post): Response => {
    connection.before = `: here\n\n${connection.before}`
    return streamed(session, stream, connection, post)
  }

  const got = (asked: Asked, post: Post): Effect.Effect<Response> => {
    const session = find(asked)
    if (!(session instanceof HttpSession)) return Effect.succeed(session)
    const eventId = config.store === undefined ? undefined : asked.headers[lastEventId]
    if (eventId !== undefined) return resumed(session, eventId, post)
    // What still runs may be fetched to the end.
    if (work.draining) return Effect.succeed(shuttingDown())
    const stream = session.standalone()
    const connection = stream.attach()
    if (!session.polls) return Effect.succeed(begun(session, stream, connection, post))
    stream.prime(config.retry)
    return Effect.succeed(streamed(session, stream, connection, post))
  }

  const deleted = (asked: Asked): Response => {
    const session = find(asked)
    if (!(session instanceof HttpSession)) return session
    sessions.end(session, "The session was ended by its client")
    return HttpServerResponse.empty({ status: 204 })
  }

  return { posted, opened: sessionless ? introduced : opened, got, deleted, isServed: served.length > 0, knows }
}
