/**
 * The process's streams used through callbacks: the same conversations as through a `Stdio`, and the same ways to end.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as ProcessStreams from "../../src/stdio/ProcessStreams.ts"
import * as NodeSink from "@effect/platform-node/NodeSink"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Cause, Effect, Exit, Fiber, Schema, Scope, Stream } from "effect"
import * as Transport from "@effect-mcp/core/Transport"
import { TransportError } from "@effect-mcp/core/Transport"
import { AsyncLocalStorage } from "node:async_hooks"
import { PassThrough, Writable } from "node:stream"
import { quiesce } from "../support/raw.ts"

const features = Tools.layer(
  Tool.make("count", { description: "", input: { to: Schema.Int, text: Schema.String } }),
  Effect.fnUntraced(function* ({ to, text }) {
    for (let i = 1; i <= to; i++) yield* Progress.report(i, { total: to })
    return text
  })
)

/** Standard output that accepts each write when told to, or at once. */
const output = (options: { readonly highWaterMark?: number; readonly held?: boolean } = {}) => {
  const writes: Array<string> = []
  const held: Array<(error?: Error) => void> = []
  const stream = new Writable({
    ...options,
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push(chunk.toString())
      if (options.held === true) held.push(done)
      else done()
    }
  })
  return { stream, writes, let1: (error?: Error) => held.shift()?.(error) }
}

const generic = (stdin: PassThrough, stdout: Writable): Duplex.Bytes => ({
  incoming: NodeStream.fromReadable({
    evaluate: () => stdin,
    onError: (cause) => new TransportError({ reason: "Read", message: "stdin is broken", cause }),
    closeOnDone: false
  }),
  write: (outgoing) =>
    Stream.run(
      Stream.encodeText(outgoing),
      NodeSink.fromWritable({
        evaluate: () => stdout,
        onError: (cause) => new TransportError({ reason: "Write", message: "stdout is closed", cause }),
        endOnDone: false
      })
    )
})

const serve = Effect.fnUntraced(function* (
  bytes: (stdin: PassThrough, stdout: Writable) => Duplex.Bytes,
  out = output(),
  options?: Duplex.Options,
  change: (transport: Transport.Transport) => Transport.Transport = (transport) => transport
) {
  const stdin = new PassThrough()
  const server = yield* McpServer.McpServer
  const scope = yield* Scope.make()
  const transport = yield* Scope.provide(Duplex.make(bytes(stdin, out.stream), options), scope)
  const session = yield* Scope.provide(server.connect(change(transport), { grace: "1 second" }), scope)
  yield* quiesce
  const closed = yield* Effect.forkChild(session.peer.awaitClosed, { startImmediately: true })
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  return { ...out, closed, scope, session, stdin }
})
const provided = Effect.provide(McpServer.layer({ name: "test", version: "0", features }))
/** Node's streams progress by ticks, not by fibers. */
const ticks = Effect.promise(() => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve))))

const reasonOf = (exit: Exit.Exit<unknown, any>): unknown =>
  Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error.reason : undefined

const handshake = [
  {
    jsonrpc: "2.0",
    id: "init",
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } }
  },
  { jsonrpc: "2.0", method: "notifications/initialized" }
]
const call = (id: unknown, args: object) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "count", arguments: args, _meta: { progressToken: id } }
})
const line = (message: unknown) => `${JSON.stringify(message)}\n`

const Message = Schema.Union([
  Schema.Struct({ to: Schema.Literals([0, 1, 3]), text: Schema.String }),
  Schema.Struct({ to: Schema.String }),
  Schema.Literals(["{", "[]", "null", " "])
])
const Conversation = Schema.Struct({
  messages: Schema.Array(Message),
  /** Positions where the bytes are split. */
  cuts: Schema.Array(Schema.Int)
})

