/** Forwards HTTP requests from a local port to a server, while an ear listens to requests to its endpoint. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { check } from "@effect-mcp/server/internal/origins"
import { type Exchanged, isStream, reading } from "@effect-mcp/fuzz/Traffic"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import { isHttpMethod } from "effect/http/HttpMethod"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { createServer } from "node:http"
import { cannotServe } from "../proxy/ProxyHttp.ts"
import type { Settings } from "../target/Settings.ts"
import type { HttpEar } from "./Ear.ts"

export interface Options extends Pick<Settings, "headers"> {
  readonly port: number
  readonly host: string
  readonly announce: (url: string) => Effect.Effect<void>
}

/** Headers that are not forwarded, because they describe a single connection or its encoding. */
const own = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "host", "upgrade", "te"])

const passing = (headers: { readonly [name: string]: string | undefined }): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined || own.has(name) ? [] : [[name, value]]))
  )

const unheard: Exchanged = { receive: () => {}, cut: () => {} }

const methodOf = (method: string) => (method === "POST" || method === "GET" || method === "DELETE" ? method : undefined)

const unchanged = (chunk: Uint8Array): Uint8Array => chunk

/** Maximum size of a stream's first event to inspect, in bytes. */
const longestPlace = 4096

/** Makes the URL for messages in the first event relative, so that it refers to this port (HTTP with SSE). */
const relative = ({ origin }: URL) => {
  const pathOnly = (line: string, url: string): string =>
    url.startsWith(`${origin}/`) ? `data: ${url.slice(origin.length)}` : line
  let first: string | undefined = ""
  return (chunk: Uint8Array): Uint8Array => {
    if (first === undefined) return chunk
    // Latin-1 maps each byte to a character and back.
    first += Buffer.from(chunk).toString("latin1")
    if (!/\r?\n\r?\n/.test(first) && first.length < longestPlace) return new Uint8Array()
    const isEndpoint = /^event: ?endpoint\r?$/m.test(first)
    const passed = isEndpoint ? first.replace(/^data: ?(\S+)/m, pathOnly) : first
    first = undefined
    return Buffer.from(passed, "latin1")
  }
}

/** Forwards the response as it arrives. */
const passOn = (
  response: HttpClientResponse,
  { cut, receive }: Exchanged,
  change: (chunk: Uint8Array) => Uint8Array
) => {
  const { end, feed } = reading(response, receive)
  let isOver = false
  const finish = (last: () => void) =>
    Effect.sync(() => {
      if (!isOver) last()
      isOver = true
    })
  const body = response.stream.pipe(
    Stream.tap((chunk) => Effect.sync(() => feed(chunk))),
    Stream.map(change),
    Stream.onEnd(finish(end)),
    Stream.tapError(({ message }) => finish(() => receive({ _tag: "Failed", why: message }))),
    Stream.ensuring(finish(cut))
  )
  const { status } = response
  const headers = passing(response.headers)
  const isEmpty = status === 204 || status === 304 || response.headers["content-length"] === "0"
  return isEmpty
    ? Effect.as(finish(end), HttpServerResponse.empty({ status, headers }))
    : Effect.succeed(HttpServerResponse.stream(body, { status, headers }))
}

/** Forwards one request and returns the server's response. */
const relay = (target: URL, added: Settings["headers"], ear: HttpEar, host: string) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const refused = check({ host: request.headers["host"] }, { allowedHosts: [host] })
    if (refused !== undefined) return HttpServerResponse.text(refused, { status: 403 })
    const url = new URL(request.url, target)
    const method = methodOf(request.method)
    if (!isHttpMethod(request.method)) return HttpServerResponse.empty({ status: 405 })
    const hasBody = request.method === "POST" || request.method === "PUT"
    const body = hasBody ? yield* Effect.orDie(request.text) : undefined
    const exchanged =
      method === undefined || (url.pathname !== target.pathname && !ear.isPlace(url.href))
        ? unheard
        : ear.begin({ method, headers: request.headers, body, url: url.href })
    // Only an HTTP with SSE stream, which has no session id, starts with the URL for messages.
    const mayName = method === "GET" && request.headers["mcp-session-id"] === undefined
    // The ear can't read compressed bodies.
    const headers = { ...passing(request.headers), "accept-encoding": "identity", ...added }
    const outgoing = HttpClientRequest.make(request.method)(url).pipe(
      HttpClientRequest.setHeaders(headers),
      body === undefined ? (same) => same : HttpClientRequest.bodyText(body, request.headers["content-type"])
    )
    const failed = ({ message }: HttpClientError) => {
      exchanged.receive({ _tag: "Failed", why: message })
      return Effect.succeed(HttpServerResponse.text(`The server cannot be reached: ${message}`, { status: 502 }))
    }
    return yield* HttpClient.execute(outgoing).pipe(
      Effect.flatMap((response) =>
        passOn(response, exchanged, mayName && isStream({ answered: response.headers }) ? relative(target) : unchanged)
      ),
      Effect.catchTag("HttpClientError", failed),
      Effect.onInterrupt(() => Effect.sync(exchanged.cut)),
      Effect.provideService(HttpClient.TracerPropagationEnabled, false)
    )
  })

/** Serves until interrupted. */
export const serve = (url: string, ear: HttpEar, { announce, headers, host, port }: Options) => {
  const target = new URL(url)
  const app = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    yield* HttpServer.serveEffect(relay(target, headers, ear, host))
    const shown = host.includes(":") ? `[${host}]` : host
    if (address._tag !== "UnixPathAddress") yield* announce(`http://${shown}:${address.port}${target.pathname}`)
    return yield* Effect.never
  })
  return Effect.scoped(app).pipe(
    Effect.provide(
      Layer.merge(
        NodeHttpServer.layer(createServer, { port, host, gracefulShutdownTimeout: "1 second" }),
        NodeHttpClient.layerNodeHttp
      )
    ),
    Effect.catchTag("ServeError", ({ cause }) => Effect.fail(cannotServe(cause, host, port)))
  )
}
