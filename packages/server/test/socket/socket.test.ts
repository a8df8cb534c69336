/**
 * Sockets: the framing of stdio, with one session per connection. A connection that breaks does not affect the others.
 */
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { NodeSocketServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Queue, Schema } from "effect"
import { SocketServer } from "effect/socket"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { versions } from "../support/raw.ts"

const finalized: Array<string> = []
const features = Layer.mergeAll(
  Tools.layer(Tool.make("echo", { description: "", input: { text: Schema.String } }), ({ text }) =>
    Effect.as(Progress.report(1), text)
  ),
  Tools.layer(Tool.make("soon", { description: "" }), () => Effect.delay(Effect.succeed("soon"), 50)),
  Tools.layer(Tool.make("hang", { description: "", input: { name: Schema.String } }), ({ name }) =>
    Effect.onInterrupt(Effect.never, () => Effect.sync(() => finalized.push(name)))
  )
)

/** A raw connection. */
const dial = (where: net.NetConnectOpts, version = "2025-06-18") =>
  Effect.gen(function* () {
    const messages = yield* Queue.unbounded<any>()
    const socket = yield* Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<net.Socket>((resolve, reject) => {
            const one = net.connect(where, () => resolve(one)).on("error", reject)
          })
      ),
      (one) => Effect.sync(() => one.destroy())
    )
    let rest = ""
    socket.on("data", (chunk) => {
      const lines = (rest + chunk.toString()).split("\n")
      rest = lines.pop()!
      for (const line of lines) Queue.offerUnsafe(messages, JSON.parse(line))
    })
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()))
    const send = (message: unknown) => Effect.sync(() => void socket.write(`${JSON.stringify(message)}\n`))
    const request = (id: unknown, method: string, params?: object) =>
      Effect.andThen(send({ jsonrpc: "2.0", id, method, params }), Queue.take(messages))
    yield* request(0, "initialize", {
      protocolVersion: version,
      capabilities: {},
      clientInfo: { name: "x", version: "0" }
    })
    yield* send({ jsonrpc: "2.0", method: "notifications/initialized" })
    return { closed: Effect.promise(() => closed), messages, request, send, socket }
  })
