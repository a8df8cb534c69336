import * as Stdio from "@effect-mcp/client/Stdio"
import * as McpClient from "@effect-mcp/client/McpClient"
import { verifies } from "@effect-mcp/spec/verifies"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { elapsed, fixture, isAlive, server, start, withProcesses } from "../../support/processes.ts"

const textOf = (result: { readonly content: ReadonlyArray<object> }): string => {
  const [first] = result.content
  return (first as { readonly text: string }).text
}

describe("Child process servers", () => {
  it.live.each([
    ["2024-11-05", []],
    ["2025-03-26", []],
    ["2025-06-18", []],
    ["2025-11-25", []],
    ["2026-07-28", ["modern"]]
  ] as const)(
    "A %s child process serves its client and is gone afterwards",
    ([version, flags]) =>
      withProcesses(
        Effect.gen(function* () {
          const pid = yield* Effect.scoped(
            Effect.gen(function* () {
              const { client, wire } = yield* start({ ...server(...flags), revisions: [version] })
              assert.strictEqual(client.revision.version, version)
              assert.strictEqual(client.serverInfo.name, "fixture")
              assert.deepStrictEqual((yield* client.callToolByName("add", { a: 1, b: 2 })).structuredContent, {
                sum: 3
              })
              const text = "line\nbreak\u2028and 🙂"
              assert.strictEqual(textOf(yield* client.callToolByName("echo", { text })), text)
              assert.strictEqual(textOf(yield* client.callToolByName("pid")), `${wire.pid}`)
              return wire.pid
            })
          )
          assert.isFalse(isAlive(pid))
        })
      ),
    verifies("stdio.client.supported", "stdio.stdin.only-messages")
  )

  it.live("A stdio client is a layer", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      assert.deepStrictEqual((yield* client.callToolByName("add", { a: 1, b: 2 })).structuredContent, { sum: 3 })
    }).pipe(Effect.provide(McpClient.layerStdio(server()).pipe(Layer.provide(NodeServices.layer))))
  )

  it.live("A child process can be any command", () =>
    withProcesses(
      Effect.gen(function* () {
        const command = ChildProcess.make(process.execPath, [fixture("server.ts")], { env: { MARK: "1" } })
        const { client } = yield* start({ command })
        assert.strictEqual(JSON.parse(textOf(yield* client.callToolByName("env"))).MARK, "1")
      })
    )
  )

  it.live(
    "A child process inherits no secrets, only the variables passed to it",
    () =>
      withProcesses(
        Effect.gen(function* () {
          process.env.EFFECT_MCP_TEST_SECRET = "secret"
          const { client } = yield* start({ ...server(), env: { GIVEN: "yes", TERM: "mine" } })
          const env = JSON.parse(textOf(yield* client.callToolByName("env"))) as Record<string, string>
          delete process.env.EFFECT_MCP_TEST_SECRET
          assert.isUndefined(env.EFFECT_MCP_TEST_SECRET)
          assert.strictEqual(env.GIVEN, "yes")
          assert.strictEqual(env.TERM, "mine")
          assert.strictEqual(env.PATH, process.env.PATH)
          const allowed = new Set([...Stdio.inheritedVariables, "GIVEN"])
          // macOS adds a variable to every process.
          const others = Object.keys(env).filter((name) => !allowed.has(name) && name !== "__CF_USER_TEXT_ENCODING")
          assert.deepStrictEqual(others, [])
        })
      ),
    verifies("authorization.stdio.environment")
  )

  it.live("A command that fails to start is a typed error", () =>
    withProcesses(
      Effect.gen(function* () {
        const error = yield* Effect.flip(Stdio.open({ command: "/no/such/program" }))
        assert.strictEqual(error.reason, "Open")
        assert.include(error.message, "/no/such/program")
      })
    )
  )

  it.live("Unexpected output of a child process is reported and ignored", () =>
    withProcesses(
      Effect.gen(function* () {
        const dropped: Array<string> = []
        const { client } = yield* start({ ...server("noise"), dropped: (reason) => dropped.push(reason) })
        assert.deepStrictEqual((yield* client.callToolByName("add", { a: 1, b: 2 })).structuredContent, { sum: 3 })
        assert.strictEqual(textOf(yield* client.callToolByName("answers")), "0")
        assert.deepStrictEqual(dropped, ["Not a JSON-RPC message: Listening on nothing"])
      })
    )
  )

  it.live(
    "A child process's stderr is kept and not treated as an error",
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { client, wire } = yield* start(server())
          const lines = yield* Queue.unbounded<string>()
          yield* Effect.forkChild(
            Stream.runForEach(wire.stderr, (line) => Queue.offer(lines, line)),
            { startImmediately: true }
          )
          yield* client.callToolByName("complain")
          assert.strictEqual(yield* Queue.take(lines), "this is fine")
          yield* client.ping
        })
      ),
    verifies("stdio.stderr.not-an-error")
  )
})

describe("Servers that crash", () => {
  it.live("A crashed server fails all pending requests with its exit code and stderr tail", () =>
    withProcesses(
      Effect.gen(function* () {
        const { client } = yield* start(server())
        const waiting = yield* Effect.forkChild(Effect.flip(client.callToolByName("hang")), {
          startImmediately: true
        })
        const crash = yield* elapsed(Effect.flip(client.callToolByName("crash")))
        const error = crash.value
        assert.strictEqual(error._tag, "Closed")
        if (error._tag !== "Closed") return
        assert.strictEqual(error.cause?.reason, "Exited")
        assert.strictEqual(error.cause?.exitCode, 7)
        assert.strictEqual(error.cause?.stderr, "ready\nabout to crash")
        assert.include(error.message, "about to crash")
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
        assert.strictEqual((yield* Effect.flip(client.awaitClosed)).exitCode, 7)
        assert.strictEqual((yield* Effect.flip(client.ping))._tag, "Closed")
      })
    )
  )

  it.live("A server that crashes before it is initialized fails the connection", () =>
    withProcesses(
      Effect.gen(function* () {
        const error = yield* Effect.flip(start({ command: process.execPath, args: ["-e", "process.exit(3)"] }))
        assert.strictEqual(error._tag, "Closed")
        if (error._tag === "Closed") assert.strictEqual(error.cause?.exitCode, 3)
      })
    )
  )

  it.live("A server crash is noticed even if a child of the server holds its stdout", () =>
    withProcesses(
      Effect.gen(function* () {
        const { client } = yield* start({ ...server(), killTimeout: "100 millis" })
        const error = yield* Effect.timeout(Effect.flip(client.callToolByName("leaveChild")), "8 seconds")
        assert.strictEqual(error._tag === "Closed" ? error.cause?.exitCode : undefined, 9)
      })
    )
  )

  it.live("A server killed by a signal is reported with the signal", () =>
    withProcesses(
      Effect.gen(function* () {
        const { client, wire } = yield* start(server())
        const waiting = yield* Effect.forkChild(Effect.flip(client.callToolByName("hang")), { startImmediately: true })
        process.kill(wire.pid, "SIGKILL")
        const error = yield* Fiber.join(waiting)
        assert.include(error.message, "SIGKILL")
      })
    )
  )
})
