/** Servers of tests: a listener on a free port, and clients in memory. */
import { NodeHttpServer } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Memory } from "@effect-mcp/core"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"

export const listener = Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))

/** The port of a built listener. */
export const portOf = (context: Context.Context<HttpServer.HttpServer>): number => {
  const { address } = Context.get(context, HttpServer.HttpServer)
  return address._tag === "UnixPathAddress" ? 0 : address.port
}

/** A client in memory of a built server. */
export const clientOf = (context: Context.Context<McpServer.McpServer>, revision: Revision.Version, name = "test") =>
  Effect.gen(function* () {
    const [near, far] = yield* Memory.pair()
    yield* Context.get(context, McpServer.McpServer).connect(far, { kind: "memory" })
    return yield* McpClient.open(Effect.succeed(near), { revisions: [revision], clientInfo: { name, version: "1" } })
  })

/** Sends a message to a server over HTTP. */
export const send = (port: number, message: object, headers: Readonly<Record<string, string>> = {}) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message })
    })
  )

/** The handshake of 2025-11-25 over HTTP. */
export const initialize = (port: number) =>
  send(port, {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } }
  })
