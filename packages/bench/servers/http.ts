/** Through Effect's own HttpRouter, as any Effect app would mount it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as C from "../peers/contract.mjs"
import { server, ambient } from "./features.ts"

const announce = Layer.effectDiscard(
  Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
    Effect.sync(() => {
      if (address._tag !== "UnixPathAddress") C.ready(address.port)
    })
  )
)

// Node closes idle connections after 5 seconds, which is none of what is measured.
const node = () => Object.assign(createServer(), { keepAliveTimeout: 0 })

announce.pipe(
  Layer.provideMerge(
    McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp", sessions: { perAddress: 10_000 } }), {
      disableLogger: true,
      disableListenLog: true
    })
  ),
  Layer.provide(server),
  Layer.provide(ambient),
  Layer.provide(NodeHttpServer.layer(node, { port: 0, host: "127.0.0.1" })),
  Layer.launch,
  NodeRuntime.runMain
)
