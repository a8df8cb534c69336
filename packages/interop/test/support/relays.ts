/** Gateways between a client and a server of the official SDK, v1 or v2: in memory, over stdio, over HTTP and over HTTP with SSE. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeHttpServer } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Memory } from "@effect-mcp/core"
import type { Transport } from "@effect-mcp/core/Transport"
import { serve } from "@effect-mcp/interop/reference/node"
import { Gateway } from "@effect-mcp/gateway"
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client"
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
import { make, type Sdk } from "./relayed.ts"

export const declared = { sampling: {}, roots: {}, experimental: { "example.com/client": { wide: true } } }

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** One end of an in-memory wire, as the SDK sees it. */
const sdkEnd = (end: Transport): SdkTransport => {
  const sdk: SdkTransport = {
    start: async () => {
      const read = Stream.runForEach(end.incoming, (inbound) =>
        // The SDK's own in-memory wire also leaves a turn between two messages.
        Effect.promise(async () => {
          // The SDK uses another type for the same messages.
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

/** A gateway in front of a server of that version. */
const gateway = (sdk: Sdk) =>
  Layer.merge(
    Gateway.layer({
      connector: Effect.gen(function* () {
        const [client, end] = yield* Memory.pair()
        yield* Effect.promise(() => make(sdk).connect(sdkEnd(end)))
        return client
      })
    }),
    Logger.layer([])
  )

type Open = Effect.Effect<SdkTransport, never, Scope.Scope>

const memory = (sdk: Sdk): Open =>
  Effect.gen(function* () {
    const server = Context.get(yield* Layer.build(gateway(sdk)), McpServer.McpServer)
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
      env: compileCache,
      stderr: "ignore"
    })
)

/** Both sides use that version. */
const http = (sdk: Sdk): Open =>
  Effect.map(serve(gateway(sdk), { path: "/mcp" }), (port) => {
    const url = new URL(`http://127.0.0.1:${port}/mcp`)
    return sdk === "v1" ? new StreamableHTTPClientTransport(url) : new HttpV2(url)
  })

const sse: Open = Effect.gen(function* () {
  const endpoint = McpServer.serveHttp(McpServer.layerSse({ path: "/sse" }), {
    disableLogger: true,
    disableListenLog: true
  })
  const built = yield* Layer.build(
    endpoint.pipe(
      Layer.provide(gateway("v1")),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  return new SSEClientTransport(
    new URL(`http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/sse`)
  )
})

/** `sdk` is the version of the client. */
export const cells: ReadonlyArray<{ readonly name: string; readonly sdk: Sdk; readonly open: Open }> = [
  { name: "in memory", sdk: "v1", open: memory("v1") },
  { name: "over stdio", sdk: "v1", open: stdio },
  { name: "over Streamable HTTP", sdk: "v1", open: http("v1") },
  { name: "over HTTP with SSE", sdk: "v1", open: sse },
  { name: "in memory, with SDK v2 on both sides", sdk: "v2", open: memory("v2") },
  { name: "in memory, with an SDK v2 client", sdk: "v2", open: memory("v1") },
  { name: "in memory, with an SDK v2 server", sdk: "v1", open: memory("v2") },
  { name: "over Streamable HTTP, with SDK v2 on both sides", sdk: "v2", open: http("v2") }
]

/** A client of a gateway, and the messages that reach it. */
export class Relayed extends Context.Service<
  Relayed,
  {
    readonly client: Client
    readonly heard: Queue.Queue<Notification>
    /** The params of each question. */
    readonly asked: Queue.Queue<any>
    /** The reasons why questions were withdrawn. */
    readonly withdrawn: Queue.Queue<unknown>
  }
>()("test/Relayed") {}

/** Reports progress if requested, and answers once it was read; the question "wait" is never answered. */
const sample = async ({ params }: any, context: any, withdrawn: Queue.Queue<unknown>) => {
  const { notify, signal } = context.mcpReq ?? { notify: context.sendNotification, signal: context.signal }
  signal.addEventListener("abort", () => Queue.offerUnsafe(withdrawn, signal.reason))
  const progressToken = params._meta?.progressToken
  if (progressToken !== undefined) {
    await notify({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2 } })
  }
  if (params.systemPrompt === "wait") await new Promise(() => {})
  return { role: "assistant", model: "parrot", content: { type: "text", text: "!" } } as const
}

/** A client of either version, in the types of the first: it calls tools without a result schema. */
const clientOf = (sdk: Sdk, answer: (request: any, context: any) => Promise<object>): Client => {
  if (sdk === "v1") {
    const client = new Client(clientInfo, { capabilities: declared })
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [] }))
    client.setRequestHandler(CreateMessageRequestSchema, answer as any)
    return client
  }
  const client: any = new ClientV2(clientInfo, { capabilities: declared })
  client.setRequestHandler("roots/list", async () => ({ roots: [] }))
  client.setRequestHandler("sampling/createMessage", answer)
  const call = client.callTool.bind(client)
  client.callTool = (params: object, _schema: unknown, options: object) => call(params, options)
  return client
}

export const layerRelayed = (sdk: Sdk, open: Open) =>
  Layer.effect(
    Relayed,
    Effect.gen(function* () {
      const heard = yield* Queue.unbounded<Notification>()
      const asked = yield* Queue.unbounded<any>()
      const withdrawn = yield* Queue.unbounded<unknown>()
      const client = clientOf(sdk, async (request, context) => {
        Queue.offerUnsafe(asked, request.params)
        return sample(request, context, withdrawn)
      })
      client.fallbackNotificationHandler = async (one) => void Queue.offerUnsafe(heard, one)
      const transport = yield* open
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport)),
        () => Effect.promise(() => client.close())
      )
      return { client, heard, asked, withdrawn }
    })
  )
