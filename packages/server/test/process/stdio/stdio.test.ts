/* oxlint-disable typescript/unbound-method -- the streams of the process are patched on purpose */
/** Stdio: framing, what may and may not reach stdout, and how it ends. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import type { Layer } from "effect"
import { Cause, Deferred, Effect, Exit, Fiber, Latch, PlatformError, Queue, Schema, Sink, Stdio, Stream } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { quiesce } from "../../support/raw.ts"

const Echo = Tool.make("echo", { description: "", input: { text: Schema.String } })
const echo = Tools.layer(Echo, ({ text }) => Effect.succeed(text))
const handshake = [
  {
    jsonrpc: "2.0",
    id: "init",
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } }
  },
  { jsonrpc: "2.0", method: "notifications/initialized" }
]
const call = (id: unknown, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args }
})
const line = (message: unknown) => `${JSON.stringify(message)}\n`

/** A server on in-memory streams, with a feed for stdin and the text that it wrote to stdout. */
const start = Effect.fnUntraced(function* (
  features: Layer.Layer<never, never, McpServer.Registries>,
  options: Parameters<typeof McpServer.serveStdio>[0] = {},
  stdoutSink?: Sink.Sink<void, string | Uint8Array, never, PlatformError.PlatformError>
) {
  const input = yield* Queue.unbounded<Uint8Array, PlatformError.PlatformError | Cause.Done>()
  const output: Array<Uint8Array | string> = []
  const decoder = new TextDecoder("utf-8", { fatal: true })
  const stdio = Stdio.layerTest({
    stdin: Stream.fromQueue(input),
    stdout: () => stdoutSink ?? Sink.forEach((chunk: string | Uint8Array) => Effect.sync(() => void output.push(chunk)))
  })
  const fiber = yield* McpServer.serveStdio(options).pipe(
    Effect.provide([McpServer.layer({ name: "test", version: "0", features }), stdio]),
    Effect.forkChild({ startImmediately: true })
  )
  yield* quiesce
  const text = () =>
    output.map((chunk) => (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }))).join("")
  return {
    fiber,
    text,
    sent: (): ReadonlyArray<any> =>
      text()
        .split("\n")
        .slice(0, -1)
        .map((one) => JSON.parse(one)),
    feed: (...chunks: ReadonlyArray<string | Uint8Array>) =>
      Effect.gen(function* () {
        for (const chunk of chunks) {
          yield* Queue.offer(input, typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk)
        }
        yield* quiesce
      }),
    end: Effect.andThen(Queue.end(input), quiesce),
    fail: (error: PlatformError.PlatformError) => Effect.andThen(Queue.fail(input, error), quiesce)
  }
})

describe("Framing", () => {
  it.effect(
    "Each line is one UTF-8 message, regardless of string contents and chunking",
    () =>
      Effect.gen(function* () {
        const server = yield* start(echo)
        const text = 'a\nb\r\nc\u2028d\u2029é🙂"\\\u0000'
        const bytes = new TextEncoder().encode([...handshake, call(1, "echo", { text })].map(line).join(""))
        yield* server.feed(...Array.from(bytes, (byte) => new Uint8Array([byte])))
        assert.strictEqual(server.text().match(/\n/g)?.length, 2)
        assert.isTrue(server.text().endsWith("\n"))
        assert.strictEqual(server.sent()[1].result.content[0].text, text)
        yield* server.feed(
          `${line(call(2, "echo", { text: "two" })).trimEnd()}\r\n\r\n\n  \n${line(call(3, "echo", { text: "three" }))}`
        )
        assert.deepStrictEqual(
          server
            .sent()
            .slice(2)
            .map((message) => message.id),
          [2, 3]
        )
      }),
    verifies("stdio.framing.newline", "transport.encoding.utf-8", "json-rpc.message.conformant")
  )

  it.effect("Invalid lines are answered with an error, and later lines are read", () =>
    Effect.gen(function* () {
      const server = yield* start(echo)
      yield* server.feed(...handshake.map(line))
      yield* server.feed(
        "{nonsense\n",
        "null\n",
        "[]\n",
        new Uint8Array([0xff, 0xfe, 10]),
        line({ jsonrpc: "2.0", id: 9, method: 5 }),
        line(call(1, "echo", { text: "still here" }))
      )
      const sent = server.sent().slice(1)
      assert.deepStrictEqual(
        sent.map((message) => message.error?.code),
        [-32700, -32600, -32600, -32700, -32600, undefined]
      )
      assert.deepStrictEqual(
        sent.map((message) => message.id),
        [undefined, undefined, undefined, undefined, 9, 1]
      )
    })
  )

  it.effect("A line over the size limit fails only its own request", () =>
    Effect.gen(function* () {
      const server = yield* start(echo, { maxMessageBytes: 500 })
      yield* server.feed(...handshake.map(line))
      const long = line(call("long", "echo", { text: "x".repeat(100_000) }))
      yield* server.feed(long.slice(0, 50_000), long.slice(50_000), line(call(2, "echo", { text: "short" })))
      const [error, next] = server.sent().slice(1)
      assert.deepInclude(error, { id: "long" })
      assert.strictEqual(error.error.code, -32600)
      assert.strictEqual(next.result.content[0].text, "short")
    })
  )
})

