/** The relay between processes: strangers are rejected, and failures tell whether a request may have run. */
import type { RelayedRequest, RelayedResponse, RelayEndpoint, RelayError } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { connect, createServer, type Socket } from "node:net"
import { AnsweringLine } from "../../src/relay/AnsweringLine.ts"
import { AskingLine } from "../../src/relay/AskingLine.ts"
import { FrameReader, FrameWriter, kinds } from "../../src/relay/Frames.ts"
import { greet, welcome } from "../../src/relay/handshake.ts"
import { encodeRequest } from "../../src/relay/RequestHead.ts"
import { make } from "../../src/relay/TcpRelay.ts"

const request: RelayedRequest = {
  server: "test",
  session: "s\u00e9",
  method: "POST",
  url: "/mcp?a=1",
  headers: { accept: "text/event-stream", "x-odd": "\u00fc" },
  body: new TextEncoder().encode('{"jsonrpc":"2.0"}'),
  principal: { subject: "ada", scopes: ["a"], claims: { iss: "https://issuer.test" } },
  address: "10.0.0.1"
}

const host = "127.0.0.1"

/** A relay whose node has a name. */
const node = Effect.fnUntraced(function* (secret = "secret") {
  const { address, relay } = yield* make({ host }, secret)
  const name = `id ${address}`
  relay.named(name)
  return { address, name, relay }
})

const pair = Effect.all({ a: node(), b: node() })

const endpoint = (answer: RelayEndpoint["answer"]): RelayEndpoint => ({ server: "test", answer })
const serving = (response: Partial<RelayedResponse>, seen: Array<RelayedRequest> = []) =>
  endpoint((request) =>
    Effect.sync((): RelayedResponse => {
      seen.push(request)
      return { status: 200, headers: {}, body: new Uint8Array(), ...response }
    })
  )

const bytesOf = ({ body }: RelayedResponse) =>
  typeof body === "string" || body instanceof Uint8Array ? Effect.succeed(Buffer.from(body)) : Stream.mkUint8Array(body)
const textOf = (response: RelayedResponse) => Effect.map(bytesOf(response), (bytes) => new TextDecoder().decode(bytes))
const reasonOf = (sent: ReturnType<RelayEndpoint["answer"]>) => Effect.map(Effect.flip(sent), ({ reason }) => reason)

