/**
 * The body of a server-sent event response, written directly: with and without room, and with a `write` that throws.
 */
import { type EventSource, keepAliveTimer, SseBody } from "../../../src/http/response/SseBody.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"

/** Returns its texts one by one. */
class Texts implements EventSource {
  readonly body = new SseBody(this)
  readonly texts: Array<string> = []
  ended = false

  get isEmpty(): boolean {
    return this.texts.length === 0
  }

  get backlog(): number {
    return this.texts.join("").length
  }

  take(): string {
    return this.texts.shift() ?? ""
  }

  add(...texts: ReadonlyArray<string>): void {
    this.texts.push(...texts)
    this.body.wake()
  }
}

/** Lets the microtasks of this turn run. */
const turn = Effect.promise(() => Promise.resolve())

const making = Effect.fnUntraced(function* (write: (text: string) => unknown, every = 0) {
  const context = yield* Effect.context<never>()
  const keepAlive = keepAliveTimer(every, yield* Clock.Clock, Effect.runForkWith(context))
  const source = new Texts()
  const done: Array<unknown> = []
  const outlet = { write, end: () => void done.push("end"), destroy: () => void done.push("destroy") }
  return { source, done, drained: source.body.drive(keepAlive, outlet, (defect) => done.push(defect)) }
})

describe("SSE response bodies", () => {
  it.effect("A body resumes even if room was reported just before its write", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      let room = true
      const { drained, source } = yield* making((text) => {
        written.push(text)
        return room
      })
      source.add()
      drained()
      room = false
      source.texts.push("a", "b", "c")
      yield* turn
      assert.deepStrictEqual(written, ["a"])
      drained()
      assert.deepStrictEqual(written, ["a", "b"])
      room = true
      drained()
      assert.deepStrictEqual(written, ["a", "b", "c"])
    })
  )

  it.effect("A body continues if a replaced `write` returns nothing", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const { source } = yield* making((text) => void written.push(text))
      source.add("a", "b")
      yield* turn
      assert.deepStrictEqual(written, ["a", "b"])
    })
  )

  it.effect("A body whose `write` throws is cut off, and the error is reported", () =>
    Effect.gen(function* () {
      const broken = new Error("not open")
      const { done, source } = yield* making(() => {
        throw broken
      })
      source.add("a")
      yield* turn
      assert.deepStrictEqual(done, ["destroy", broken])
    })
  )

  it.effect("A body writes a comment after each silent keep-alive interval, restarted by every event", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const { source } = yield* making((text) => void written.push(text), 10_000)
      yield* TestClock.adjust("9 seconds")
      source.add("a")
      yield* turn
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(written, ["a"])
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(written, ["a", ": keep-alive\n\n", ": keep-alive\n\n"])
    })
  )

  it.effect("A keep-alive of 0 writes no comments", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      yield* making((text) => void written.push(text))
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(written, [])
    })
  )

  it.effect("A body writes a prefix, the source's text and a suffix", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const { done, source } = yield* making((text) => void written.push(text))
      source.body.prefix = "<"
      source.add("a", "b")
      source.ended = true
      yield* turn
      assert.deepStrictEqual([written, done], [["<a", "b"], ["end"]])
      const other = yield* making((text) => void written.push(text))
      other.source.body.close(">")
      yield* turn
      assert.deepStrictEqual([written, other.done], [["<a", "b", ">"], ["end"]])
    })
  )
})
