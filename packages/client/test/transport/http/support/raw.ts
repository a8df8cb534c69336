/** A manual HTTP server on loopback. It answers nothing by itself: every request waits for the test. */
import * as Fetch from "@effect-mcp/client/Fetch"
import * as Http from "@effect-mcp/client/Http"
import { FetchHttpClient, Headers, HttpClient } from "effect/http"
import { NodeHttpClient } from "@effect/platform-node"
import { Context, Deferred, Effect, Layer, Queue, type Scope } from "effect"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Event {
  readonly id?: string
  readonly event?: string
  readonly retry?: number
  /** A string is sent unchanged, anything else as JSON. */
  readonly data?: unknown
}

/** A request, and the ways to answer it. */
export interface Hit {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The message, if there is a body. */
  readonly message: any
  readonly json: (body: unknown, status?: number, headers?: { readonly [name: string]: string }) => Effect.Effect<void>
  /** Answers with a body of any kind, or no body. */
  readonly status: (status: number, body?: string, headers?: { readonly [name: string]: string }) => Effect.Effect<void>
  /** Answers the posted request with a result. */
  readonly result: (result: object, headers?: { readonly [name: string]: string }) => Effect.Effect<void>
  /** Starts a stream of events, or another kind if the headers say so. */
  readonly stream: (headers?: { readonly [name: string]: string }, status?: number) => Effect.Effect<void>
  readonly event: (event: Event) => Effect.Effect<void>
  /** Writes raw text to the stream. */
  readonly write: (text: string) => Effect.Effect<void>
  /** Ends the stream cleanly. */
  readonly end: Effect.Effect<void>
  /** Breaks the connection. */
  readonly destroy: Effect.Effect<void>
  /** Completes when the connection is gone before the answer was complete. */
  readonly hungUp: Effect.Effect<void>
}

export interface Raw {
  readonly url: string
  readonly origin: string
  /** The next request, whatever it is. */
  readonly next: Effect.Effect<Hit>
  /** The next request with that HTTP method; other requests that arrive first keep waiting. */
  readonly take: (method: string) => Effect.Effect<Hit>
  /** Number of requests that arrived and were not taken. */
  readonly waiting: Effect.Effect<number>
  /** Number of open connections. */
  readonly sockets: Effect.Effect<number>
}

const unused = HttpClient.make(() => Effect.die("A client over fetch uses no HttpClient"))

const lines = ({ data, event, id, retry }: Event): string =>
  [
    id === undefined ? "" : `id: ${id}\n`,
    event === undefined ? "" : `event: ${event}\n`,
    retry === undefined ? "" : `retry: ${retry}\n`,
    data === undefined ? "" : `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n`,
    "\n"
  ].join("")

const hit = (request: IncomingMessage, response: ServerResponse, text: string): Hit => {
  const hungUp = Deferred.makeUnsafe<void>()
  response.on("close", () => {
    if (!response.writableFinished) Deferred.doneUnsafe(hungUp, Effect.void)
  })
  const message: any = text === "" ? undefined : JSON.parse(text)
  const send: Hit["status"] = (status, body = "", headers = {}) =>
    Effect.sync(() => void response.writeHead(status, headers).end(body))
  const json: Hit["json"] = (body, status = 200, headers = {}) =>
    send(status, JSON.stringify(body), { "content-type": "application/json", ...headers })
  const write = (text: string) => Effect.sync(() => void response.write(text))
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    text,
    message,
    json,
    status: send,
    result: (result, headers) => json({ jsonrpc: "2.0", id: message.id, result }, 200, headers),
    stream: (headers = {}, status = 200) =>
      Effect.sync(() => {
        response.writeHead(status, { "content-type": "text/event-stream", ...headers })
        response.flushHeaders()
      }),
    event: (event) => write(lines(event)),
    write,
    end: Effect.sync(() => void response.end()),
    destroy: Effect.sync(() => void request.socket.destroy()),
    hungUp: Deferred.await(hungUp)
  }
}

/** Listens until the scope closes. Answers the DELETE of a session itself, unless `deletes` is set. */
export const make = Effect.fnUntraced(function* (deletes: boolean): Effect.fn.Return<Raw, never, Scope.Scope> {
  const hits = yield* Queue.unbounded<Hit>()
  const passed: Array<Hit> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      if (request.method === "DELETE" && !deletes) response.writeHead(405).end()
      else Queue.offerUnsafe(hits, hit(request, response, Buffer.concat(chunks).toString()))
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  const take = (method: string): Effect.Effect<Hit> =>
    Effect.suspend(() => {
      const at = passed.findIndex((hit) => hit.method === method)
      const [known] = at === -1 ? [] : passed.splice(at, 1)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.flatMap(Queue.take(hits), (hit) => {
        if (hit.method === method) return Effect.succeed(hit)
        passed.push(hit)
        return take(method)
      })
    })
  return {
    origin: `http://127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/mcp`,
    next: Effect.suspend(() => {
      const known = passed.shift()
      return known === undefined ? Queue.take(hits) : Effect.succeed(known)
    }),
    take,
    waiting: Effect.map(Queue.size(hits), (size) => size + passed.length),
    sockets: Effect.callback((resume) => void server.getConnections((_, count) => resume(Effect.succeed(count))))
  }
})

export const open = make(false)

/** How a client sends its requests. */
const Sender = Context.Reference<"HttpClient" | "fetch">("test/raw/Sender", { defaultValue: () => "HttpClient" })

/** The HTTP clients that a wire must work with. */
export const clients: ReadonlyArray<readonly [name: string, layer: Layer.Layer<HttpClient.HttpClient>]> = [
  ["fetch", FetchHttpClient.layer],
  ["node:http", NodeHttpClient.layerNodeHttp],
  // This transport must not use the HTTP client, as programs may have none.
  ["fetch alone", Layer.merge(Layer.succeed(Sender, "fetch"), Layer.succeed(HttpClient.HttpClient, unused))]
]

/** A transport over the provided client. */
export const transport = (options: Http.Options) =>
  Effect.flatMap(Sender, (sender) =>
    sender === "fetch" ? Fetch.open({ ...options, headers: Headers.fromInput(options.headers) }) : Http.open(options)
  )
