/**
 * Handles requests for sessions that this node doesn't hold. The node that holds the session handles the request, and its response is
 * forwarded. If that node is gone, the session is reopened here.
 *
 * If the other node dies, each unanswered request receives an error and is never sent twice.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  type Located,
  type NodesUnavailable,
  type RelayedRequest,
  type RelayedResponse,
  type RelayEndpoint,
  type RelayError,
  type SessionDirectory
} from "@effect-mcp/server/Nodes"
import {
  bytesOf,
  callerOf,
  type HttpExchange,
  type HttpRequest,
  json,
  type ManagedEndpoint,
  ownerOf,
  refuse,
  sessionIdHeader,
  type SessionManager,
  shuttingDown,
  sseResponse,
  tooMany
} from "@effect-mcp/server/internal/sharing"
import { handOver } from "./handOver.ts"
import { Locations } from "./Locations.ts"
import { missedEvents, nodeGone } from "./missedEvents.ts"
import type { NodeSessions } from "./NodeSessions.ts"
import { RelayedStream } from "./RelayedStream.ts"
import { RemoteRequest } from "./RemoteRequest.ts"
import { Reopening } from "./Reopening.ts"
import { SessionRecords } from "./SessionRecords.ts"
import { UnknownSessions } from "./UnknownSessions.ts"

type Response = HttpServerResponse.HttpServerResponse
type Answer = Effect.Effect<Response>

/** How long a request waits for a node that holds its session to be found, in milliseconds. */
const patience = 2000
/** Shortest and longest pause between lookups, in milliseconds. */
const [pause, longestPause] = [50, 400]

/** Session IDs are UUIDs, so any other ID is never looked up. */
const isSessionId = /^[0-9a-f-]{36}$/

/** Headers that apply to a single connection. */
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

const passedOn = <A>(headers: { readonly [name: string]: A }): { readonly [name: string]: A } => {
  const passed: { [name: string]: A } = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && !ofConnection.has(name)) passed[name] = value
  }
  return passed
}

/** A client's credentials, which are replaced by its principal because other nodes don't need them. */
const credentials = new Set(["authorization", "cookie", "proxy-authorization"])

