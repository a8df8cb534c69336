/** How a server that is a child process is shut down, whatever becomes of the client. */
import * as Stdio from "@effect-mcp/client/connector/Stdio"
import * as McpClient from "@effect-mcp/client/McpClient"
import { verifies } from "@effect-mcp/spec/verifies"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

const server = (...flags: ReadonlyArray<string>): Stdio.Options => ({
  command: process.execPath,
  args: [fixture("server.ts"), ...flags]
})

/** A process that ended but whose parent has not taken note yet is not alive. */
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

/** A client of a process, and the process's id. */
const start = (options: Stdio.Options & McpClient.Options) =>
  Effect.gen(function* () {
    const wire = yield* Stdio.open(options)
    return { client: yield* McpClient.connect(wire, options), wire }
  })

const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.timed(effect), ([duration, value]) => ({ millis: Number(duration.valueOf()), duration, value }))

const withProcesses = <A, E>(effect: Effect.Effect<A, E, Scope.Scope | Stdio.Requirements>) =>
  Effect.provide(Effect.scoped(effect), NodeServices.layer)

describe("shutting a server down", () => {
  const closing = (options: Stdio.Options) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { client, wire } = yield* start(options).pipe(Scope.provide(scope))
      const words: Array<string> = []
      const listener = yield* Effect.forkChild(
        Stream.runForEach(wire.stderr, (line) => Effect.sync(() => words.push(line))),
        { startImmediately: true }
      )
      yield* client.ping
      const { duration } = yield* elapsed(Scope.close(scope, Exit.void))
      yield* Fiber.await(listener)
      assert.isFalse(isAlive(wire.pid))
      return { millis: Number(duration.valueOf()), words: words.filter((word) => word !== "ready") }
    })

  it.live(`begins with closing its stdin${verifies("lifecycle.shutdown.stdio-close-stdin")}`, () =>
    withProcesses(
      Effect.gen(function* () {
        const { words } = yield* closing(server("farewell"))
        assert.deepStrictEqual(words, ["end of stdin", "exit 0"])
      })
    )
  )

  it.live("reads what the server still writes", () =>
    withProcesses(
      Effect.gen(function* () {
        const { words } = yield* closing({ ...server("farewell", "verbose"), exitTimeout: "10 seconds" })
        assert.deepStrictEqual(words, ["end of stdin", "exit 0"])
      })
    )
  )

  it.live(
    `goes on with SIGTERM when it does not go by itself${verifies("lifecycle.shutdown.stdio-sigterm", "stdio.shutdown.forced")}`,
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { words } = yield* closing({ ...server("farewell", "deaf"), exitTimeout: "100 millis" })
          assert.deepStrictEqual(words, ["end of stdin", "SIGTERM", "exit 0"])
        })
      )
  )

  it.live(
    `ends with SIGKILL, each after a bounded wait${verifies(
      "lifecycle.shutdown.stdio-sigkill",
      "lifecycle.error.shutdown-timeout"
    )}`,
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { words } = yield* closing({
            ...server("farewell", "stubborn"),
            exitTimeout: "100 millis",
            killTimeout: "100 millis"
          })
          assert.deepStrictEqual(words, ["end of stdin", "SIGTERM"])
        })
      )
  )

  it.live("happens in the same order when the client is interrupted", () =>
    withProcesses(
      Effect.gen(function* () {
        const words = yield* Queue.unbounded<string>()
        const pids = yield* Queue.unbounded<number>()
        const fiber = yield* Effect.forkChild(
          Effect.scoped(
            Effect.gen(function* () {
              const { client, wire } = yield* start(server("farewell"))
              yield* Effect.forkIn(
                Stream.runForEach(wire.stderr, (line) => Queue.offer(words, line)),
                yield* Scope.make(),
                { startImmediately: true }
              )
              yield* Queue.offer(pids, wire.pid)
              yield* client.callTool("hang")
            })
          )
        )
        const pid = yield* Queue.take(pids)
        yield* Fiber.interrupt(fiber)
        assert.isFalse(isAlive(pid))
        const said = (yield* Queue.takeAll(words)).filter((word) => word !== "ready")
        assert.deepStrictEqual(said, ["end of stdin", "exit 0"])
      })
    )
  )
})

describe("a client process that ends", () => {
  /** Each starts two processes, one of which loads the library. */
  const slow = 30_000
  /** Starts `host.ts`, which connects to a server that does not go by itself and prints its pid. */
  const host = (mode: string) =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const child = spawn(process.execPath, [fixture("host.ts"), mode], { stdio: ["ignore", "pipe", "ignore"] })
        const exited = once(child, "exit")
        const [data] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer | number | null]
        return { child, pid: Number(data?.toString()), exited }
      }),
      // A test that fails leaves nothing behind either.
      ({ child, pid }) =>
        Effect.sync(() => {
          child.kill("SIGKILL")
          if (pid > 1 && isAlive(pid)) process.kill(pid, "SIGKILL")
        })
    )
  const gone = (pid: number): Effect.Effect<void> =>
    Effect.suspend(() => (isAlive(pid) ? Effect.andThen(Effect.sleep("10 millis"), gone(pid)) : Effect.void))

  it.live.each(["SIGINT", "SIGTERM"] as const)(
    "by %s leaves no server behind",
    (signal) =>
      Effect.gen(function* () {
        const { child, exited, pid } = yield* host("wait")
        assert.isTrue(isAlive(pid))
        child.kill(signal)
        yield* Effect.promise(() => exited)
        assert.isFalse(isAlive(pid))
      }),
    slow
  )

  it.live.each(["exit", "throw"])(
    "abruptly (%s) leaves no server behind",
    (mode) =>
      Effect.gen(function* () {
        const { exited, pid } = yield* host(mode)
        yield* Effect.promise(() => exited)
        yield* Effect.timeout(gone(pid), "5 seconds")
      }),
    slow
  )
})
