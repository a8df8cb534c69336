/**
 * A protected server as a program: `node server.ts ISSUER [PORT]` serves the
 * notes of the issuer's users, and says where.
 */
import { Auth, JwtVerifier } from "@effect-mcp/auth"
import { McpServer } from "@effect-mcp/server"
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { features, Notes } from "./notes.ts"

const [issuer = "http://127.0.0.1:9400", port = "9401"] = process.argv.slice(2)

/**
 * Its public URL is the address that it listens on. A server behind a proxy is
 * configured with its public URL instead.
 */
const serve = Effect.gen(function* () {
  const { address } = yield* HttpServer.HttpServer
  const resource = `${HttpServer.formatAddress(address)}/mcp`
  const auth = Auth.layer({
    resource,
    authorizationServers: [issuer],
    scopes: ["notes:read"],
    name: "Notes"
  })
  return McpServer.serveHttp(
    Auth.protect(McpServer.layerHttp({ path: "/mcp" })),
    {
      disableListenLog: true,
      disableLogger: true
    }
  ).pipe(
    Layer.provide(
      McpServer.layer({ name: "notes", version: "1.0.0", features })
    ),
    Layer.provide([
      Notes.layerMemory,
      auth.pipe(Layer.provide(JwtVerifier.layer()))
    ]),
    Layer.merge(Layer.effectDiscard(Console.log(resource)))
  )
})

Layer.unwrap(serve).pipe(
  Layer.provide([
    NodeHttpServer.layer(createServer, {
      port: Number(port),
      host: "127.0.0.1",
      gracefulShutdownTimeout: "1 second"
    }),
    FetchHttpClient.layer
  ]),
  Layer.launch,
  NodeRuntime.runMain
)
