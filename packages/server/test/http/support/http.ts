/** A server behind real HTTP on loopback, and a client on node:http that sends exactly the bytes of a test. */
import { NodeHttpServer } from "@effect/platform-node"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Headers from "@effect-mcp/protocol/Headers"
import type { JsonRpc } from "@effect-mcp/protocol"
import { Nodes } from "@effect-mcp/nodes"
import * as Node from "../../../src/http/NodeListener.ts"
import * as Http from "../../../src/http/RouterEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as ServerNodes from "@effect-mcp/server/Nodes"
import type { EventStore } from "@effect-mcp/server/EventStore"
import { createRequestListener } from "@remix-run/node-fetch-server"
import { type Cause, Context, Effect, Exit, Fiber, Layer, Option, Queue, Schema, Scope } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { setImmediate } from "node:timers/promises"
import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type RequestListener,
  request as send,
  type Server
} from "node:http"
import { metaOf } from "../../support/modern.ts"

export const Region = Tool.raw("region", {
  description: "Says where.",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      limit: { type: "integer", "x-mcp-header": "Limit" }
    }
  }
})
export const region = Tools.layer(Region, (args) => Effect.succeed({ content: [], structuredContent: args }))
export const echo = Tools.layer(
  Tool.make("echo", { description: "Says it again.", input: { text: Schema.String } }),
  ({ text }) => Effect.succeed(text)
)

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The complete body, once it has ended. */
  readonly text: Effect.Effect<string>
  readonly json: Effect.Effect<any>
  /** The next message as JSON, or the next comment as text. Fails with Done at the end of the body. */
  readonly next: Effect.Effect<any, Cause.Done>
  /** The next event, with its fields. Fails with Done at the end of the body. */
  readonly event: Effect.Effect<Event, Cause.Done>
  readonly disconnect: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
}

/** A server-sent event. `data` is a message as JSON, or empty in a priming event. */
export interface Event {
  readonly id?: string
  readonly retry?: number
  readonly data?: any
}

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
  /** Does not read the body until it is resumed. */
  readonly paused?: boolean
}

export interface Client {
  readonly port: number
  readonly server: McpServer.McpServer["Service"]
  /** Sends any HTTP request and returns once the headers arrive. */
  readonly fetch: (sent: Sent) => Effect.Effect<Reply>
  /** Starts a request and hangs up when the scope closes, answered or not. */
  readonly abandon: (sent: Sent) => Effect.Effect<void, never, Scope.Scope>
  /** Posts a valid request of the revision. Headers given here replace the defaults; `undefined` removes one. */
  readonly post: (
    method: string,
    params?: object,
    headers?: OutgoingHttpHeaders,
    id?: JsonRpc.Id
  ) => Effect.Effect<Reply>
  /** Shuts the server down and waits for it. */
  readonly shutdown: Effect.Effect<void>
}

const basic = { "content-type": "application/json", accept: "application/json, text/event-stream" }

/** A request in the form that the revision requires. */
export const sent = (
  method: string,
  params: object = {},
  headers: OutgoingHttpHeaders = {},
  id: JsonRpc.Id = 1
): Sent => {
  const { _meta }: { readonly _meta?: object } = params
  const message = { jsonrpc: "2.0" as const, id, method, params: { ...params, _meta: metaOf({}, _meta) } }
  return { headers: { ...Headers.of(message), ...headers }, body: JSON.stringify(message) }
}
export const call = (name: string, args: object = {}, headers?: OutgoingHttpHeaders, meta?: object): Sent =>
  sent("tools/call", { name, arguments: args, ...(meta && { _meta: meta }) }, headers)

const start = (port: number, { method = "POST", path = "/mcp", headers = {}, body }: Sent) => {
  const all = Object.entries({ ...basic, ...headers }).filter(([, value]) => value !== undefined)
  const request = send({ port, host: "127.0.0.1", method, path, agent: false, headers: Object.fromEntries(all) })
  request.on("error", () => {})
  request.end(body)
  return request
}

