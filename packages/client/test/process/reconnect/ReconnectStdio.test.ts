/** A server process that crashes is restarted when it is needed. */
import * as Socket from "@effect-mcp/client/Socket"
import type * as Stdio from "@effect-mcp/client/Stdio"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Peer from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import { NodeServices, NodeSocket } from "@effect/platform-node"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Queue, Scope, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { initializeResult } from "../../support/scripted.ts"
import { fixture, isAlive, server } from "../../support/processes.ts"

const pidOf = (client: McpClient.McpClient["Service"]) =>
  Effect.map(client.callToolByName("pid"), ({ content: [first] }) => Number((first as { readonly text: string }).text))

describe.each([
  ["2025-11-25", []],
  ["2026-07-28", ["modern"]]
] as const)("%s server processes", (version, flags) => {
  const options = { ...server(...flags), revisions: [version] }
  const withClient = <A, E>(
    use: (client: McpClient.McpClient["Service"]) => Effect.Effect<A, E, Scope.Scope>,
    more: McpClient.Options & Partial<Stdio.Options> = {}
  ) =>
    Effect.scoped(Effect.flatMap(McpClient.McpClient, use)).pipe(
      Effect.provide(Layer.provide(McpClient.layerStdio({ ...options, ...more }), NodeServices.layer))
    )

  it.live(
    "A crashed server process is restarted once for the next request",
    () =>
      Effect.gen(function* () {
        const pids = yield* withClient((client) =>
          Effect.gen(function* () {
            const first = yield* pidOf(client)
            const waiting = yield* Effect.forkChild(Effect.flip(client.callToolByName("hang")), {
              startImmediately: true
            })
            const error = yield* Effect.flip(client.callToolByName("crash"))
            assert.deepInclude(error, { _tag: "Closed" })
            assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
            const next = yield* Effect.forEach(Array.from({ length: 10 }), () => pidOf(client), {
              concurrency: "unbounded"
            })
            assert.strictEqual(new Set(next).size, 1)
            return [first, ...next]
          })
        )
        assert.notStrictEqual(pids[0], pids[1])
        assert.isFalse(pids.some(isAlive))
      }),
    verifies("stdio.client.restarts")
  )

  it.live("A watched server process that crashes is restarted and watched again", () =>
    withClient((client) =>
      Effect.gen(function* () {
        const events = yield* Queue.unbounded<McpClient.WatchEvent>()
        yield* Effect.forkScoped(Stream.runForEach(client.watchResource("a:b"), (event) => Queue.offer(events, event)))
        const first = yield* pidOf(client)
        assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
        yield* Effect.flip(client.callToolByName("crash"))
        assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
        assert.notStrictEqual(yield* pidOf(client), first)
        yield* client.callToolByName("touch", { text: "a:b" })
        assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Updated", uri: "a:b" })
      })
    )
  )

  it.live("A server process that cannot be restarted fails waiting requests with the tail of its stderr", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      yield* withClient(
        (client) =>
          Effect.gen(function* () {
            yield* Effect.flip(client.callToolByName("crash"))
            const error = yield* Effect.flip(client.callToolByName("pid"))
            assert.deepInclude(error, { _tag: "Closed", unsent: true })
            if (error._tag !== "Closed") return
            assert.deepInclude(error.cause, { reason: "Exited", exitCode: 5, stderr: "not again" })
            assert.strictEqual((yield* Effect.flip(client.awaitClosed)).exitCode, 5)
          }),
        {
          args: [fixture("server.ts"), ...flags, `once=${join(folder, "mark")}`],
          reconnect: { attempts: 2, delay: "1 millis" }
        }
      )
    })
  )
})

/** A server behind a socket that answers every request of a session, and hangs up when told to. */
const listening = Effect.gen(function* () {
  const scope = yield* Scope.Scope
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const sockets = new Set<net.Socket>()
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
          Effect.succeed(request.method === "initialize" ? initializeResult({}) : { content: [] }),
        notification: () => {}
      })
    }).pipe(Scope.provide(scope))
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
    socket.on("error", () => {})
    run(serve(socket))
  })
  const listen = (port: number) =>
    Effect.promise(() => new Promise<void>((done) => server.listen({ host: "127.0.0.1", port }, done)))
  const stop = Effect.promise(() => {
    const closed = new Promise<void>((done) => server.close(() => done()))
    for (const socket of sockets) socket.destroy()
    return closed
  })
  yield* Effect.acquireRelease(listen(0), () => stop)
  const { port } = server.address() as net.AddressInfo
  return { port, stop, start: listen(port) }
})

it.live("A client reconnects to a restarted socket server", () =>
  Effect.gen(function* () {
    const server = yield* listening
    const socket = yield* NodeSocket.makeNet({ host: "127.0.0.1", port: server.port })
    const client = yield* McpClient.open(Socket.open(socket), {
      revisions: ["2025-11-25"],
      reconnect: { attempts: 20 }
    })
    yield* client.callToolByName("a")
    yield* server.stop
    const call = yield* Effect.forkChild(Effect.exit(client.ping), { startImmediately: true })
    yield* server.start
    // The connection was refused until the server listened again.
    assert.isTrue(Exit.isSuccess(yield* Fiber.join(call)))
  })
)