const withoutCredentials = (headers: HttpRequest["headers"]): HttpRequest["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !credentials.has(name)))

const soon = { "retry-after": "1" }
const notFound = (ids: ReadonlyArray<JsonRpc.Id>): Response =>
  refuse(
    503,
    McpError.interrupted("The node that holds this session is not responding. Send the request again"),
    ids[0],
    soon
  )

/** State of a request whose session is being looked up. */
interface Search {
  readonly until: number
  readonly pause: number
}

export class RemoteSessions implements SessionManager {
  private readonly node: NodeSessions
  private readonly endpoint: ManagedEndpoint
  private readonly records: SessionRecords
  private readonly reopening: Reopening
  private readonly unknown: UnknownSessions
  private readonly locations = new Locations()

  constructor(endpoint: ManagedEndpoint, node: NodeSessions) {
    this.endpoint = endpoint
    this.node = node
    this.records = new SessionRecords(endpoint)
    this.reopening = new Reopening(endpoint, node)
    this.unknown = new UnknownSessions(endpoint.config.clock)
  }

  private get directory(): SessionDirectory {
    return this.endpoint.nodes.directory
  }

  // ---- the records of sessions

  readonly open: SessionManager["open"] = (session) => this.records.open(session)
  readonly save: SessionManager["save"] = (session) => this.records.save(session)
  readonly close: SessionManager["close"] = (session) => this.records.close(session)

  readonly resume: SessionManager["resume"] = (session, cursor) =>
    missedEvents(this.endpoint.config.store, session, cursor)

  /** Announces the sessions held here to the directory and to this node's other endpoints, until the scope closes. */
  hold(endpoint: RelayEndpoint): Effect.Effect<void, never, Scope.Scope> {
    const { directory, records } = this
    const { table } = this.endpoint
    const held = directory.hold({
      ids: () => table.all().map(({ id }) => id),
      lost: (id) => {
        const session = table.get(id)
        if (session !== undefined) table.remove(session, "Another node took over this session")
      }
    })
    const member = {
      endpoint,
      holds: (id: string) => this.holds(id),
      isBusyWith: (id: string) => table.get(id) !== undefined || records.isClosing(id)
    }
    return Effect.andThen(held, this.node.add(member))
  }

  private has(id: string): boolean {
    return this.endpoint.table.get(id)?.session !== undefined
  }

  /** True if the session is here and no other node can have taken it over. */
  private holds(id: string): boolean {
    return this.has(id) && !this.directory.isCutOff
  }

  /** Closes a session that is open here but missing from the directory, because another node took it over and closed it. */
  private lost(id: string): void {
    const { table } = this.endpoint
    const session = table.get(id)
    if (session?.session === undefined || this.records.isClosing(id) || !this.directory.isCutOff) return
    table.remove(session, "Another node took over this session")
  }

  /** Releases the sessions that are held here, each as soon as it has no running request. */
  get handOver(): Effect.Effect<void> {
    return handOver(this.endpoint, this.node)
  }

  /** True if a request's session is not held here, and may be on another node. */
  readonly isElsewhere = ({ headers }: HttpRequest): boolean => {
    const id = headers[sessionIdHeader]
    return id !== undefined && !this.holds(id) && !this.records.isClosing(id) && isSessionId.test(id)
  }

  /** Sends a request to the node that holds its session, or calls `here` if that is this node or no node. */
  readonly forward = (
    http: HttpRequest,
    body: Uint8Array | undefined,
    exchange: HttpExchange,
    here: () => Answer
  ): Answer => {
    const { admission, exchanges, isStateless } = this.endpoint
    const remote = new RemoteRequest(http, body, exchange, admission)
    if (body !== undefined) {
      exchanges.arrived(exchange)
      if (remote.decoded !== undefined && isStateless(http, remote.decoded)) return here()
      if (exchanges.busy(exchange, undefined) !== undefined) {
        return Effect.succeed(exchanges.busy(exchange, remote.ids[0]) ?? shuttingDown())
      }
    }
    return Effect.flatMap(Clock.currentTimeMillis, (began) =>
      this.attempt(remote, here, { until: began + patience, pause })
    )
  }

  private attempt(remote: RemoteRequest, here: () => Answer, search: Search): Answer {
    const id = remote.http.headers[sessionIdHeader] ?? ""
    if (this.holds(id)) return here()
    const leaving = this.node.leaving.get(id)
    if (leaving !== undefined) {
      return Effect.andThen(
        Deferred.await(leaving),
        Effect.suspend(() => this.attempt(remote, here, search))
      )
    }
    const beside = this.node.holder(this.endpoint.server.name, id)
    if (beside !== undefined)
      return this.passing(this.relay(remote, beside.answer), remote, () => this.again(remote, here, search))
    const known = this.locations.get(id)
    // A remembered location may be outdated, so ask the directory at once.
    if (known !== undefined) {
      const next = () => this.attempt(remote, here, search)
      return this.passing(this.relayTo(known, id, remote), remote, next)
    }
    const caller = callerOf(remote.http)
    if (this.unknown.isTired(caller)) {
      return Effect.succeed(
        tooMany("requests from this caller named an unknown session", this.unknown.limit, remote.ids[0])
      )
    }
    const takes = this.reopening.refusal(remote.http) === undefined
    const located = Effect.timeout(this.locate(id, remote.http, takes), patience)
    return Effect.matchEffect(
      this.unknown.counted(caller, located, ({ _tag }) => _tag === "Unknown"),
      {
        onFailure: () => Effect.succeed(notFound(remote.ids)),
        onSuccess: (located) => this.located(located, id, remote, here, search)
      }
    )
  }

  private located(located: Located, id: string, remote: RemoteRequest, here: () => Answer, search: Search): Answer {
    if (located._tag === "Unknown") {
      this.lost(id)
      return here()
    }
    if (located._tag === "There") {
      const { node } = located
      this.locations.found(id, node)
      return this.passing(this.relayTo(node, id, remote), remote, () => this.again(remote, here, search, node))
    }
    return Effect.flatMap(this.reopening.open(id, located, remote.http), (refused) => {
      if (refused !== undefined) return Effect.succeed(refused)
      // Another endpoint of this node may hold it.
      return this.node.holder(this.endpoint.server.name, id) === undefined ? here() : this.attempt(remote, here, search)
    })
  }

  /** `next` runs if the other node hasn't seen the request, or if the request may safely be sent twice. */
  private passing(relayed: Effect.Effect<Response, RelayError>, remote: RemoteRequest, next: () => Answer): Answer {
    return Effect.catch(relayed, ({ reason }) =>
      reason === "NotSent" || remote.isRepeatable ? next() : Effect.succeed(cut(remote))
    )
  }

  private locate(id: string, http: HttpRequest, takes: boolean): Effect.Effect<Located, NodesUnavailable> {
    const { server } = this.endpoint
    return this.directory.locate(id, { server: server.name, owner: ownerOf(http), takes })
  }

  /** Tries again after a pause, or as soon as the node that didn't respond is gone. */
  private again(remote: RemoteRequest, here: () => Answer, { pause, until }: Search, node?: string): Answer {
    const { directory } = this
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (now >= until) return Effect.succeed(notFound(remote.ids))
      const paused = Effect.sleep(Math.min(pause, until - now))
      const waited = node === undefined ? paused : Effect.raceFirst(directory.gone(node), paused)
      const next = { until, pause: Math.min(2 * pause, longestPause) }
      return Effect.andThen(
        waited,
        Effect.suspend(() => this.attempt(remote, here, next))
      )
    })
  }

  /**
   * Finds the session named by another node's request, and opens it here if the directory says so. Returns false if the request must not be
   * handled here, or the error response if the session could not be opened.
   */
  readonly find = (http: HttpRequest, id: string): Effect.Effect<boolean | Response> => {
    if (this.holds(id)) return Effect.succeed(true)
    if (this.node.holder(this.endpoint.server.name, id) !== undefined) return Effect.succeed(false)
    // A node that is leaving takes over no session on behalf of another node, which can take it itself.
    const takes = !this.endpoint.exchanges.draining && this.reopening.refusal(http) === undefined
    const leaving = this.node.leaving.get(id)
    const located = this.locate(id, http, takes)
    return Effect.matchEffect(leaving === undefined ? located : Effect.andThen(Deferred.await(leaving), located), {
      onFailure: () => Effect.succeed(false),
      onSuccess: (located) =>
        located._tag === "Here"
          ? Effect.map(this.reopening.open(id, located, http), (refused) => refused ?? this.has(id))
          : Effect.succeed(false)
    })
  }

  // ---- requests that another node answers

  private relayTo(node: string, id: string, remote: RemoteRequest): Effect.Effect<Response, RelayError> {
    const { relay } = this.endpoint.nodes
    const relayed = this.relay(remote, (request) => relay.send(node, request))
    return Effect.tapError(relayed, () => Effect.sync(() => this.locations.forget(id)))
  }

  private relay(remote: RemoteRequest, send: RelayEndpoint["answer"]): Effect.Effect<Response, RelayError> {
    const { address, headers, method, originalUrl: url, principal } = remote.http
    const request: RelayedRequest = {
      server: this.endpoint.server.name,
      session: headers[sessionIdHeader] ?? "",
      method,
      url,
      headers: withoutCredentials(passedOn(headers)),
      body: remote.body,
      principal,
      address
    }
    return Effect.suspend(() => {
      const scope = Scope.makeUnsafe()
      const passed = Effect.flatMap(Scope.provide(send(request), scope), (response) =>
        this.passed(response, remote, scope)
      )
      return Effect.onError(passed, () => Scope.close(scope, Exit.void))
    })
  }

  private passed(
    { body, headers: theirs, status }: RelayedResponse,
    remote: RemoteRequest,
    scope: Scope.Closeable
  ): Effect.Effect<Response, RelayError> {
    const headers = passedOn(theirs)
    if (headers["content-type"]?.startsWith("text/event-stream") === true) {
      return Effect.sync(() => this.streamed(body, headers, remote, scope))
    }
    const whole =
      typeof body === "string" || body instanceof Uint8Array ? Effect.succeed(body) : Stream.mkUint8Array(body)
    return Effect.flatMap(whole, (body) =>
      Effect.as(Scope.close(scope, Exit.void), wholeResponse(body, status, headers))
    )
  }

  /** Forwards the other node's events as they arrive. If that node dies, each unanswered request receives an error. */
  private streamed(
    body: RelayedResponse["body"],
    headers: RelayedResponse["headers"],
    { exchange, http, ids }: RemoteRequest,
    scope: Scope.Closeable
  ): Response {
    const { fork, keepAlive, passOn } = this.endpoint
    const stream = new RelayedStream(ids)
    const sse = stream.attach()
    const bytes = typeof body === "string" ? bytesOf(body) : body
    const parts = bytes instanceof Uint8Array ? Stream.succeed(bytes) : bytes
    const pump = Effect.onExit(
      Stream.runForEach(parts, (bytes) => stream.relay(bytes)),
      (exit) => {
        if (Exit.isSuccess(exit)) stream.end()
        else stream.cut(nodeGone)
        return Scope.close(scope, Exit.void)
      }
    )
    // A shutdown waits for requests, while GET streams end at once.
    const fiber = (http.method === "POST" ? passOn : fork)(Effect.ignore(pump))
    const left = (): void => {
      fiber.interruptUnsafe()
      stream.detach(sse)
    }
    exchange.left = left
    return sseResponse(sse, keepAlive, headers)
  }
}

const wholeResponse = (body: string | Uint8Array, status: number, headers: RelayedResponse["headers"]): Response => {
  if (body.length === 0) return HttpServerResponse.empty({ status, headers: { ...headers, "content-length": "0" } })
  const options = { status, headers, contentType: headers["content-type"] ?? "" }
  return typeof body === "string"
    ? HttpServerResponse.text(body, options)
    : HttpServerResponse.uint8Array(body, options)
}

/** Response to requests that may have run on a node that is gone. */
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
