/** What writes events straight to a response, by hand: whatever that does, and others have made of it. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Flow } from "../../../src/http/response/SseBody.ts"
import { Pulse } from "../../../src/http/response/KeepAliveTimer.ts"

class Events extends Flow {
  readonly texts: Array<string> = []

  say(...texts: ReadonlyArray<string>): void {
    this.texts.push(...texts)
    this.wake()
  }

  protected override next(): string {
    return this.texts.shift() ?? ""
  }
}

const turn = Effect.promise(() => Promise.resolve())

const making = Effect.fnUntraced(function* (write: (text: string) => unknown) {
  const context = yield* Effect.context<never>()
  const pulse = new Pulse(0, yield* Clock.Clock, Effect.runForkWith(context))
  const events = new Events()
  const done: Array<unknown> = []
  const outlet = { write, end: () => void done.push("end"), destroy: () => void done.push("destroy") }
  return { events, done, drained: events.drive(pulse, outlet, (defect) => done.push(defect)) }
})

describe("a flow that drives a response", () => {
  it.effect("goes on when there is room, though it was told of that when it was about to go on anyway", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      let room = true
      const { drained, events } = yield* making((text) => {
        written.push(text)
        return room
      })
      events.say()
      drained()
      room = false
      events.texts.push("a", "b", "c")
      yield* turn
      assert.deepStrictEqual(written, ["a"])
      drained()
      assert.deepStrictEqual(written, ["a", "b"])
      room = true
      drained()
      assert.deepStrictEqual(written, ["a", "b", "c"])
    })
  )

  it.effect("goes on as long as nobody says that there is no room: what others have made of it may say nothing", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const { events } = yield* making((text) => void written.push(text))
      events.say("a", "b")
      yield* turn
      assert.deepStrictEqual(written, ["a", "b"])
    })
  )

  it.effect("cuts off what cannot be written to, and says so: nobody else would catch that", () =>
    Effect.gen(function* () {
      const broken = new Error("not open")
      const { done, events } = yield* making(() => {
        throw broken
      })
      events.say("a")
      yield* turn
      assert.deepStrictEqual(done, ["destroy", broken])
    })
  )
})