describe("Process streams", () => {
  it.effect("Process streams also work with a tapped or replaced transport", () =>
    Effect.gen(function* () {
      const talk = Effect.fnUntraced(function* (
        bytes: (stdin: PassThrough, stdout: Writable) => Duplex.Bytes,
        { cuts, messages }: typeof Conversation.Type,
        change?: (transport: Transport.Transport) => Transport.Transport
      ) {
        const { closed, scope, stdin, writes } = yield* serve(bytes, undefined, undefined, change)
        const text = messages.map((message, id) =>
          typeof message === "string" ? `${message}\n` : line(call(id, message))
        )
        const all = Buffer.from([...handshake.map(line), ...text].join(""))
        const places = cuts.map((cut) => Math.abs(cut) % all.length).toSorted((a, b) => a - b)
        let from = 0
        for (const to of [...places, all.length]) {
          stdin.write(all.subarray(from, to))
          from = to
          yield* ticks
        }
        stdin.end()
        yield* ticks
        yield* Fiber.join(closed)
        // An answer arrives a moment after its notifications.
        yield* Scope.close(scope, Exit.void)
        return writes.join("").split("\n")
      }, Effect.scoped)
      yield* Arbitrary.checkEffect(
        Arbitrary.schema(Conversation),
        (conversation) =>
          Effect.gen(function* () {
            const plain = yield* talk(generic, conversation)
            assert.deepStrictEqual(yield* talk(ProcessStreams.bytes, conversation), plain)
            assert.isAbove(plain.length, 1)
            const [delivered, pulled]: [Array<string>, Array<string>] = [[], []]
            const tapped = yield* talk(
              ProcessStreams.bytes,
              conversation,
              Transport.tap(({ _tag }) => void delivered.push(_tag))
            )
            const replaced = yield* talk(ProcessStreams.bytes, conversation, (transport) => ({
              ...transport,
              incoming: Stream.tap(transport.incoming, ({ _tag }) => Effect.sync(() => void pulled.push(_tag)))
            }))
            assert.deepStrictEqual([tapped, replaced], [plain, plain])
            assert.deepStrictEqual(pulled, delivered)
            assert.isAbove(pulled.length, 1)
            return true
          }),
        { runs: 30 }
      )
    }).pipe(provided)
  )

  it.effect("Long text is written like short text, in any alphabet", () =>
    Effect.gen(function* () {
      const long = "x".repeat(20_000)
      for (const text of [long, `${long}é`, `é${long}`, `${long}😀${long}`, "é".repeat(20_000), "😀€".repeat(20_000)]) {
        const said: Array<string> = []
        for (const bytes of [ProcessStreams.bytes, generic]) {
          const { stdin, writes } = yield* serve(bytes)
          // Both in one turn, so that one write contains two lines.
          stdin.write([...handshake, call(1, { to: 0, text }), call(2, { to: 0, text: "short" })].map(line).join(""))
          while (writes.join("").split("\n").length < 4) yield* ticks
          said.push(writes.join(""))
        }
        assert.strictEqual(said[0], said[1])
        assert.strictEqual(JSON.parse(said[0]!.split("\n")[1]!).result.content[0].text, text)
      }
    }).pipe(provided)
  )

  it.effect("Long lines are written whole, however slow stdout is", () =>
    Effect.gen(function* () {
      const { let1, session, stdin, writes } = yield* serve(ProcessStreams.bytes, output({ held: true }))
      const texts = ["a", "b"].map((letter) => letter.repeat(20_000))
      stdin.write([...handshake, ...texts.map((text, id) => call(id, { to: 0, text }))].map(line).join(""))
      yield* ticks
      session.peer.notify("last")
      let count = -1
      while (count !== writes.length) {
        count = writes.length
        let1()
        yield* ticks
      }
      assert.deepStrictEqual(
        writes
          .join("")
          .split("\n")
          .map((one: string) =>
            one === "" ? one : (JSON.parse(one).result?.content?.[0].text ?? JSON.parse(one).method)
          ),
        [undefined, ...texts, "last", ""]
      )
    }).pipe(provided)
  )

  for (const [name, bytes] of [
    ["by callbacks", ProcessStreams.bytes],
    ["through a stream and a sink", generic]
  ] as const) {
    it.effect(`Writing ${name} waits in order while stdout is full, up to a limit`, () =>
      Effect.gen(function* () {
        const { let1, scope, session, stdin, writes } = yield* serve(bytes, output({ held: true, highWaterMark: 1 }), {
          highWater: 1000
        })
        stdin.write([...handshake, call(1, { to: 200, text: "end" })].map(line).join(""))
        yield* ticks
        assert.strictEqual(writes.length, 1)
        assert.isFalse(session.peer.sink.writable())
        let count = 0
        while (count !== writes.length) {
          count = writes.length
          let1()
          yield* ticks
          yield* quiesce
          yield* ticks
        }
        const sent = writes
          .join("")
          .trimEnd()
          .split("\n")
          .map((one: string): any => JSON.parse(one))
        assert.deepStrictEqual(
          sent.map((message: any) => message.params?.progress ?? message.id),
          ["init", ...Array.from({ length: 200 }, (_, i) => i + 1), 1]
        )
        assert.isAbove(writes.length, 10)
        yield* Scope.close(scope, Exit.void)
      }).pipe(provided)
    )

    it.effect(`A stdout error while writing ${name} ends the connection with that error`, () =>
      Effect.gen(function* () {
        for (const closed of [false, true]) {
          const server = yield* serve(bytes, output({ held: true }))
          if (closed) server.stream.destroy()
          server.stdin.write(line(handshake[0]))
          yield* ticks
          if (!closed) server.let1(new Error("EPIPE"))
          yield* ticks
          const exit = yield* Fiber.await(server.closed)
          assert.strictEqual(reasonOf(exit), "Write")
          yield* Scope.close(server.scope, Exit.void)
          assert.strictEqual(server.stdin.listenerCount("data") + server.stdin.listenerCount("readable"), 0)
        }
      }).pipe(provided)
    )

    it.effect(`An error or sudden end of stdin when reading ${name} ends the connection with an error`, () =>
      Effect.gen(function* () {
        for (const cause of [new Error("EIO"), undefined]) {
          const server = yield* serve(bytes)
          server.stdin.destroy(cause)
          yield* ticks
          const exit = yield* Fiber.await(server.closed)
          assert.strictEqual(reasonOf(exit), "Read")
        }
      }).pipe(provided)
    )

    it.effect(`Queued messages written ${name} are flushed before the scope closes`, () =>
      Effect.gen(function* () {
        const { let1, scope, session, stdin, stream, writes } = yield* serve(
          bytes,
          output({ held: true, highWaterMark: 1 })
        )
        session.peer.notify("a")
        yield* ticks
        session.peer.notify("b")
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* ticks
        let1()
        yield* ticks
        yield* quiesce
        let1()
        yield* ticks
        yield* Fiber.join(closing)
        assert.deepStrictEqual(
          writes.map((text: string) => JSON.parse(text).method),
          ["a", "b"]
        )
        for (const event of ["data", "readable"]) assert.strictEqual(stdin.listenerCount(event), 0)
        for (const event of ["drain", "error"]) assert.strictEqual(stream.listenerCount(event), 0)
      }).pipe(provided)
    )
  }

  it.effect("Process streams can be read even if an earlier reader paused or decoded them", () =>
    Effect.gen(function* () {
      for (const before of [
        (stdin: PassThrough) => stdin.pause(),
        (stdin: PassThrough) => stdin.setEncoding("utf8"),
        // The state in which an earlier reader leaves the stream.
        (stdin: PassThrough) =>
          stdin
            .on("data", () => {})
            .removeAllListeners("data")
            .pause()
      ]) {
        const { session, stdin, writes } = yield* serve((stdin, stdout) => {
          before(stdin)
          return ProcessStreams.bytes(stdin, stdout)
        })
        stdin.write([...handshake, call(1, { to: 0, text: "é" })].map(line).join(""))
        yield* ticks
        assert.include(writes.join(""), '"text":"é"')
        assert.strictEqual(session.peer.outstanding(), 0)
      }
    }).pipe(provided)
  )

  it.effect("Already destroyed process streams end the connection immediately", () =>
    Effect.gen(function* () {
      const { closed } = yield* serve((stdin, stdout) => {
        stdin.destroy()
        return ProcessStreams.bytes(stdin, stdout)
      })
      yield* ticks
      assert.strictEqual(reasonOf(closed.pollUnsafe() ?? Exit.void), "Read")
    }).pipe(provided)
  )

  it.effect("Process streams are released when stdout has flushed or failed", () =>
    Effect.gen(function* () {
      for (const error of [undefined, new Error("EPIPE")]) {
        const { let1, scope, session, stream } = yield* serve(ProcessStreams.bytes, output({ held: true }))
        session.peer.notify("a")
        yield* ticks
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        yield* ticks
        assert.isUndefined(closing.pollUnsafe())
        assert.strictEqual(stream.listenerCount("error"), 1)
        // Without a listener this would be an uncaught exception.
        let1(error)
        yield* ticks
        yield* Fiber.join(closing)
        assert.strictEqual(stream.listenerCount("error"), 0)
      }
    }).pipe(provided)
  )

  it.effect("Handlers run in the program's AsyncLocalStorage context", () =>
    Effect.gen(function* () {
      const storage = new AsyncLocalStorage<string>()
      const where = Tools.layer(Tool.make("where", { description: "", input: {} }), () =>
        Effect.sync(() => String(storage.getStore()))
      )
      const out = output()
      const stdin = new PassThrough()
      const program = Effect.scoped(
        Effect.gen(function* () {
          const server = yield* McpServer.McpServer
          const session = yield* server.connect(yield* Duplex.make(ProcessStreams.bytes(stdin, out.stream)), {
            grace: "1 second"
          })
          yield* session.peer.awaitClosed
        })
      ).pipe(Effect.provide(McpServer.layer({ name: "test", version: "0", features: where })))
      const ended = storage.run("program", () => Effect.runPromise(program))
      yield* ticks
      storage.run("stdin", () => {
        const where = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "where", arguments: {} } }
        stdin.write([...handshake, where].map(line).join(""))
      })
      yield* ticks
      stdin.end()
      yield* Effect.promise(() => ended)
      assert.include(out.writes.join(""), '"text":"program"')
    })
  )
})
