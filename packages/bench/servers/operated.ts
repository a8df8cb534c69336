/** A server whose calls hang, with an admin endpoint beside it. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Admin from "@effect-mcp/operate/Admin"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import * as C from "../peers/contract.mjs"

const Hold = Tool.make(C.hold.name, { description: C.hold.description })

const announce = Layer.effectDiscard(
  Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
    Effect.sync(() => {
      if (address._tag !== "UnixPathAddress") C.ready(address.port)
    })
  )
)
const routes = Layer.merge(
  McpServer.layerHttp({ path: "/mcp", sessions: { perAddress: 10_000 } }),
  Admin.layer({ token: Redacted.make(process.argv[2] ?? "") })
)

announce.pipe(
  Layer.provideMerge(McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true })),
  Layer.provide(McpServer.layer({ ...C.info, features: Tools.layer(Hold, () => Effect.never) })),
  Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.launch,
  NodeRuntime.runMain
)