const eventOf = (text: string): Event => {
  const event: { -readonly [Field in keyof Event]: Event[Field] } = {}
  for (const line of text.split("\n")) {
    const [, field, value = ""] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (field === "id") event.id = value
    if (field === "retry") event.retry = Number(value)
    if (field === "data") event.data = value === "" ? "" : JSON.parse(value)
  }
  return event
}

const fetch = (port: number, sent: Sent): Effect.Effect<Reply> =>
  Effect.callback((resume) => {
    const request = start(port, sent)
    request.on("error", (error) => resume(Effect.die(error)))
    request.on("response", (response) => {
      const lines = Effect.runSync(Queue.unbounded<string, Cause.Done>())
      const events = Effect.runSync(Queue.unbounded<string, Cause.Done>())
      const chunks: Array<Buffer> = []
      let rest = ""
      let event = ""
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk)
        const [last = "", ...complete] = `${rest}${chunk.toString()}`.split("\n").toReversed()
        rest = last
        for (const line of complete.toReversed()) {
          if (line !== "") Queue.offerUnsafe(lines, line)
          if (line !== "") event += `${line}\n`
          else if (event !== "") Queue.offerUnsafe(events, event)
          if (line === "") event = ""
        }
      })
      response.on("close", () => {
        Queue.endUnsafe(lines)
        Queue.endUnsafe(events)
      })
      response.on("error", () => {})
      if (sent.paused === true) response.pause()
      const ended = new Promise<string>((resolve) =>
        response.on("close", () => resolve(Buffer.concat(chunks).toString()))
      )
      const text = Effect.promise(() => ended)
      resume(
        Effect.succeed({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          json: Effect.map(text, (text) => JSON.parse(text)),
          next: Effect.map(Queue.take(lines), (line) =>
            line.startsWith("data: ") ? JSON.parse(line.slice("data: ".length)) : line
          ),
          event: Effect.repeat(Effect.map(Queue.take(events), eventOf), {
            until: (event) => Object.keys(event).length > 0
          }),
          resume: Effect.sync(() => void response.resume()),
          disconnect: Effect.sync(() => void response.destroy())
        })
      )
    })
  })

/** Puts middleware around the endpoint. */
export type Around = (endpoint: ReturnType<typeof Http.layer>) => ReturnType<typeof Http.layer>

export interface Opening extends Partial<Http.Options> {
  readonly around?: Around
  readonly store?: Layer.Layer<never> | Layer.Layer<EventStore>
}

/** The stack that `open` serves with. The suites run on all of them, except tests of the router. */
const listener = process.env["MCP_TEST_LISTENER"]
/** Whether to serve with a fetch handler, which has no connection that it could cut off. */
export const isFetch = listener === "web"
/** Whether to serve with several nodes, which count requests and sessions separately. */
export const isNodes = listener === "nodes"

/** Closing `scope` shuts the server down. */
export const clientOf = (port: number, server: McpServer.McpServer["Service"], scope: Scope.Closeable): Client => ({
  port,
  server,
  fetch: (sent) => fetch(port, sent),
  abandon: (sent) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => start(port, sent)),
        (request) => Effect.sync(() => void request.destroy())
      )
    ),
  post: (...message) => fetch(port, sent(...message)),
  shutdown: Scope.close(scope, Exit.void)
})

/** Listens on loopback and returns the port. */
export const listen = (server: Server): Effect.Effect<number> =>
  Effect.callback((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

type Listening = (options: Http.Options) => Effect.Effect<RequestListener, never, McpServer.McpServer | Scope.Scope>

/** The endpoint ends first, then the HTTP server, which waits for open responses. */
const openOn = Effect.fnUntraced(function* <E>(
  listening: Listening,
  server: Layer.Layer<McpServer.McpServer, E>,
  options: Partial<Http.Options>
) {
  const scope = yield* Scope.Scope
  const context = yield* Layer.buildWithScope(server, scope)
  const http = createServer()
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      http.closeIdleConnections()
    })
  )
  const listener = yield* Effect.provide(listening({ ...options, path: "/mcp" }), context)
  http.on("request", (request, response) =>
    request.url === "/health" ? response.end("well") : listener(request, response)
  )
  return [yield* listen(http), Context.get(context, McpServer.McpServer)] as const
})