describe("Relay between processes", () => {
  it.live("A relay carries whole requests and streams their responses", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const seen: Array<RelayedRequest> = []
      const parts = ["one", "two"].map((text) => new TextEncoder().encode(text))
      yield* b.relay.serve(
        serving({ status: 418, headers: { "mcp-session-id": "s" }, body: Stream.fromIterable(parts) }, seen)
      )
      const response = yield* a.relay.send(b.name, request)
      assert.deepStrictEqual([response.status, response.headers], [418, { "mcp-session-id": "s" }])
      assert.strictEqual(yield* textOf(response), "onetwo")
      const received = seen[0]!
      assert.deepStrictEqual({ ...received, body: new Uint8Array(received.body ?? []) }, request)
      yield* a.relay.send(b.name, { ...request, body: undefined, principal: undefined, address: undefined })
      assert.deepInclude(seen[1], { body: undefined, principal: undefined, address: undefined })
    })
  )

  it.live("A relay knows which nodes have announced that they are leaving", () =>
    Effect.gen(function* () {
      const a = yield* node()
      const scope = yield* Scope.make()
      const b = yield* Scope.provide(node(), scope)
      yield* b.relay.serve(serving({}))
      yield* a.relay.send(b.name, request)
      assert.isFalse(a.relay.hasLeft(b.name))
      yield* Scope.close(scope, Exit.void)
      // The connection has ended, so everything sent on it has arrived.
      assert.strictEqual(yield* reasonOf(a.relay.send(b.name, request)), "NotSent")
      assert.isTrue(a.relay.hasLeft(b.name))
    })
  )

  it.live("A relay carries bodies longer than a frame, each with its own response", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      yield* b.relay.serve(
        endpoint(({ body = new Uint8Array() }) => Effect.succeed({ status: 200, headers: {}, body }))
      )
      const sizes = [1, 4096, 4097, 65_536, 65_537, 3_000_000]
      const answered = yield* Effect.forEach(
        sizes,
        (size) => Effect.flatMap(a.relay.send(b.name, { ...request, body: Buffer.alloc(size, size % 251) }), bytesOf),
        { concurrency: "unbounded" }
      )
      for (const [at, size] of sizes.entries()) {
        assert.isTrue(Buffer.alloc(size, size % 251).equals(answered[at]!), `${size} bytes`)
      }
    })
  )

  it.live("A relay makes a writer wait for its reader without delaying other requests", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const part = new Uint8Array(64 * 1024)
      let written = 0
      const endless = Stream.forever(
        Stream.fromEffect(
          Effect.sync(() => {
            written += part.length
            return part
          })
        )
      )
      yield* b.relay.serve(
        endpoint(({ url }) =>
          Effect.succeed({ status: 200, headers: {}, body: url === "/endless" ? endless : new Uint8Array(1) })
        )
      )
      const { body } = yield* a.relay.send(b.name, { ...request, url: "/endless" })
      for (let other = 0; other < 100; other++) yield* a.relay.send(b.name, request)
      assert.isAtMost(written, 320 * 1024)
      assert(Stream.isStream(body))
      const read = yield* Stream.runCollect(Stream.take(body, 100))
      assert.strictEqual(
        read.reduce((sum, { length }) => sum + length, 0),
        100 * part.length
      )
    })
  )

  it.live("A relay closes its request if the caller disconnects", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const [asked, left] = [yield* Queue.unbounded<string>(), yield* Queue.unbounded<string>()]
      yield* b.relay.serve(
        endpoint(({ url }) =>
          Effect.gen(function* () {
            yield* Effect.addFinalizer(() => Queue.offer(left, url))
            yield* Queue.offer(asked, url)
            if (url === "/before") return yield* Effect.never
            return { status: 200, headers: {}, body: Stream.never }
          })
        )
      )
      const before = yield* Effect.forkChild(Effect.scoped(a.relay.send(b.name, { ...request, url: "/before" })))
      assert.strictEqual(yield* Queue.take(asked), "/before")
      yield* Fiber.interrupt(before)
      assert.strictEqual(yield* Queue.take(left), "/before")
      yield* Effect.scoped(a.relay.send(b.name, { ...request, url: "/during" }))
      assert.strictEqual(yield* Queue.take(left), "/during")
      assert.deepStrictEqual([...a.relay.asked()], [])
    })
  )

  it.live("A relay ignores connections with a different secret or preamble and sends them no request", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const seen: Array<RelayedRequest> = []
      yield* b.relay.serve(serving({}, seen))
      const stranger = yield* node("guessed")
      assert.strictEqual(yield* reasonOf(stranger.relay.send(b.name, request)), "NotSent")
      // Nor does a node send its requests to a stranger.
      yield* stranger.relay.serve(serving({}, seen))
      assert.strictEqual(yield* reasonOf(a.relay.send(stranger.name, request)), "NotSent")
      assert.deepStrictEqual(seen, [])
      const [, port = ""] = b.address.split(":")
      const said = yield* Effect.callback<number>((resume) => {
        let bytes = 0
        const socket = connect({ host, port: Number(port) }, () => socket.write("POST / HTTP/1.1\r\n".padEnd(100, "-")))
        socket.on("data", ({ length }) => (bytes += length)).on("close", () => resume(Effect.succeed(bytes)))
      })
      assert.strictEqual(said, 0)
    })
  )

  it.live("A relay reports a request that no server has seen as unsent", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const send = (name: string) => reasonOf(a.relay.send(name, request))
      assert.strictEqual(yield* send("id 127.0.0.1:1"), "NotSent")
      assert.strictEqual(yield* send(b.name), "NotSent")
      const seen: Array<RelayedRequest> = []
      yield* b.relay.serve(serving({}, seen))
      // The name of an earlier lease: another node may hold its sessions now.
      assert.strictEqual(yield* send(`before ${b.address}`), "NotSent")
      assert.deepStrictEqual(seen, [])
    })
  )

  it.live("A relay ends a response with an error if its server aborts it", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const broken = Stream.concat(Stream.succeed(new Uint8Array(1)), Stream.die(new Error("secret")))
      yield* b.relay.serve(serving({ body: broken }))
      const response = yield* a.relay.send(b.name, request)
      assert.strictEqual((yield* Effect.flip(bytesOf(response))).reason, "Cut")
    })
  )

  it.live("A relay ends only the requests to a node whose lease has expired", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const asked = yield* Queue.unbounded<void>()
      const go = yield* Deferred.make<void>()
      yield* b.relay.serve(
        endpoint(() =>
          Effect.andThen(
            Queue.offer(asked, undefined),
            Effect.as(Deferred.await(go), { status: 200, headers: {}, body: new Uint8Array() })
          )
        )
      )
      const first = yield* Effect.forkChild(reasonOf(a.relay.send(b.name, request)))
      yield* Queue.take(asked)
      const next = `next ${b.address}`
      b.relay.named(next)
      const second = yield* Effect.forkChild(a.relay.send(next, request))
      yield* Queue.take(asked)
      assert.deepStrictEqual(new Set(a.relay.asked()), new Set([b.name, next]))
      a.relay.cut(b.name)
      assert.strictEqual(yield* Fiber.join(first), "Cut")
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(second)).status, 200)
    })
  )

  it.live("A relay reports a request as unsent if the lease expires while connecting", () =>
    Effect.gen(function* () {
      const { relay } = yield* node()
      const connected = Deferred.makeUnsafe<void>()
      const port = yield* accepting(() => Deferred.doneUnsafe(connected, Effect.void))
      const name = `id ${host}:${port}`
      const sent = yield* Effect.forkChild(reasonOf(relay.send(name, request)))
      yield* Deferred.await(connected)
      relay.cut(name)
      assert.strictEqual(yield* Fiber.join(sent), "NotSent")
    })
  )

  it.live("A relay carries claims that JSON cannot represent", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const seen: Array<RelayedRequest> = []
      yield* b.relay.serve(serving({}, seen))
      const sent = (claims: object) =>
        a.relay.send(b.name, { ...request, principal: { subject: "ada", scopes: [], claims: { ...claims } } })
      const claims = { id: 1n, at: new Date(5), groups: new Map([["a", 1]]), none: undefined }
      yield* sent(claims)
      assert.deepStrictEqual(seen[0]?.principal?.claims, claims)
      assert.strictEqual(yield* reasonOf(sent({ act: () => {} })), "NotSent")
      assert.lengthOf(seen, 1)
    })
  )

  it.live("A relay on a port in use fails with a typed error that names the port", () =>
    Effect.gen(function* () {
      const { b } = yield* pair
      const port = Number(b.address.split(":").at(-1))
      const error = yield* Effect.flip(make({ host, port }, "secret"))
      assert.strictEqual(error._tag, "NodesUnavailable")
      assert.include(error.message, String(port))
    })
  )

  it.live("A relay uses another connection after a disconnect", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const asked = yield* Queue.unbounded<void>()
      yield* b.relay.serve(
        endpoint(({ url }) =>
          Effect.andThen(
            Queue.offer(asked, undefined),
            url === "/hangs" ? Effect.never : Effect.succeed({ status: 200, headers: {}, body: "" })
          )
        )
      )
      const hung = yield* Effect.forkChild(reasonOf(a.relay.send(b.name, { ...request, url: "/hangs" })))
      yield* Queue.take(asked)
      a.relay.cut(b.name)
      assert.strictEqual((yield* a.relay.send(b.name, request)).status, 200)
      assert.strictEqual(yield* Fiber.join(hung), "Cut")
    })
  )

  it.live("A relay ends a request whose server throws and answers the next one", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      yield* b.relay.serve(
        endpoint(({ url }) => {
          if (url === "/throws") throw new Error("A defect")
          return Effect.succeed({ status: 200, headers: {}, body: "" })
        })
      )
      assert.strictEqual(yield* reasonOf(a.relay.send(b.name, { ...request, url: "/throws" })), "Cut")
      assert.strictEqual((yield* a.relay.send(b.name, request)).status, 200)
    })
  )
})

