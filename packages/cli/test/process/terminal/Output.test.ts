import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { OutputClosed } from "@effect-mcp/cli/Exit"
import * as Output from "@effect-mcp/cli/Output"
import { capture } from "../../support/run.ts"

const terminal = () => {
  const screen = capture(true, 80)
  const make = Output.make({ env: {}, stdin: { isTTY: true }, stdout: screen.stream, stderr: screen.stream })
  return { screen, make }
}

describe("Output", () => {
  it.effect("Other text lifts the progress line and puts it back", () =>
    Effect.gen(function* () {
      const { make, screen } = terminal()
      const output = yield* make
      yield* output.live("50%")
      yield* output.note("a log")
      yield* output.line("data")
      yield* output.live(undefined)
      yield* output.note("end")
      const erase = "\r\u001b[2K"
      assert.strictEqual(screen.text(), `${erase}50%${erase}a log\n50%${erase}data\n50%${erase}end\n`)
    })
  )

  it.effect("Other text waits while a question is on screen", () =>
    Effect.gen(function* () {
      const { make, screen } = terminal()
      const output = yield* make
      const answered = yield* Deferred.make<void>()
      const question = yield* Effect.forkChild(
        output.exclusive((say) => Effect.andThen(say("question"), Deferred.await(answered))),
        { startImmediately: true }
      )
      const log = yield* Effect.forkChild(output.note("log"), { startImmediately: true })
      yield* Effect.yieldNow
      assert.strictEqual(screen.text(), "question\n")
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(question)
      yield* Fiber.join(log)
      assert.strictEqual(screen.text(), "question\nlog\n")
    })
  )

  it.effect("No progress line is drawn if stderr is not a terminal, and data is kept apart from notes", () =>
    Effect.gen(function* () {
      const [stdout, stderr] = [capture(), capture()]
      const output = yield* Output.make({ env: {}, stdin: {}, stdout: stdout.stream, stderr: stderr.stream })
      yield* output.live("50%")
      yield* output.line("data")
      yield* output.note("log")
      assert.deepStrictEqual([stdout.text(), stderr.text()], ["data\n", "log\n"])
      assert.isFalse(output.canAsk)
      assert.strictEqual(output.width, undefined)
    })
  )

  it.effect("A closed stdout fails, and a closed stderr is ignored", () =>
    Effect.gen(function* () {
      const broken: Output.Writable = {
        write: (_data, done) => {
          done(new Error("EPIPE"))
          return true
        },
        on: () => undefined
      }
      const output = yield* Output.make({ env: {}, stdin: {}, stdout: broken, stderr: broken })
      assert.instanceOf(yield* Effect.flip(output.line("data")), OutputClosed)
      yield* output.note("log")
    })
  )
})
