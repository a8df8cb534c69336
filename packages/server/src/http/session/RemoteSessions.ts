/**
 * The requests of sessions that this node does not hold, where a server has several nodes. The node that holds the session answers them,
 * and its response passes through here; where that node is gone, the session is opened here again.
 *
 * Owns what the client learns when the other node dies: each request that has no answer gets an error, and is never sent twice.
 */
import type { Fork } from "@effect-mcp/core/internal/Deadlines"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Located, Nodes, RelayedRequest, RelayedResponse } from "../../session/Nodes.ts"
import { RelayError } from "../../session/Nodes.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import { type HttpRequest, ownerOf, principalOf } from "../request/HttpRequest.ts"
import { json, refuse } from "../response/Responses.ts"
import type { KeepAliveTimer } from "../response/SseBody.ts"
import { sseResponse } from "../response/SseResponse.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import { sessionIdHeader } from "./HttpSessions.ts"
import { RelayedStream } from "./RelayedStream.ts"
import { nodeGone } from "./resumeElsewhere.ts"
import type { SessionTable } from "./SessionTable.ts"
import type { SharedSessions } from "./SharedSessions.ts"

type Response = HttpServerResponse.HttpServerResponse
type Answer = Effect.Effect<Response>

/** How long a request waits until a node that holds its session is found, in milliseconds. */
const patience = 2000
/** The pause before the next look, in milliseconds. */
const pause = 50

/** Headers that belong to one connection. */
const ofConnection = new Set([
  "connection",
  "content-length",
  "date",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const passedOn = <A>(headers: { readonly [name: string]: A }): { readonly [name: string]: A } =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.has(name)))

const soon = { "retry-after": "1" }
const notFound = (ids: ReadonlyArray<JsonRpc.Id>): Response =>
  refuse(503, McpError.interrupted("No node that holds this session answers: send the request again"), ids[0], soon)

/** What a request asks for. */
export interface RemoteRequest {
  readonly http: HttpRequest
  /** Undefined for a request without a body. */
  readonly body: Uint8Array | undefined
  /** The requests in the body. */
  readonly ids: ReadonlyArray<JsonRpc.Id>
  readonly isBatch: boolean
  readonly exchange: HttpExchange
}

/** Whether the request may be sent to another node although it may have run. */
const isRepeatable = ({ http: { method } }: RemoteRequest): boolean => method === "GET" || method === "DELETE"

/** The requests of a body. */
export const idsOf = (body: Decoded): ReadonlyArray<JsonRpc.Id> =>
  (body._tag === "Batch" ? body.members : [body]).flatMap((single) =>
    single._tag === "Message" && JsonRpc.isRequest(single.message) ? [single.message.id] : []
  )

export interface Options {
  readonly nodes: Nodes["Service"]
  readonly server: McpServer["Service"]
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  readonly shared: SharedSessions
  readonly keepAlive: KeepAliveTimer
  readonly fork: Fork
}

export class RemoteSessions {
  private readonly options: Options
  /** The sessions that are being opened here again. */
  private readonly opening = new Map<string, Deferred.Deferred<void>>()

  constructor(options: Options) {
    this.options = options
  }

  /** Tells the directory what is held here, until the scope closes. */
  get hold(): Effect.Effect<void, never, Scope.Scope> {
    const { nodes, table } = this.options
    return nodes.directory.hold({
      ids: () => table.all().map(({ id }) => id),
      lost: (id) => {
        const session = table.get(id)
        if (session !== undefined) table.remove(session, "Another node has taken this session over")
      }
    })
  }

  /** Whether the session of a request is not held here. */
  concerns({ headers }: HttpRequest): boolean {
    const id = headers[sessionIdHeader]
    const { nodes, shared, table } = this.options
    const isElsewhere = nodes.directory.isCutOff || (id !== undefined && table.get(id)?.session === undefined)
    return id !== undefined && isElsewhere && !shared.isClosing(id)
  }

  /** Answers a request by the node that holds its session; by `here` where that is this one, or none. */
  answer(remote: RemoteRequest, here: () => Answer): Answer {
    return Effect.flatMap(Clock.currentTimeMillis, (began) => this.attempt(remote, here, began + patience))
  }

  private attempt(remote: RemoteRequest, here: () => Answer, until: number): Answer {
    const id = remote.http.headers[sessionIdHeader] ?? ""
    const located = Effect.timeout(this.options.nodes.directory.locate(id), patience)
    return Effect.matchEffect(located, {
      onFailure: (error) =>
        Effect.as(Effect.logWarning("The directory of sessions does not answer", error), notFound(remote.ids)),
      onSuccess: (located) => {
        if (located._tag === "Unknown") return here()
        if (located._tag === "Here") return Effect.andThen(this.reopen(id, located, remote.http), Effect.suspend(here))
        return Effect.catch(this.relay(id, located.node, remote), ({ reason }) =>
          reason === "NotSent" || isRepeatable(remote) ? this.again(remote, here, until) : Effect.succeed(cut(remote))
        )
      }
    })
  }

