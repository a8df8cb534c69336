/**
 * Serves over Streamable HTTP (spec 2026-07-28: basic/transports/streamable-http): every request is a POST of its own, answered by one
 * JSON object, or by server-sent events if something precedes the answer.
 *
 * Owns what HTTP adds: who may ask at all, limits, statuses, and that a request whose asker has gone is interrupted. It mounts beside
 * the user's own routes, whose middleware applies; one that provides a `Principal` says who asks. The sessions of older revisions are
 * not served here.
 */
import * as Framing from "@effect-mcp/core/Framing"
import { Principal } from "@effect-mcp/core/Principal"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ByteSize from "effect/ByteSize"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServerError } from "effect/http/HttpServerError"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { PostSink } from "../internal/PostSink.ts"
import { McpServer } from "../Server.ts"
import * as Rebinding from "./Rebinding.ts"

export interface Options extends Rebinding.Options {
  /** Where the endpoint is. */
  readonly path: HttpRouter.PathInput
  /** The largest body, in bytes. Default 4 MiB; a larger one is answered by 413. */
  readonly maxMessageBytes?: number | undefined
  /** Requests at once (default 1024); one more is answered by 429. */
  readonly inFlight?: number | undefined
  /** Subscriptions that stand open at once, beside them. Default 1024. */
  readonly subscriptions?: number | undefined
  /** A stream says that it is alive after as long without a message. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** At shutdown: how long requests may still run. Default 10 seconds. Subscriptions end at once. */
  readonly drain?: Duration.Input | undefined
}

/** The endpoints of one `serve`: what ends each. */
const Endpoints = Context.Reference<Set<Effect.Effect<void>>>("@effect-mcp/server/endpoint/Http/Endpoints", {
  defaultValue: () => new Set()
})

/** Adds the endpoint to the router. Where `serve` of this module is not used, open subscriptions hold up the server's shutdown. */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", options.path, handle)))

/** `HttpRouter.serve`, and at shutdown it first lets the endpoints of the app end in order: an HTTP server waits for open streams. */
export const serve: typeof HttpRouter.serve = (app, options) =>
  Layer.unwrap(
    Effect.sync(() => {
      const endpoints = new Set<Effect.Effect<void>>()
      const served = HttpRouter.serve(Layer.provide(app, Layer.succeed(Endpoints, endpoints)), options)
      // Built on top of the server, so it is finalized before it.
      const end = Effect.addFinalizer(() =>
        Effect.forEach(endpoints, (end) => end, { concurrency: "unbounded", discard: true })
      )
      return Layer.provideMerge(Layer.effectDiscard(end), served)
    })
  )

