import * as Socket from "@effect-mcp/client/Socket"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Peer from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import { verifies } from "@effect-mcp/spec/verifies"
import { NodeSocket } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { initializeResult } from "../support/scripted.ts"

/** Serves one hand-written server per connection, and reports how many are open. */
const listening = (where: net.ListenOptions) =>
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const open = new Set<net.Socket>()
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const serve = (socket: net.Socket) =>
      Effect.gen(function* () {
        const transport = yield* Duplex.make({
          incoming: Stream.fromAsyncIterable(
            socket,
            () => new TransportError({ reason: "Read", message: "broken" })
          ) as Stream.Stream<Uint8Array, TransportError>,
          write: (outgoing) => Stream.runForEach(outgoing, (text) => Effect.sync(() => void socket.write(text)))
        })
        yield* Peer.make(transport, {
          request: ({ request }) =>
            request.method === "initialize"
              ? Effect.succeed(initializeResult({}))
              : request.method === "tools/call"
                ? request.params?.name === "hangUp"
                  ? Effect.sync(() => void socket.destroy())
                  : Effect.never
                : Effect.succeed({}),
          notification: () => {}
        })
      }).pipe(Scope.provide(scope))
    const server = net.createServer((socket) => {
      open.add(socket)
      socket.on("close", () => open.delete(socket))
      socket.on("error", () => {})
      run(serve(socket))
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((done) => server.listen(where, done))),
      () => Effect.sync(() => void server.close())
    )
    return { address: server.address(), open }
  })

const unixPath = () => path.join(os.tmpdir(), `effect-mcp-${process.pid}-${Math.random().toString(36).slice(2)}.sock`)
const endpoints: ReadonlyArray<readonly [string, () => net.ListenOptions]> = [
  ["TCP", () => ({ host: "127.0.0.1", port: 0 })],
  ["a Unix socket", () => ({ path: unixPath() })]
]
const target = (address: net.AddressInfo | string | null): net.NetConnectOpts =>
  typeof address === "string" ? { path: address } : { host: "127.0.0.1", port: address?.port ?? 0 }

describe.each(endpoints)("Servers behind %s", (_, where) => {
  it.live(
    "A client connects to a socket server and disconnects at the end",
    () =>
      Effect.gen(function* () {
        const server = yield* listening(where())
        const layer = McpClient.layerSocket().pipe(Layer.provide(NodeSocket.layerNet(target(server.address))))
        yield* Effect.gen(function* () {
          const client = yield* McpClient.McpClient
          assert.strictEqual(client.serverInfo.name, "scripted")
          yield* client.ping
          assert.strictEqual(server.open.size, 1)
        }).pipe(Effect.provide(layer))
        const [socket] = server.open
        if (socket !== undefined) yield* Effect.promise(() => new Promise((done) => socket.once("close", done)))
        assert.strictEqual(server.open.size, 0)
      }),
    verifies("transport.custom.preserves-protocol", "stdio.framing.reused")
  )

  it.live("A server that hangs up fails pending requests", () =>
    Effect.gen(function* () {
      const server = yield* listening(where())
      const socket = yield* NodeSocket.makeNet(target(server.address))
      const client = yield* McpClient.open(Socket.open(socket), { reconnect: false })
      const waiting = yield* Effect.forkChild(Effect.flip(client.callToolByName("wait")), { startImmediately: true })
      const error = yield* Effect.flip(client.callToolByName("hangUp"))
      assert.strictEqual(error._tag, "Closed")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
      assert.isTrue(Exit.isExit(yield* Effect.exit(client.awaitClosed)))
    })
  )

  it.live("A server that is not listening is a typed error", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(listening(where()), ({ address }) => address))
      const socket = yield* NodeSocket.makeNet(target(gone))
      const error = yield* Effect.flip(McpClient.open(Socket.open(socket)))
      assert.strictEqual(error._tag, "TransportError")
      if (error._tag === "TransportError") assert.strictEqual(error.reason, "Open")
    })
  )
})
