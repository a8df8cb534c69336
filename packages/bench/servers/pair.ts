/** Servers without and with metrics in one process, by turns, each on a listener of its own: what is compared shares its compiled code. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as C from "../peers/contract.mjs"
import { contract, rateLimit } from "./features.ts"
import { metrics } from "./observed.ts"

const announce = Effect.flatMap(HttpServer.HttpServer, ({ address }) =>
  Effect.sync(() => {
    if (address._tag !== "UnixPathAddress") C.ready(address.port)
  })
)
const serve = (isObserved: boolean) => {
  const plain = McpServer.layer({ ...C.info, rateLimit, features: contract(C.fillers) })
  const routes = McpServer.layerHttp({ path: "/mcp", sessions: { perAddress: 10_000 } })
  const node = () => Object.assign(createServer(), { keepAliveTimeout: 0 })
  return Layer.fresh(
    McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(isObserved ? Layer.provide(plain, metrics) : plain),
      Layer.provideMerge(NodeHttpServer.layer(node, { port: 0, host: "127.0.0.1" }))
    )
  )
}

// One after the other: the ports are said in this order.
const all = Effect.forEach([false, true, false, true], (isObserved) =>
  Effect.flatMap(Layer.build(serve(isObserved)), (context) => Effect.provide(announce, context))
)
NodeRuntime.runMain(Effect.scoped(Effect.andThen(all, Effect.never)))
