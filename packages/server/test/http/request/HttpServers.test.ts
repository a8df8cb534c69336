/** How a server stops listening without losing requests that are already on their way. */
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { once } from "node:events"
import { createServer } from "node:http"
import { connect } from "node:net"
import { keepsUnused } from "../../../../spec/src/setup.ts"
import { HttpServers, type NodeServer } from "../../../src/http/request/HttpServers.ts"
import { listen } from "../support/http.ts"

/** A server that accepts a connection in each of the first `turns` turns of a shutdown. */
const busyFor = (turns: number) => {
  const listeners = new Map<string, () => void>()
  const state = { listening: true, turns: 0 }
  const server: NodeServer = {
    get listening() {
      return state.listening
    },
    on: (event, listener) => listeners.set(event, listener),
    off: (event) => listeners.delete(event),
    closeIdleConnections: () => {
      // Called at the beginning of a turn.
      if (state.turns++ < turns) setImmediate(() => listeners.get("connection")?.())
    },
    close: () => {
      state.listening = false
    }
  }
  return { server, state, ended: () => listeners.get("close")?.() }
}

describe("HTTP servers that stop listening", () => {
  it.live("A server stops listening after an event loop turn without new connections", () =>
    Effect.gen(function* () {
      const { ended, server, state } = busyFor(3)
      const servers = new HttpServers()
      servers.add(server)
      assert.isTrue(yield* servers.stop)
      assert.isFalse(state.listening)
      assert.isAtLeast(state.turns, 4)
      const closed = yield* Effect.forkChild(servers.closed, { startImmediately: true })
      assert.isUndefined(closed.pollUnsafe())
      // Another endpoint of the same server does not report it as closed.
      assert.isTrue(yield* servers.stop)
      assert.isUndefined(closed.pollUnsafe())
      ended()
      yield* Fiber.join(closed)
    })
  )

  it.live("Stopping an unknown server reports that it still listens", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* new HttpServers().stop)
    })
  )

  it.live("An open connection is still served after the server stopped listening", () =>
    Effect.gen(function* () {
      const server = McpServer.layer({ name: "test", version: "1", features: Layer.empty })
      const { close, listener } = McpServer.toNodeListener(server, { sessions: false })
      const http = Object.assign(createServer(listener), { [keepsUnused]: true })
      const port = yield* listen(http)
      const socket = connect(port, "127.0.0.1")
      yield* Effect.promise(() => once(http, "connection"))
      const closed = close(http)
      while (http.listening) yield* Effect.promise(() => new Promise(setImmediate))
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
      const headers = `host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
      const accept = "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25"
      socket.write(`POST /mcp HTTP/1.1\r\n${headers}\r\n${accept}\r\n\r\n${body}`)
      let said = ""
      socket.on("data", (bytes) => (said += String(bytes)))
      yield* Effect.promise(() => once(socket, "end"))
      assert.match(said, /^HTTP\/1.1 200 OK/)
      assert.match(said, /connection: close/i)
      socket.destroy()
      yield* Effect.promise(() => closed)
    })
  )
})
