/** Hands out keys: `KEYS=alice:KEY,bob:KEY node server.ts [PORT]`. */
import { Auth } from "@effect-mcp/auth"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { createServer } from "node:http"

const Whoami = Tool.make("whoami", { description: "Says who calls" })
const features = Tools.layer(Whoami, () =>
  Effect.map(Auth.caller, ({ subject }) => subject)
)

const tokens = (process.env.KEYS ?? "").split(",").map((entry) => {
  const [subject = "", key = ""] = entry.split(":")
  return { subject, token: Redacted.make(key), scopes: ["use"] }
})

// A client sends `Authorization: Bearer KEY`, or `x-api-key: KEY`.
const auth = Auth.layerTokens({
  tokens,
  headers: ["authorization", "x-api-key"],
  scopes: ["use"]
})

McpServer.serveHttp(Auth.protect(McpServer.layerHttp({ path: "/mcp" }))).pipe(
  Layer.provide(
    NodeHttpServer.layer(createServer, {
      port: Number(process.argv[2] ?? 3000),
      host: "127.0.0.1"
    })
  ),
  Layer.provide(
    McpServer.layer({ name: "whoami", version: "1.0.0", features })
  ),
  Layer.provide(auth),
  Layer.launch,
  NodeRuntime.runMain
)