describe("Stdout", () => {
  it.effect(
    "Stdout carries only messages, and stray output goes to stderr",
    () =>
      Effect.gen(function* () {
        const original = process.stdout.write
        const originalErr = process.stderr.write
        const out: Array<string> = []
        const err: Array<string> = []
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            process.stdout.write = ((chunk: any) => out.push(String(chunk)) > 0) as any
            process.stderr.write = ((chunk: any) => err.push(String(chunk)) > 0) as any
          }),
          () =>
            Effect.sync(() => {
              process.stdout.write = original
              process.stderr.write = originalErr
            })
        )
        const patched = process.stdout.write
        const server = yield* start(
          Tools.layer(Tool.make("stray", { description: "" }), () =>
            Effect.sync(() => {
              process.stdout.write("stray")
              process.stdout.write(new Uint8Array([115]))
              return "ok"
            })
          )
        )
        yield* server.feed(...handshake.map(line), line(call(1, "stray")))
        assert.strictEqual(server.sent()[1].result.content[0].text, "ok")
        assert.deepStrictEqual(out, [])
        assert.deepStrictEqual(err, ["stray", "115"])
        yield* server.end
        yield* Fiber.join(server.fiber)
        assert.strictEqual(process.stdout.write, patched)
        process.stdout.write("free")
        assert.deepStrictEqual(out, ["free"])
      }),
    verifies("stdio.stdout.only-messages")
  )

  it.effect("A broken stdout ends the server with an error", () =>
    Effect.gen(function* () {
      const broken = PlatformError.systemError({ _tag: "BadResource", module: "Stdio", method: "write" })
      const server = yield* start(echo, {}, Sink.fail(broken))
      yield* server.feed(...handshake.map(line))
      const exit = yield* Fiber.await(server.fiber)
      assert.isTrue(Exit.isFailure(exit))
      const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
      assert.deepInclude(error, { _tag: "TransportError", reason: "Write" })
    })
  )
})

