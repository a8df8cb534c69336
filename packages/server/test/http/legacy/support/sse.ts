/** A server behind HTTP with SSE on loopback, and a client on node:http that sends exactly the bytes of a test. */
import { NodeHttpServer } from "@effect/platform-node"
import * as Sse from "../../../../src/http/legacy/SseEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { type Cause, Context, Effect, Exit, Layer, Queue, Scope } from "effect"
import { HttpServer } from "effect/http"
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, request as send } from "node:http"

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
  /** Local address of the client. */
  readonly localAddress?: string
  /** The last byte of the body is sent once this resolves. */
  readonly pause?: Promise<void>
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The complete body, once it has ended. */
  readonly text: Effect.Effect<string>
  /** The text of the next event or comment. Fails with Done at the end of the body. */
  readonly next: Effect.Effect<string, Cause.Done>
  /** True if the body ended completely, once it has ended. */
  readonly complete: Effect.Effect<boolean>
  readonly disconnect: Effect.Effect<void>
  /** Stops reading. */
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

/** An open stream. */
export interface Connected extends Reply {
  /** The URI of the endpoint event. */
  readonly endpoint: string
  /** The next message. */
  readonly message: Effect.Effect<any, Cause.Done>
  readonly post: (message: object | string | Uint8Array, headers?: OutgoingHttpHeaders) => Effect.Effect<Reply>
  /** Posts a request and returns the next message. */
  readonly ask: (method: string, params?: object, id?: string | number) => Effect.Effect<any, Cause.Done>
  /** Performs the handshake and returns the answer to `initialize`. */
  readonly initialize: (protocolVersion?: string, capabilities?: object) => Effect.Effect<any, Cause.Done>
}

export interface Client {
  readonly port: number
  readonly server: McpServer.McpServer["Service"]
  readonly fetch: (sent: Sent) => Effect.Effect<Reply>
  /** Opens a stream and reads its first event. */
  readonly connect: (sent?: Sent) => Effect.Effect<Connected, Cause.Done>
  /** Shuts the server down and waits for it. */
  readonly shutdown: Effect.Effect<void>
}

export const request = (method: string, params?: object, id: string | number = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params && { params })
})
export const callOf = (name: string, meta?: object, id?: string | number) =>
  request("tools/call", { name, arguments: {}, ...(meta && { _meta: meta }) }, id)

const fetch = (
  port: number,
  { body, headers = {}, localAddress, method = "GET", path = "/sse", pause }: Sent
): Effect.Effect<Reply> =>
  Effect.callback((resume) => {
    const all = Object.entries({ ...headers }).filter(([, value]) => value !== undefined)
    const sending = send({
      port,
      host: "127.0.0.1",
      localAddress,
      method,
      path,
      agent: false,
      headers: Object.fromEntries(all)
    })
    sending.on("error", (error) => resume(Effect.die(error)))
    sending.on("response", (response) => {
      const blocks = Effect.runSync(Queue.unbounded<string, Cause.Done>())
      const chunks: Array<string> = []
      let rest = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        chunks.push(chunk)
        const [last = "", ...complete] = `${rest}${chunk}`.split("\n\n").toReversed()
        rest = last
        for (const block of complete.toReversed()) Queue.offerUnsafe(blocks, block)
      })
      response.on("close", () => Queue.endUnsafe(blocks))
      response.on("error", () => {})
      const ended = new Promise<string>((resolve) => response.on("close", () => resolve(chunks.join(""))))
      resume(
        Effect.succeed({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Effect.promise(() => ended),
          complete: Effect.map(
            Effect.promise(() => ended),
            () => response.complete
          ),
          next: Queue.take(blocks),
          pause: Effect.sync(() => void response.pause()),
          resume: Effect.sync(() => void response.resume()),
          disconnect: Effect.sync(() => void response.destroy())
        })
      )
    })
    if (pause === undefined || body === undefined) sending.end(body)
    else {
      sending.write(body.slice(0, -1))
      void pause.then(() => sending.end(body.slice(-1)))
    }
  })

const connect = Effect.fnUntraced(function* (port: number, sent: Sent): Effect.fn.Return<Connected, Cause.Done> {
  const reply = yield* fetch(port, sent)
  const first = yield* reply.next
  const endpoint = first.replace("event: endpoint\ndata: ", "")
  const path = new URL(endpoint, "http://localhost").pathname + new URL(endpoint, "http://localhost").search
  const post: Connected["post"] = (message, headers) =>
    fetch(port, {
      method: "POST",
      path,
      headers: { "content-type": "application/json", ...sent.headers, ...headers },
      body: typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message)
    })
  const message: Connected["message"] = Effect.map(reply.next, (block) =>
    JSON.parse(block.replace("event: message\ndata: ", ""))
  )
  const ask: Connected["ask"] = (method, params, id) => Effect.andThen(post(request(method, params, id)), message)
  return {
    ...reply,
    endpoint,
    message,
    post,
    ask,
    initialize: (protocolVersion = "2025-11-25", capabilities = {}) =>
      Effect.tap(
        ask("initialize", { protocolVersion, capabilities, clientInfo: { name: "raw", version: "1" } }, "init"),
        () => post({ jsonrpc: "2.0", method: "notifications/initialized" })
      )
  }
})

/** Puts middleware around the endpoint. */
export type Around = (endpoint: ReturnType<typeof Sse.layer>) => ReturnType<typeof Sse.layer>

/** Serves features in the scope. */
export const open = Effect.fnUntraced(function* <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  { around = (endpoint) => endpoint, ...options }: Partial<Sse.Options> & { readonly around?: Around } = {},
  serverOptions: Partial<McpServer.Options<never, never>> = {}
): Effect.fn.Return<Client, unknown, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const served = Sse.serve(around(Sse.layer({ path: "/sse", ...options })), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Layer.provideMerge(Layer.fresh(McpServer.layer({ name: "test", version: "1", features, ...serverOptions }))),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
  )
  const built = yield* Layer.buildWithScope(served, scope)
  const { address } = Context.get(built, HttpServer.HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return {
    port,
    server: Context.get(built, McpServer.McpServer),
    fetch: (sent) => fetch(port, sent),
    connect: (sent = {}) => connect(port, sent),
    shutdown: Scope.close(scope, Exit.void)
  }
})
