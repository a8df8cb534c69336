/** Shutting down a server that is a child process, whatever happens to the client. */
import type * as Stdio from "@effect-mcp/client/Stdio"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { elapsed, fixture, isAlive, server, start, withProcesses } from "../../support/processes.ts"

describe("Server process shutdown", () => {
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

  it.live(
    "Shutdown starts by closing the server's stdin",
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { words } = yield* closing(server("farewell"))
          assert.deepStrictEqual(words, ["end of stdin", "exit 0"])
        })
      ),
    verifies("lifecycle.shutdown.stdio-close-stdin")
  )

  it.live("Shutdown reads all remaining output of the server", () =>
    withProcesses(
      Effect.gen(function* () {
        const { words } = yield* closing({ ...server("farewell", "verbose"), exitTimeout: "10 seconds" })
        assert.deepStrictEqual(words, ["end of stdin", "exit 0"])
      })
    )
  )

  it.live(
    "Shutdown sends SIGTERM if the process does not exit by itself",
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { words } = yield* closing({ ...server("farewell", "deaf"), exitTimeout: "2 seconds" })
          assert.deepStrictEqual(words, ["end of stdin", "SIGTERM", "exit 0"])
        })
      ),
    verifies("lifecycle.shutdown.stdio-sigterm", "stdio.shutdown.forced")
  )

  it.live(
    "Shutdown escalates to SIGKILL, with a limited wait after each signal",
    () =>
      withProcesses(
        Effect.gen(function* () {
          const { words } = yield* closing({
            ...server("farewell", "stubborn"),
            exitTimeout: "2 seconds",
            killTimeout: "2 seconds"
          })
          // On a busy machine the process may take a while to write these words.
          assert.deepStrictEqual(words, ["end of stdin", "SIGTERM"])
        })
      ),
    verifies("lifecycle.shutdown.stdio-sigkill", "lifecycle.error.shutdown-timeout")
  )

  it.live("Shutdown takes the same steps when the client is interrupted", () =>
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
              yield* client.callToolByName("hang")
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

describe("Client processes that exit", () => {
  /** Each test starts two processes, one of which loads the library. */
  const slow = 30_000
  /** Starts `host.ts`, which connects to a server that does not end by itself and prints its pid. */
  const host = (mode: string) =>
    Effect.acquireRelease(
      Effect.promise(async () => {
        const child = spawn(process.execPath, [fixture("host.ts"), mode], { stdio: ["ignore", "pipe", "ignore"] })
        const exited = once(child, "exit")
        const [data] = (await Promise.race([once(child.stdout, "data"), exited])) as [Buffer | number | null]
        return { child, pid: Number(data?.toString()), exited }
      }),
      // A test that fails must not leave processes behind either.
      ({ child, pid }) =>
        Effect.sync(() => {
          child.kill("SIGKILL")
          if (pid > 1 && isAlive(pid)) process.kill(pid, "SIGKILL")
        })
    )
  const gone = (pid: number): Effect.Effect<void> =>
    Effect.suspend(() => (isAlive(pid) ? Effect.andThen(Effect.sleep("10 millis"), gone(pid)) : Effect.void))

  it.live.each(["SIGINT", "SIGTERM"] as const)(
    "A client process that exits by %s leaves no server behind",
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
    "A client process that exits abruptly (%s) leaves no server behind",
    (mode) =>
      Effect.gen(function* () {
        const { exited, pid } = yield* host(mode)
        yield* Effect.promise(() => exited)
        yield* Effect.timeout(gone(pid), "60 seconds")
      }),
    slow
  )
})