  private again(remote: RemoteRequest, here: () => Answer, until: number): Answer {
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now >= until
        ? Effect.succeed(notFound(remote.ids))
        : Effect.andThen(
            Effect.sleep(pause),
            Effect.suspend(() => this.attempt(remote, here, until))
          )
    )
  }

  // ---- sessions that are opened here again

  /** Has the session of another node's request here, where the directory says so. False: it is not to be answered here. */
  readonly has = (http: HttpRequest, id: string): Effect.Effect<boolean> => {
    const { nodes, table } = this.options
    if (table.get(id)?.session !== undefined) return Effect.succeed(true)
    return Effect.matchEffect(nodes.directory.locate(id), {
      onFailure: () => Effect.succeed(false),
      onSuccess: (located) =>
        located._tag === "Here" ? Effect.as(this.reopen(id, located, http), true) : Effect.succeed(false)
    })
  }

  /** Opens the session, unless it is there or does not belong to the caller: then it is not found either. */
  private reopen(id: string, located: Extract<Located, { _tag: "Here" }>, http: HttpRequest): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { server, shared, table } = this.options
      const { owner, server: name } = located.record
      if (name !== server.name || owner !== ownerOf(http)) return Effect.void
      const opening = this.opening.get(id)
      if (opening !== undefined) return Deferred.await(opening)
      if (table.get(id) !== undefined || shared.isClosing(id)) return Effect.void
      const opened = Deferred.makeUnsafe<void>()
      this.opening.set(id, opened)
      return Effect.ensuring(
        this.open(id, located, http),
        Effect.sync(() => {
          this.opening.delete(id)
          Deferred.doneUnsafe(opened, Effect.void)
        })
      )
    })
  }

  private readonly open = Effect.fnUntraced(function* (
    this: RemoteSessions,
    id: string,
    { epoch, record }: Extract<Located, { _tag: "Here" }>,
    http: HttpRequest
  ): Effect.fn.Return<void> {
    const { config, server, table } = this.options
    const session = new HttpSession(id, principalOf(http), http.address, config, epoch)
    yield* session.start(server.connect)
    const { session: opened } = session
    if (opened === undefined) return
    const restored = yield* Effect.exit(server.restore(opened, record))
    if (Exit.isSuccess(restored)) {
      table.add(session)
      return
    }
    yield* Effect.logWarning("A session of another node could not be opened here", restored.cause)
    yield* session.close("The session could not be opened here")
  })

  // ---- requests that another node answers

  private relay(id: string, node: string, remote: RemoteRequest): Effect.Effect<Response, RelayError> {
    const { nodes, server } = this.options
    const { address, headers, method, originalUrl: url, principal } = remote.http
    const request: RelayedRequest = {
      server: server.name,
      session: id,
      method,
      url,
      headers: passedOn(headers),
      body: remote.body,
      principal,
      address
    }
    return Effect.suspend(() => {
      const scope = Scope.makeUnsafe()
      const dead = Effect.andThen(
        nodes.directory.gone(node),
        Effect.fail(new RelayError({ reason: "Cut", message: "The lease of the node has ended" }))
      )
      const response = Scope.provide(nodes.relay.send(node, request), scope)
      return Effect.raceFirst(response, dead).pipe(
        Effect.flatMap((response) => this.passed(response, remote, dead, scope)),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
    })
  }

  private passed(
    response: RelayedResponse,
    remote: RemoteRequest,
    dead: Effect.Effect<never, RelayError>,
    scope: Scope.Closeable
  ): Effect.Effect<Response, RelayError> {
    const headers = passedOn(response.headers)
    if (headers["content-type"]?.startsWith("text/event-stream") === true) {
      return Effect.sync(() => this.streamed({ ...response, headers }, remote, dead, scope))
    }
    const bytes = Effect.raceFirst(Stream.mkUint8Array(response.body), dead)
    return Effect.map(Effect.ensuring(bytes, Scope.close(scope, Exit.void)), (body) => {
      const { status } = response
      return body.length === 0
        ? HttpServerResponse.empty({ status, headers: { ...headers, "content-length": "0" } })
        : HttpServerResponse.uint8Array(body, { status, headers, contentType: headers["content-type"] ?? "" })
    })
  }

  /** The events of the other node as they come, and at its death an error for each request that it has not answered. */
  private streamed(
    { body, headers }: RelayedResponse,
    { exchange, ids }: RemoteRequest,
    dead: Effect.Effect<never, RelayError>,
    scope: Scope.Closeable
  ): Response {
    const { fork, keepAlive } = this.options
    const stream = new RelayedStream(ids)
    const sse = stream.attach()
    const pumped = Effect.raceFirst(
      Stream.runForEach(body, (bytes) => stream.relay(bytes)),
      dead
    )
    const pump = Effect.onExit(pumped, (exit) => {
      if (Exit.isSuccess(exit)) stream.end()
      else stream.cut(nodeGone)
      return Scope.close(scope, Exit.void)
    })
    const fiber = fork(Effect.ignore(pump))
    exchange.left = () => {
      fiber.interruptUnsafe()
      stream.detach(sse)
    }
    return sseResponse(sse, keepAlive, headers)
  }
}

/** The response to requests that may have run on a node that is gone. */
const cut = ({ ids, isBatch }: RemoteRequest): Response => {
  const [first] = ids
  if (first === undefined) return notFound(ids)
  const failures = ids.map((id) => JsonRpc.failure(id, nodeGone))
  return json(
    isBatch
      ? `[${failures.map((one) => JsonRpc.encode(one)).join(",")}]`
      : JsonRpc.encode(JsonRpc.failure(first, nodeGone))
  )
}
