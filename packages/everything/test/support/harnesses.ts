/** Wires to the reference server that are more than memory: a process of its own, and a Unix socket. */
import { NodeServices, NodeSocket, NodeSocketServer } from "@effect/platform-node"
import { McpClient, Stdio } from "@effect-mcp/client"
import { McpServer } from "@effect-mcp/server"
import * as Socket from "@effect-mcp/server/endpoint/Socket"
import type { Harness } from "@effect-mcp/testing"
import { Effect, Layer } from "effect"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serverFile } from "./official.ts"

/** Starts the reference server itself, whatever the features. */
export const stdio: Harness.Harness = {
  name: "stdio",
  connect: (_features, { version }, options) =>
    Effect.flatMap(Layer.build(NodeServices.layer), (services) =>
      Effect.provideContext(
        McpClient.open(
          Stdio.open({ command: process.execPath, args: [serverFile, "--stdio", "--revision", version] }),
          { revisions: [version], ...options?.client }
        ),
        services
      )
    )
}

let sockets = 0

export const socket: Harness.Harness = {
  name: "a Unix socket",
  connect: (features, { version }, options) =>
    Effect.gen(function* () {
      const path = join(tmpdir(), `effect-mcp-${process.pid}-${++sockets}.sock`)
      const server = McpServer.layer({ name: "test", version: "0.0.0", ...options?.server, features })
      const built = yield* Layer.build(Layer.mergeAll(server, Layer.orDie(NodeSocketServer.layer({ path }))))
      yield* Effect.forkScoped(Effect.provideContext(Socket.serve(), built))
      const connector = Effect.flatMap(NodeSocket.makeNet({ path }), (one) => Socket.transport(one))
      return yield* McpClient.open(connector, { revisions: [version], ...options?.client })
    })
}
