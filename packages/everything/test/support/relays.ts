/** Gateways between a client and a server of the official SDK v1: in memory, over stdio, over HTTP and over HTTP with SSE. */
import { NodeHttpServer } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Memory } from "@effect-mcp/core"
import type { Transport } from "@effect-mcp/core/Transport"
import { serve } from "@effect-mcp/everything/node"
import { Gateway } from "@effect-mcp/gateway"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport as SdkTransport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  CreateMessageRequestSchema,
  ListRootsRequestSchema,
  type Notification
} from "@modelcontextprotocol/sdk/types.js"
import { Context, Effect, Layer, Logger, Queue, type Scope, Stream } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"
import { fileURLToPath } from "node:url"
import { clientInfo } from "./official.ts"
import { make } from "./relayed.ts"

export const declared = { sampling: {}, roots: {}, experimental: { "example.com/client": { wide: true } } }

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** One end of a wire in memory, as the SDK sees it. */
const sdkEnd = (end: Transport): SdkTransport => {
  const sdk: SdkTransport = {
    start: async () => {
      const read = Stream.runForEach(end.incoming, (inbound) =>
        // The SDK's own wire in memory leaves a turn between two messages, too.
        Effect.promise(async () => {
          // The SDK has a type of its own for the same messages.
          if (inbound._tag === "Message") sdk.onmessage?.(inbound.message as any)
        })
      )
      void Effect.runPromise(Effect.ignore(read)).then(() => sdk.onclose?.())
    },
    send: async (message) => end.sink.send(message, "control"),
    close: async () => undefined
  }
  return sdk
}

const gateway = Layer.merge(
  Gateway.layer({
    connector: Effect.gen(function* () {
      const [client, end] = yield* Memory.pair()
      yield* Effect.promise(() => make().connect(sdkEnd(end)))
      return client
    })
  }),
  Logger.layer([])
)

type Open = Effect.Effect<SdkTransport, never, Scope.Scope>

const memory: Open = Effect.gen(function* () {
  const server = Context.get(yield* Layer.build(gateway), McpServer.McpServer)
  const [client, end] = yield* Memory.pair()
  yield* server.connect(end)
  return sdkEnd(client)
})

const main = fileOf("../../../cli/src/main.ts")
const stdio: Open = Effect.sync(
  () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [main, "proxy", "--", process.execPath, fileOf("../fixtures/relayed-server.ts")],
      stderr: "ignore"
    })
)

const http: Open = Effect.map(
  serve(gateway, { path: "/mcp" }),
  (port) => new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`))
)

const sse: Open = Effect.gen(function* () {
  const endpoint = McpServer.serveHttp(McpServer.layerSse({ path: "/sse" }), {
    disableLogger: true,
    disableListenLog: true
  })
  const built = yield* Layer.build(
    endpoint.pipe(
      Layer.provide(gateway),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  return new SSEClientTransport(
    new URL(`http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/sse`)
  )
})

export const cells: ReadonlyArray<readonly [name: string, open: Open]> = [
  ["in memory", memory],
  ["over stdio", stdio],
  ["over Streamable HTTP", http],
  ["over HTTP with SSE", sse]
]

/** A client of a gateway, and what reaches it. */
export class Relayed extends Context.Service<
  Relayed,
  {
    readonly client: Client
    readonly heard: Queue.Queue<Notification>
    /** The params of each question. */
    readonly asked: Queue.Queue<any>
    /** The reasons for which questions were withdrawn. */
    readonly withdrawn: Queue.Queue<unknown>
  }
>()("test/Relayed") {}

/** Reports progress where that is wanted, and answers once it was read; the question "wait" is never answered. */
const sample = async ({ params }: any, { sendNotification, signal }: any, withdrawn: Queue.Queue<unknown>) => {
  signal.addEventListener("abort", () => Queue.offerUnsafe(withdrawn, signal.reason))
  const progressToken = params._meta?.progressToken
  if (progressToken !== undefined) {
    await sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2 } })
  }
  if (params.systemPrompt === "wait") await new Promise(() => {})
  return { role: "assistant", model: "parrot", content: { type: "text", text: "!" } } as const
}

export const layerRelayed = (open: Open) =>
  Layer.effect(
    Relayed,
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<Notification>()
      const asked = yield* Queue.unbounded<any>()
      const withdrawn = yield* Queue.unbounded<unknown>()
      const client = new Client(clientInfo, { capabilities: declared })
      client.fallbackNotificationHandler = async (one) => void Queue.offerUnsafe(heard, one)
      client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }))
      client.setRequestHandler(CreateMessageRequestSchema, async (request, extra) => {
        Queue.offerUnsafe(asked, request.params)
        return sample(request, extra, withdrawn)
      })
      const transport = yield* open
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport)),
        () => Effect.promise(() => client.close())
      )
      return { client, heard, asked, withdrawn }
    })
  )