describe("End of stdin", () => {
  const slow = Effect.gen(function* () {
    const started = yield* Latch.make()
    const go = yield* Deferred.make<string>()
    const interrupted: Array<string> = []
    const features = Tools.layer(Tool.make("slow", { description: "" }), () =>
      Effect.onInterrupt(Effect.andThen(started.open, Deferred.await(go)), () =>
        Effect.sync(() => interrupted.push("slow"))
      )
    )
    return { features, go, interrupted, started }
  })

  it.effect(
    "Closing stdin ends the server after a grace period for in-flight requests",
    () =>
      Effect.gen(function* () {
        const { features, go, interrupted, started } = yield* slow
        const server = yield* start(features)
        yield* server.feed(...handshake.map(line), line(call(1, "slow")))
        yield* started.await
        yield* server.end
        assert.isUndefined(server.fiber.pollUnsafe())
        yield* Deferred.succeed(go, "finished")
        yield* Fiber.join(server.fiber)
        assert.strictEqual(server.sent()[1].result.content[0].text, "finished")
        assert.deepStrictEqual(interrupted, [])
      }),
    verifies("lifecycle.shutdown.stdio-close-stdin")
  )

  it.effect("Closing stdin answers and interrupts requests that outlast the grace period", () =>
    Effect.gen(function* () {
      const { features, interrupted, started } = yield* slow
      const server = yield* start(features, { grace: "3 seconds" })
      yield* server.feed(...handshake.map(line), line(call(1, "slow")))
      yield* started.await
      yield* server.end
      yield* TestClock.adjust("2999 millis")
      assert.isUndefined(server.fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(server.fiber)
      assert.deepStrictEqual(interrupted, ["slow"])
      assert.strictEqual(server.sent()[1].error.code, McpError.Interrupted)
    })
  )

  it.effect("A stdin failure ends the server with an error", () =>
    Effect.gen(function* () {
      const server = yield* start(echo)
      yield* server.fail(PlatformError.systemError({ _tag: "BadResource", module: "Stdio", method: "read" }))
      assert.isTrue(Exit.isFailure(yield* Fiber.await(server.fiber)))
    })
  )

  it.effect("Closing stdin before any message ends the server without an error", () =>
    Effect.gen(function* () {
      const server = yield* start(echo)
      yield* server.end
      yield* Fiber.join(server.fiber)
      assert.strictEqual(server.text(), "")
    })
  )
})

/** A real process, its messages, and its text on stderr. */
const run = (args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [
        fileURLToPath(new URL("../../stdio/fixtures/stdio.ts", import.meta.url)),
        ...args
      ])
      const waiting: Array<() => void> = []
      let stdout = ""
      child.stdout.setEncoding("utf8").on("data", (chunk) => {
        stdout += chunk
        for (const wake of waiting.splice(0)) wake()
      })
      let stderr = ""
      child.stderr.on("data", (chunk) => {
        stderr += chunk
        for (const wake of waiting.splice(0)) wake()
      })
      const until = (holds: () => boolean) =>
        Effect.promise(async () => {
          while (!holds()) await new Promise<void>((wake) => waiting.push(wake))
        })
      return {
        child,
        exited: Effect.promise(() => once(child, "exit") as Promise<[number | null, string | null]>),
        // Not with readline, which also splits at U+2028.
        lines: () => stdout.split("\n").slice(0, -1),
        send: (...messages: ReadonlyArray<unknown>) =>
          Effect.sync(() => void child.stdin.write(messages.map(line).join(""))),
        stderr: () => stderr,
        until
      }
    }),
    ({ child }) => Effect.sync(() => void child.kill("SIGKILL"))
  )

describe.each([
  ["on its own streams", []],
  ["on a Stdio service", ["--service"]]
] as const)("A server process, %s,", (_name, args) => {
  it.live(
    "Stray output and logs stay off stdout, and the process ends with stdin",
    () =>
      Effect.gen(function* () {
        const server = yield* run(args)
        yield* server.send(...handshake, call(1, "stray"))
        yield* server.until(() => server.lines().some((one) => one.includes('"id":1')))
        const messages = server.lines().map((one) => JSON.parse(one))
        assert.deepStrictEqual(
          messages.map((message) => message.method ?? message.id),
          ["init", "notifications/message", 1]
        )
        assert.strictEqual(messages[2].result.content[0].text, "é\n\u2028 done")
        const exited = yield* Effect.forkChild(server.exited, { startImmediately: true })
        server.child.stdin.end()
        assert.deepStrictEqual(yield* Fiber.join(exited), [0, null])
        for (const stray of ["stray line", "stray bytes", "stray buffer", "stray console", "a warning", "served"]) {
          assert.include(server.stderr(), stray)
        }
      }),
    verifies("stdio.stdout.only-messages")
  )

  it.live("The process exits with an error when the client closes its stdout", () =>
    Effect.gen(function* () {
      const server = yield* run(args)
      yield* server.send(...handshake, call(1, "stray"))
      yield* server.until(() => server.lines().length === 3)
      const exited = yield* Effect.forkChild(server.exited, { startImmediately: true })
      server.child.stdout.destroy()
      // The system may still buffer the first write after the pipe breaks.
      yield* server.send(call(2, "stray"), call(3, "stray"))
      yield* server.until(() => server.stderr().includes("served"))
      yield* server.send(call(4, "stray"))
      assert.deepStrictEqual(yield* Fiber.join(exited), [1, null])
    })
  )

  it.live("On SIGTERM, the process answers in-flight requests and runs its finalizers", () =>
    Effect.gen(function* () {
      const server = yield* run(args)
      yield* server.send(...handshake, call(1, "hang"))
      yield* server.until(() => server.stderr().includes("hanging"))
      const exited = yield* Effect.forkChild(server.exited, { startImmediately: true })
      server.child.kill("SIGTERM")
      yield* Fiber.join(exited)
      yield* server.until(() => server.lines().length === 2)
      assert.strictEqual(JSON.parse(server.lines()[1]!).error.code, McpError.Interrupted)
      assert.include(server.stderr(), "finalized")
      assert.include(server.stderr(), "served")
    })
  )
})