const until = (holds: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(holds, (done) => (done ? Effect.void : Effect.andThen(Effect.sleep(2), until(holds))))
const call = (name: string, args: object, more: object = {}) => ({ name, arguments: args, ...more })

const endpoints: ReadonlyArray<readonly [string, () => net.ListenOptions]> = [
  ["TCP on loopback", () => ({ host: "127.0.0.1", port: 0 })],
  [
    "a Unix socket",
    () => ({ path: path.join(os.tmpdir(), `effect-mcp-${process.pid}-${finalized.length}-${Math.random()}.sock`) })
  ]
]

for (const [name, where] of endpoints) {
  /** A listener, the server behind it, and its address. */
  const listeningWith = Effect.fnUntraced(function* (lineBytes?: number) {
    const options = where()
    const context = yield* Layer.build(
      Layer.merge(
        NodeSocketServer.layer({ ...options, allowHalfOpen: true }),
        McpServer.layer({ name: "test", version: "0", features })
      )
    )
    const { address } = Context.get(context, SocketServer.SocketServer)
    const serving = yield* Effect.forkScoped(
      Effect.provideContext(McpServer.serveSocket({ grace: "1 second", lineBytes }), context)
    )
    const target =
      options.path === undefined ? { host: "127.0.0.1", port: (address as any).port } : { path: options.path }
    return { server: Context.get(context, McpServer.McpServer), serving, target }
  })
  const listening = listeningWith()

  describe(`over ${name}`, () => {
    it.live(`The longest unfinished line beyond \`lineBytes\` closes its connection over ${name}`, () =>
      Effect.gen(function* () {
        const { target } = yield* listeningWith(64 * 1024)
        const [heavy, light] = [yield* dial(target), yield* dial(target)]
        const begin = (id: number, size: number) =>
          `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{"x":"${"x".repeat(size)}`
        light.socket.write(begin(1, 20 * 1024))
        heavy.socket.write(begin(1, 60 * 1024))
        yield* heavy.closed
        // Lines that have ended count no more.
        light.socket.write('"}}\n')
        assert.strictEqual((yield* Queue.take(light.messages)).id, 1)
        for (const id of [2, 3, 4]) {
          light.socket.write(`${begin(id, 40 * 1024)}"}}\n`)
          assert.strictEqual((yield* Queue.take(light.messages)).id, id)
        }
      })
    )

    it.live(
      `A server over ${name} serves ${versions().join(", ")} clients concurrently, each in its own session`,
      () =>
        Effect.gen(function* () {
          const { server, target } = yield* listening
          const clients = yield* Effect.all(
            [...versions(), ...versions()].map((version) => dial(target, version)),
            { concurrency: "unbounded" }
          )
          assert.strictEqual((yield* server.sessions).length, 8)
          assert.strictEqual(new Set((yield* server.sessions).map(({ id }) => id)).size, 8)
          yield* Effect.forEach(
            clients,
            (client, index) =>
              Effect.gen(function* () {
                const text = `é\n${index}`.repeat(10_000)
                const progress = yield* client.request(
                  1,
                  "tools/call",
                  call("echo", { text }, { _meta: { progressToken: index } })
                )
                assert.deepStrictEqual(progress.params, { progressToken: index, progress: 1 })
                assert.strictEqual((yield* Queue.take(client.messages)).result.content[0].text, text)
              }),
            { concurrency: "unbounded" }
          )
        }),
      verifies("transport.custom.preserves-protocol")
    )

    it.live(`A broken connection or invalid lines over ${name} end only that session`, () =>
      Effect.gen(function* () {
        finalized.length = 0
        const { server, target } = yield* listening
        const [one, two, three] = [yield* dial(target), yield* dial(target), yield* dial(target)]
        for (const [client, who] of [
          [one, "one"],
          [two, "two"],
          [three, "three"]
        ] as const) {
          yield* client.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call("hang", { name: who }) })
          yield* client.request(2, "ping")
        }
        if (name.startsWith("TCP")) one.socket.resetAndDestroy()
        else one.socket.destroy()
        two.socket.end()
        yield* until(Effect.map(server.sessions, (sessions) => sessions.length === 1))
        assert.deepStrictEqual(finalized.toSorted(), ["one", "two"])
        three.socket.write("nonsense\n")
        assert.strictEqual((yield* Queue.take(three.messages)).error.code, -32700)
        assert.deepStrictEqual((yield* three.request(3, "ping")).result, {})
        const late = yield* dial(target)
        assert.deepStrictEqual((yield* late.request(1, "ping")).result, {})
      })
    )

    it.live(`A client over ${name} that half-closes still receives its answers`, () =>
      Effect.gen(function* () {
        const { target } = yield* listening
        const one = yield* dial({ ...target, allowHalfOpen: true })
        yield* one.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call("soon", {}) })
        one.socket.end()
        assert.strictEqual((yield* Queue.take(one.messages)).result.content[0].text, "soon")
        yield* one.closed
      })
    )

    it.live(`An interrupted listener over ${name} answers in-flight requests and closes every connection`, () =>
      Effect.gen(function* () {
        const { server, serving, target } = yield* listening
        const [one, two] = [yield* dial(target), yield* dial(target)]
        yield* one.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call("hang", { name: "x" }) })
        yield* one.request(2, "ping")
        yield* Fiber.interrupt(serving)
        assert.strictEqual((yield* Queue.take(one.messages)).error.code, McpError.Interrupted)
        yield* one.closed
        yield* two.closed
        assert.deepStrictEqual(yield* server.sessions, [])
      })
    )
  })
}