/** Serves with a fetch handler through a library without MCP, so bodies and events take the cross-platform path. */
const webListening: Listening = Effect.fnUntraced(function* (options) {
  const context = yield* Effect.context<McpServer.McpServer>()
  const { dispose, handler } = Http.toWebHandler(Layer.succeedContext(context), options)
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  // Effect's handler also accepts a context, so requests run with the clock of the test.
  const inContext: (request: Request, context: Context.Context<never>) => Promise<Response> = handler
  return createRequestListener((request) => inContext(request, context))
})

/** Serves with three nodes that share a server's features, behind a round robin. */
const nodesListening: Listening = Effect.fnUntraced(function* (options) {
  const server = yield* McpServer.McpServer
  const network = new Nodes.Network()
  let passing: Fiber.Fiber<never> | undefined
  yield* Effect.addFinalizer(() => (passing === undefined ? Effect.void : Fiber.interrupt(passing)))
  const node = Effect.gen(function* () {
    const context = yield* Layer.build(Nodes.layerMemory(network, { lease: "1 hour" }))
    return yield* Effect.provideService(
      Node.make(options),
      McpServer.McpServer,
      McpServer.McpServer.of({ ...server, nodes: Context.get(context, ServerNodes.Nodes) })
    )
  })
  const listeners = yield* Effect.orDie(Effect.replicateEffect(node, 3))
  // A node that ends hands its sessions over. It polls busy ones until `drain` has passed, so the test clock must advance.
  yield* Effect.addFinalizer(() =>
    Effect.map(
      Effect.forkDetach(
        Effect.forever(
          Effect.andThen(
            TestClock.adjust("1 second"),
            Effect.promise(() => setImmediate())
          )
        )
      ),
      (fiber) => {
        passing = fiber
      }
    )
  )
  let turn = 0
  const next: RequestListener = (request, response) => listeners[turn++ % listeners.length]?.(request, response)
  return next
})

/** Only the router can have middleware around it. */
const listenings: { readonly [name: string]: Listening | undefined } = {
  node: Node.make,
  nodes: nodesListening,
  web: webListening
}

/** Serves features in the scope, next to a user route at `/health`. */
export const open = Effect.fnUntraced(function* <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  { around, store = Layer.empty, ...options }: Opening = {},
  serverOptions: Partial<McpServer.Options<never, never>> = {}
): Effect.fn.Return<Client, unknown, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const server = Layer.fresh(McpServer.layer({ name: "test", version: "1", features, ...serverOptions }))
  const listening = listenings[listener ?? ""]
  if (listening !== undefined && around === undefined && options.cors === undefined) {
    const opened = openOn(listening, Layer.provideMerge(server, store), options)
    return clientOf(...(yield* Scope.provide(opened, scope)), scope)
  }
  const health = HttpRouter.add("GET", "/health", HttpServerResponse.text("well"))
  const endpoint = Http.layer({ path: "/mcp", ...options })
  const served = Http.serve(Layer.mergeAll(around?.(endpoint) ?? endpoint, health), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Layer.provideMerge(server),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
  )
  const built = yield* Layer.buildWithScope(Layer.provide(served, store), scope)
  const { address } = Context.get(built, HttpServer.HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return clientOf(port, Context.get(built, McpServer.McpServer), scope)
})

/** Returns every message up to the end of the stream. */
export const messages = (reply: Reply): Effect.Effect<ReadonlyArray<any>> =>
  Effect.gen(function* () {
    const all: Array<unknown> = []
    for (;;) {
      const next = yield* Effect.option(reply.next)
      if (Option.isNone(next)) return all
      all.push(next.value)
    }
  })
