/**
 * One of several nodes, on `node:http`: `nodes.js postgres|redis PLACE`. What is kept at a place (a
 * schema, or how keys begin) is removed by `nodes.js postgres|redis PLACE remove`.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Nodes from "@effect-mcp/nodes/Nodes"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { createClient } from "redis"
import * as C from "../peers/contract.mjs"
import { contract, rateLimit } from "./features.ts"
import * as Postgres from "./postgres.ts"

const [kind = "postgres", place = "bench_nodes", what = "serve"] = process.argv.slice(2)

const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379"
const local = { host: "127.0.0.1", lease: "5 seconds" } as const
const nodes =
  kind === "redis"
    ? Nodes.layerRedis({ ...local, url: redisUrl, prefix: `${place}:` })
    : Layer.provide(Nodes.layerPostgres(local), Postgres.layerMade(place))

const Ask = Tool.make("ask", { description: "Asks its user" })
const asks = Tools.layer(Ask, () => Effect.as(Elicitation.confirm("Sure?"), "done"))
const server = McpServer.layer({ ...C.info, rateLimit, features: Layer.merge(contract(C.fillers.slice(1)), asks) })

const serve = (): void => {
  const { listener } = McpServer.toNodeListener(Layer.provide(server, Layer.orDie(nodes)), {
    path: "/mcp",
    sessions: { perAddress: 10_000 }
  })
  const http = Object.assign(createServer(listener), { keepAliveTimeout: 0 })
  http.listen(0, "127.0.0.1", () => {
    const address = http.address()
    if (typeof address === "object" && address !== null) C.ready(address.port)
  })
}

const remove = async (): Promise<void> => {
  if (kind === "postgres") return Effect.runPromise(Postgres.drop(place))
  const redis = await createClient({ url: redisUrl }).connect()
  for await (const keys of redis.scanIterator({ MATCH: `${place}:*` })) if (keys.length > 0) await redis.del(keys)
  redis.destroy()
}

if (what === "remove") await remove()
else serve()