/** A node that proves nothing by itself. */
const accepting = (use: (socket: Socket) => void) =>
  Effect.callback<number>((resume) => {
    const server = createServer((socket) => {
      socket.on("error", () => {})
      use(socket)
    })
    server.unref().listen(0, host, () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** A node that proves that it knows the secret. */
const listening = (use: (socket: Socket) => void) =>
  accepting((socket) => void Effect.runFork(Effect.map(welcome(socket, "secret"), () => use(socket))))

/** A relay with the given handler. */
const odd = (requested: (id: number, writer: FrameWriter) => void) =>
  listening((socket) => {
    const writer = new FrameWriter(socket)
    const reader = new FrameReader((kind, id) => void (kind === kinds.request && requested(id, writer)))
    socket.on("data", (chunk) => void reader.push(chunk))
  })

describe("Leaving relays", () => {
  it.live("A leaving relay reports a request right after the handshake as not started", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { address, name } = yield* Scope.provide(node(), scope)
      const socket = connect(Number(address.split(":").at(-1)), host)
      const said = yield* Queue.unbounded<string>()
      yield* greet(socket, "secret")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      const reader = new FrameReader((kind, id, text) => {
        if (kind === kinds.notHere) Queue.offerUnsafe(said, `request ${id}`)
        if (kind === kinds.leaving && text === "0") Queue.offerUnsafe(said, "request 1")
      })
      socket.on("data", (chunk) => void reader.push(chunk))
      socket.on("close", () => Queue.offerUnsafe(said, "nothing")).on("error", () => {})
      new FrameWriter(socket).write(kinds.request, 1, yield* encodeRequest(name, request))
      assert.strictEqual(yield* Queue.take(said), "request 1")
      socket.destroy()
      yield* Fiber.join(closing)
    })
  )

  it.live("A leaving relay answers the requests it has read", () =>
    Effect.gen(function* () {
      const port = yield* odd((id, writer) => {
        if (id !== 2) return
        writer.write(kinds.leaving, 0, "1")
        writer.write(kinds.response, 1, JSON.stringify([200, {}, "text"]), "read")
      })
      const { relay } = yield* node()
      const sent = relay.send(`id ${host}:${port}`, request)
      const both = yield* Effect.all([Effect.exit(sent), Effect.exit(reasonOf(sent))], { concurrency: 2 })
      assert.deepStrictEqual(both[0], Exit.succeed({ status: 200, headers: {}, body: "read" }))
      assert.deepStrictEqual(both[1], Exit.succeed("NotSent"))
    })
  )
})

describe("Connections to another node", () => {
  it.live("A connection closes if the other node sends anything but a response", () =>
    Effect.gen(function* () {
      const { relay } = yield* node()
      for (const said of ["", "{", "null", "{}", "[]"]) {
        const port = yield* odd((id, writer) => writer.write(kinds.response, id, said))
        assert.strictEqual(yield* reasonOf(relay.send(`id ${host}:${port}`, request)), "Cut")
      }
    })
  )

  const asking = (port: number, probe: number) =>
    Effect.acquireRelease(
      Effect.sync(
        () =>
          new AskingLine(
            { host, port },
            { secret: "secret", probe, opened: () => {}, left: () => {}, closed: () => {} }
          )
      ),
      (line) => Effect.sync(() => line.close())
    )
  const answerOf = (line: AskingLine, head: string) =>
    Effect.callback<RelayedResponse, RelayError>((resume) => void line.ask("id", head, undefined, resume))

  it.live("A connection closes if the other node is silent while a request waits", () =>
    Effect.gen(function* () {
      const line = yield* asking(yield* odd(() => {}), 20)
      assert.strictEqual((yield* Effect.flip(answerOf(line, "head"))).reason, "Cut")
    })
  )

  it.live("A connection stays open while the other node works for a long time", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const port = yield* listening((socket) => {
        void new AnsweringLine(socket, {
          answer: () => Effect.as(Deferred.await(go), { status: 200, headers: {}, body: "late" }),
          runFork: Effect.runFork,
          own: () => {}
        })
        let chunks = 0
        socket.on("data", () => ++chunks === 6 && Deferred.doneUnsafe(go, Effect.void))
      })
      const head = yield* encodeRequest("id", request)
      assert.strictEqual((yield* answerOf(yield* asking(port, 20), head)).body, "late")
    })
  )
})
