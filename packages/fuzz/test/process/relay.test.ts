/** The programs that clients start as servers. None outlives its conversation, even with strangers on the port or unread output. */
import { NodeServices, NodeSocketServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Queue, Scope } from "effect"
import { spawn } from "node:child_process"
import { connect } from "node:net"
import type { Process, ProcessEvent } from "../../src/client/LineDouble.ts"
import { listen, type Startable } from "../../src/client/relay.ts"

const services = Layer.merge(NodeServices.layer, NodeSocketServer.layer({ port: 0, host: "127.0.0.1" }))

/** Starts it like a client that never reads its output. */
const started = ({ args, command }: Pick<Startable, "args" | "command">) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] })
      const exited = Deferred.makeUnsafe<number | null>()
      child.on("exit", (code) => Deferred.doneUnsafe(exited, Exit.succeed(code)))
      return { child, exited: Deferred.await(exited) }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

/** An offer with a separate scope, and its first process. */
const offering = Effect.gen(function* () {
  const relay = yield* listen
  const scope = yield* Scope.make()
  const first = yield* Deferred.make<Process>()
  const events = yield* Queue.unbounded<ProcessEvent>()
  const offer = relay.offer((process) => {
    Deferred.doneUnsafe(first, Exit.succeed(process))
    return (event) => void Queue.offerUnsafe(events, event)
  })
  const startable = yield* Scope.provide(offer, scope)
  return { startable, events, process: Deferred.await(first), over: Scope.close(scope, Exit.void) }
})

/** Sends a text to the relay's port. Completes when the connection is closed. */
const stranger = (port: string | undefined, text: string) =>
  Effect.callback<void>((resume) => {
    const socket = connect(Number(port), "127.0.0.1", () => void socket.write(text))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.void))
  })

describe("Server programs started by a client", () => {
  it.live("A program exits as soon as its conversation is over", () =>
    Effect.gen(function* () {
      const { over, startable } = yield* offering
      yield* over
      const { exited } = yield* started(startable)
      assert.strictEqual(yield* exited, 0)
    }).pipe(Effect.provide(services))
  )

  it.live("A program exits with its conversation even if its client does not read its output", () =>
    Effect.gen(function* () {
      const { over, process, startable } = yield* offering
      const { exited } = yield* started(startable)
      const { exit, write } = yield* process
      // More than fits into a pipe.
      write(new Uint8Array(4 * 1024 * 1024))
      exit(1)
      yield* over
      assert.isNumber(yield* exited)
    }).pipe(Effect.provide(services))
  )

  it.live("A stranger at the programs' port is turned away without disturbing or guessing a conversation", () =>
    Effect.gen(function* () {
      const { events, over, process, startable } = yield* offering
      const port = startable.args[1]
      for (const text of ["GET / HTTP/1.1\r\n\r\n", "null\n", '{"key":"1"}\n', '{"key":{"toString":1}}\n']) {
        yield* stranger(port, text)
      }
      const { child } = yield* started(startable)
      yield* process
      child.stdin.end("hello\n")
      child.stdout.resume()
      assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Input", text: "hello\n" })
      assert.deepStrictEqual(yield* Queue.take(events), { _tag: "InputEnded" })
      yield* over
    }).pipe(Effect.provide(services))
  )
})