interface Post {
  readonly sink: PostSink
  stands: boolean
  /** The fiber of its request, once it was read. */
  fiber: Fiber.Fiber<void> | undefined
  /** The fiber that reads it. */
  readonly reader: Fiber.Fiber<unknown, unknown> | undefined
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

const refuse = (
  status: number,
  error: McpError.McpError,
  id?: JsonRpc.Id,
  headers?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JsonRpc.encode(JsonRpc.failure(id, error)), {
    status,
    contentType: "application/json",
    ...(headers === undefined ? undefined : { headers })
  })

const tooMany = (what: string, limit: number, id?: JsonRpc.Id) =>
  refuse(429, McpError.limitExceeded(`More than ${limit} ${what}`), id, { "retry-after": "1" })

/** Of what an Accept header lists: whether it takes this type. */
const accepts = (accept: string, type: string): boolean =>
  accept.split(",").some((range) => {
    const [name = "", ...params] = range.split(";").map((part) => part.trim().toLowerCase())
    const wanted = name === type || name === "*/*" || name === `${type.split("/")[0]}/*`
    return wanted && !params.some((param) => /^q=0(\.0*)?$/.test(param))
  })

/** By the stage that answered, not by the code: what a handler says is an answer like any other. */
const statusOf = (message: JsonRpc.Message, admitted: boolean): number => {
  if (!("error" in message)) return 200
  const { code } = message.error
  if (code === McpError.MissingClientCapability) return 400
  if (admitted) return 200
  return code === McpError.MethodNotFound ? 404 : 400
}

const make = Effect.fnUntraced(function* (options: Options) {
  const { maxMessageBytes = Framing.defaultMaxMessageBytes, inFlight = 1024, subscriptions = 1024 } = options
  const { keepAlive = "15 seconds", drain = "10 seconds" } = options
  const server = yield* McpServer
  const scope = yield* Scope.Scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const posts = new Set<Post>()
  const closing = Deferred.makeUnsafe<void>()
  const gone = Deferred.makeUnsafe<void>()
  let draining = false
  let standing = 0

  const release = (post: Post): void => {
    posts.delete(post)
    if (post.stands) standing--
    post.sink.close()
    // The asker has gone, unless the answer was sent: then this does nothing.
    post.fiber?.interruptUnsafe()
    if (draining && posts.size === 0) Deferred.doneUnsafe(gone, Effect.void)
  }

  const end = Effect.suspend(() => {
    // Once is enough: who served it may have ended it before the router does.
    if (draining) return Effect.void
    draining = true
    Deferred.doneUnsafe(closing, Effect.void)
    if (posts.size === 0) return Effect.void
    const wait = (duration: Duration.Input) =>
      Effect.interruptible(Effect.timeoutOption(Deferred.await(gone), duration))
    const interrupt = Effect.sync(() => {
      for (const { fiber, reader } of posts) (fiber ?? reader)?.interruptUnsafe()
    })
    return Effect.andThen(wait(drain), Effect.andThen(interrupt, Effect.asVoid(wait("1 second"))))
  })
  const endpoints = yield* Endpoints
  yield* Effect.acquireRelease(
    Effect.sync(() => endpoints.add(end)),
    () =>
      Effect.andThen(
        end,
        Effect.sync(() => endpoints.delete(end))
      )
  )

  /** What HTTP itself has against a request, before its body is read. */
  const objection = ({ headers, method }: HttpServerRequest): HttpServerResponse.HttpServerResponse | undefined => {
    const foreign = Rebinding.check(headers, options)
    if (foreign !== undefined) return refuse(403, McpError.invalidRequest(foreign))
    if (method !== "POST") return HttpServerResponse.empty({ status: 405, headers: { allow: "POST" } })
    if (draining) return refuse(503, McpError.interrupted("The server is shutting down"))
    if (!/^\s*application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
      return refuse(415, McpError.invalidRequest("The body must be application/json"))
    }
    const { accept = "*/*" } = headers
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) {
      return refuse(406, McpError.invalidRequest("Accept must list application/json and text/event-stream"))
    }
    if (Number(headers["content-length"]) > maxMessageBytes) return tooLarge
    return posts.size - standing >= inFlight ? tooMany("requests are in flight", inFlight) : undefined
  }
  const tooLarge = refuse(413, McpError.limitExceeded(`The message is larger than ${maxMessageBytes} bytes`))

  const unread = ({ reason }: HttpServerError): HttpServerResponse.HttpServerResponse =>
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
      ? tooLarge
      : refuse(400, McpError.parseError("Parse error: the body could not be read"))

  const read = (request: HttpServerRequest): Effect.Effect<string, HttpServerResponse.HttpServerResponse> =>
    request.arrayBuffer.pipe(
      Effect.provideService(MaxBodySize, ByteSize.bytes(maxMessageBytes)),
      Effect.mapError(unread),
      Effect.flatMap((body) =>
        Effect.try({
          try: () => utf8.decode(body),
          catch: () => refuse(400, McpError.parseError("Parse error: this is not UTF-8"))
        })
      )
    )

  const requestOf = (text: string): JsonRpc.Request | HttpServerResponse.HttpServerResponse => {
    const inbound = Framing.decode(text)
    if (inbound._tag === "Batch") return refuse(400, McpError.invalidRequest("A body is one message, not a batch"))
    if (inbound._tag === "Unreadable") {
      return refuse(400, inbound.error, inbound.response ? undefined : inbound.id)
    }
    const { message } = inbound
    if (JsonRpc.isRequest(message)) return message
    return JsonRpc.isNotification(message)
      ? HttpServerResponse.empty({ status: 202 })
      : refuse(400, McpError.invalidRequest("Responses are not posted in this revision"))
  }

  const answer = Effect.fnUntraced(function* (
    request: JsonRpc.Request,
    { headers }: HttpServerRequest,
    post: Post
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
    const { sink } = post
    const context = yield* Effect.context<never>()
    const envelope = { headers, principal: Option.getOrUndefined(Context.getOption(context, Principal)) }
    const span = Option.getOrUndefined(Context.getOption(context, Tracer.ParentSpan))
    let admitted = false
    const dispatched = server.dispatch(request, envelope, sink, {
      closing: Deferred.await(closing),
      admitted: () => (admitted = true)
    })
    post.fiber = runFork(span === undefined ? dispatched : Effect.provideService(dispatched, Tracer.ParentSpan, span))
    Fiber.runIn(post.fiber, scope)
    yield* sink.first
    if (!sink.streaming && sink.answer !== undefined) {
      const { message, text } = sink.answer
      return HttpServerResponse.text(text, { status: statusOf(message, admitted), contentType: "application/json" })
    }
    return HttpServerResponse.stream(sink.stream(keepAlive), {
      contentType: "text/event-stream",
      headers: { "cache-control": "no-cache", "x-accel-buffering": "no" }
    })
  })

  return Effect.fnUntraced(function* (
    http: HttpServerRequest
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
    const refused = objection(http)
    if (refused !== undefined) return refused
    const post: Post = { sink: new PostSink(), stands: false, fiber: undefined, reader: Fiber.getCurrent() }
    posts.add(post)
    // The scope of an HTTP request ends with its response: written, or cut off by the other side.
    yield* Effect.addFinalizer(() => Effect.sync(() => release(post)))
    const request = yield* Effect.match(read(http), { onFailure: (refusal) => refusal, onSuccess: requestOf })
    if (HttpServerResponse.isHttpServerResponse(request)) return request
    if (request.method === "subscriptions/listen") {
      if (standing >= subscriptions) return tooMany("subscriptions are open", subscriptions, request.id)
      standing++
      post.stands = true
    }
    return yield* answer(request, http, post)
  })
})
