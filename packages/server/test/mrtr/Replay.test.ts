import { ClientInput, type CapabilityMissing } from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Once from "@effect-mcp/core/Once"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber, Queue, Schema } from "effect"
import { Scheduler } from "effect/Scheduler"
import * as TestClock from "effect/testing/TestClock"
import * as Journal from "../../src/mrtr/Journal.ts"
import { isSuspension, scheduler } from "../../src/mrtr/Replay.ts"
import { colliding } from "../support/colliding.ts"
import { accept, messageOf, play, round } from "./rounds.ts"

const Name = Schema.Struct({ name: Schema.String })
const ask = (message: string, key?: string) => Effect.map(Elicitation.form(message, Name, { key }), ({ name }) => name)
/** Runs a handler on the scheduler that a server uses for its handlers. */
const onRoundScheduler = <A, E, R>(handler: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Scheduler, (ambient) => Effect.provideService(handler, Scheduler, scheduler(ambient)))
const failingStep = Once.run("flaky", Schema.String, Effect.andThen(Effect.yieldNow, Effect.fail("no")))
/** Answers every question with its message. */
const echo = (request: Parameters<typeof messageOf>[0]) => accept({ name: messageOf(request) })

describe("Handler replay", () => {
  it.effect("A handler without questions finishes in its first round", () =>
    Effect.gen(function* () {
      const { exit, asked } = yield* play(Effect.succeed(1), echo)
      assert.deepStrictEqual(exit, Exit.succeed(1))
      assert.strictEqual(asked.length, 0)
    })
  )

  it.effect("A handler asks its questions one round at a time and receives every answer", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const names: Array<string> = []
        for (const n of ["a", "b", "c"]) names.push(yield* ask(n))
        return names
      })
      const { exit, asked } = yield* play(handler, echo)
      assert.deepStrictEqual(exit, Exit.succeed(["a", "b", "c"]))
      assert.deepStrictEqual(
        asked.map((requests) => requests.map(messageOf)),
        [["a"], ["b"], ["c"]]
      )
    })
  )

  it.effect("A changed question is asked again even if its text collides with the earlier one", () =>
    Effect.gen(function* () {
      for (const [shown, done] of colliding) {
        let text: string = shown
        const asked: Array<string> = []
        const handler = Effect.gen(function* () {
          const message = text
          yield* ask(message)
          return message
        })
        const { exit } = yield* play(handler, (request) => {
          asked.push(messageOf(request))
          text = done
          return echo(request)
        })
        assert.deepStrictEqual(asked, [shown, done])
        assert.deepStrictEqual(exit, Exit.succeed(done))
      }
    })
  )

  it.effect("All open questions are asked in one round", () =>
    Effect.gen(function* () {
      const handler = Effect.all([ask("a"), ask("b"), Effect.map(Roots.list, (roots) => roots.length)], {
        concurrency: "unbounded"
      })
      const { exit, asked } = yield* play(handler, (request) =>
        request.method === "roots/list" ? { roots: [] } : echo(request)
      )
      assert.deepStrictEqual(exit, Exit.succeed(["a", "b", 0] as [string, string, number]))
      assert.deepStrictEqual(
        asked.map((requests) => requests.length),
        [3]
      )
    })
  )

  it.effect("Siblings that ask in consecutive turns share a round", () =>
    Effect.gen(function* () {
      // Each sibling asks one turn after the previous one.
      const turns = yield* Effect.forEach(["a", "b", "c", "d"], () => Deferred.make<void>())
      const sibling = (n: number) =>
        Effect.gen(function* () {
          if (n > 0) yield* Deferred.await(turns[n]!)
          yield* Effect.yieldNow
          if (n < 3) yield* Deferred.succeed(turns[n + 1]!, undefined)
          return yield* ask(`${n}`)
        })
      const outcome = yield* round(Effect.all([0, 1, 2, 3].map(sibling), { concurrency: "unbounded" }))
      assert(outcome._tag === "InputRequired")
      assert.lengthOf(Object.keys(outcome.requests), 4)
    })
  )

  it.effect("A sibling waiting for an outside fiber asks in a later round", () =>
    Effect.gen(function* () {
      const jobs = yield* Queue.unbounded<Deferred.Deferred<void>>()
      const job = Effect.flatMap(Queue.take(jobs), (done) =>
        Effect.andThen(Effect.yieldNow, Deferred.done(done, Exit.void))
      )
      yield* Effect.forkScoped(Effect.forever(job))
      const sibling = Effect.gen(function* () {
        const done = yield* Deferred.make<void>()
        yield* Queue.offer(jobs, done)
        yield* Deferred.await(done)
        return yield* ask("b")
      })
      const both = Effect.all([ask("a"), sibling], { concurrency: "unbounded" })
      const { asked, exit } = yield* play(onRoundScheduler(both), echo)
      assert.deepStrictEqual(exit, Exit.succeed(["a", "b"] as [string, string]))
      assert.deepStrictEqual(
        asked.map((questions) => questions.map(messageOf)),
        [["a"], ["b"]]
      )
    })
  )

  it.effect("A sibling that resumes from a settled promise asks in the same round", () =>
    Effect.gen(function* () {
      const sibling = Effect.andThen(
        Effect.promise(async () => {}),
        ask("b")
      )
      const both = Effect.all([ask("a"), sibling], { concurrency: "unbounded" })
      const outcome = yield* round(onRoundScheduler(both))
      assert(outcome._tag === "InputRequired")
      assert.deepStrictEqual(Object.values(outcome.requests).map(messageOf), ["a", "b"])
    })
  )

  it.effect("A sibling that computes for several turns still asks in the same round", () =>
    Effect.gen(function* () {
      const sibling = Effect.andThen(Effect.repeat(Effect.void, { times: 50_000 }), ask("b"))
      const both = Effect.all([ask("a"), sibling], { concurrency: "unbounded" })
      const outcome = yield* round(onRoundScheduler(both))
      assert(outcome._tag === "InputRequired")
      assert.deepStrictEqual(Object.values(outcome.requests).map(messageOf), ["a", "b"])
    })
  )

  const timePasses = Effect.forever(TestClock.adjust("10 millis"))
  const alwaysReady: ReadonlyArray<readonly [string, Effect.Effect<never, never, ClientInput>]> = [
    ["yields forever", Effect.forever(Effect.yieldNow)],
    ["computes forever", Effect.forever(Effect.sync(() => {}))],
    ["sleeps for zero time forever", Effect.forever(Effect.sleep(0))],
    ["retries a failing step forever", Effect.forever(Effect.ignore(failingStep))]
  ]
  for (const [what, busy] of alwaysReady) {
    it.effect(`A handler's questions are asked even if another of its fibers ${what}`, () =>
      Effect.gen(function* () {
        const beside = Effect.andThen(Effect.forkChild(busy), ask("a"))
        for (const handler of [beside, Effect.race(ask("a"), busy)]) {
          const { asked, exit } = yield* Effect.raceFirst(play(onRoundScheduler(handler), echo), timePasses)
          assert.deepStrictEqual(exit, Exit.succeed("a"))
          assert.lengthOf(asked, 1)
        }
      })
    )
  }

  it.effect("Siblings receive their own answers even if their order changes between rounds", () =>
    Effect.gen(function* () {
      let turn = 0
      const handler = Effect.suspend(() => {
        turn++
        const both = turn % 2 === 0 ? [ask("b"), ask("a")] : [ask("a"), ask("b")]
        return Effect.map(Effect.all(both, { concurrency: "unbounded" }), (names) => names.toSorted())
      })
      const answered = yield* play(handler, (request) =>
        // Only one of the two is answered in the first round.
        turn === 1 && messageOf(request) === "b" ? undefined : accept({ name: `to ${messageOf(request)}` })
      )
      assert.deepStrictEqual(answered.exit, Exit.succeed(["to a", "to b"]))
    })
  )

  it.effect("Only unanswered questions are asked again", () =>
    Effect.gen(function* () {
      let rounds = 0
      const { asked, exit } = yield* play(Effect.all([ask("a"), ask("b")], { concurrency: "unbounded" }), (request) => {
        if (messageOf(request) === "b" && rounds++ === 0) return undefined
        return echo(request)
      })
      assert.deepStrictEqual(exit, Exit.succeed(["a", "b"] as [string, string]))
      assert.deepStrictEqual(
        asked.map((requests) => requests.map(messageOf)),
        [["a", "b"], ["b"]]
      )
    })
  )

  it.effect("A question is asked again if the answer does not match it", () =>
    Effect.gen(function* () {
      let first = true
      const { asked, exit } = yield* play(ask("a"), (request) => {
        if (!first) return echo(request)
        first = false
        return 12345
      })
      assert.deepStrictEqual(exit, Exit.succeed("a"))
      assert.strictEqual(asked.length, 2)
    })
  )

  it.effect("Answers to questions that were never asked are ignored", () =>
    Effect.gen(function* () {
      const first = yield* round(ask("a"))
      assert(first._tag === "InputRequired")
      const [key] = Object.keys(first.requests)
      const settled = Journal.settle(first.journal, { [key!]: accept({ name: "x" }), other: accept({ name: "y" }) })
      assert.deepStrictEqual(Object.keys(settled.answers), [first.journal.open[key!]])
    })
  )

  it.effect("A question that changed after it was answered is asked again", () =>
    Effect.gen(function* () {
      let version = 0
      const handler = Effect.suspend(() => ask(`version ${version}`))
      const first = yield* round(handler)
      assert(first._tag === "InputRequired")
      version = 1
      const settled = Journal.settle(
        first.journal,
        Object.fromEntries(Object.keys(first.requests).map((key) => [key, accept({ name: "old" })]))
      )
      const second = yield* round(handler, settled)
      assert(second._tag === "InputRequired")
      assert.deepStrictEqual(Object.values(second.requests).map(messageOf), ["version 1"])
    })
  )

  it.effect(
    "Two open questions with the same name are rejected, so that none is lost (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const twice = (keys: ReadonlyArray<string | undefined>) =>
          play(
            Effect.all(
              keys.map((key) => ask("same", key)),
              { concurrency: "unbounded" }
            ),
            (_request, key) => accept({ name: key })
          )
        const refused = yield* twice([undefined, undefined])
        assert(Exit.isFailure(refused.exit))
        const keyed = yield* twice(["one", "two"])
        assert.deepStrictEqual(keyed.exit, Exit.succeed(["one", "two"]))
        const shared = yield* round(Effect.all([ask("a", "k"), ask("b", "k")], { concurrency: 2 }))
        assert(shared._tag === "Complete" && Exit.isFailure(shared.exit))
      }),
    verifies("mrtr.questions.unique-keys")
  )

  it.effect("A handler can ask the same question twice in a row", () =>
    Effect.gen(function* () {
      let n = 0
      const { exit } = yield* play(Effect.all([ask("same"), ask("same")]), () => accept({ name: `answer ${++n}` }))
      assert.deepStrictEqual(exit, Exit.succeed(["answer 1", "answer 2"] as [string, string]))
    })
  )

  it.effect("A handler cannot catch a question's suspension", () =>
    Effect.gen(function* () {
      const handler = ask("a").pipe(
        Effect.catchCause(() => Effect.succeed("caught the cause")),
        Effect.catch(() => Effect.succeed("caught the error")),
        Effect.catchDefect(() => Effect.succeed("caught a defect"))
      )
      const { exit, asked } = yield* play(handler, echo)
      assert.deepStrictEqual(exit, Exit.succeed("a"))
      assert.strictEqual(asked.length, 1)
    })
  )

  it.effect("A handler can catch a declined or cancelled answer", () =>
    Effect.gen(function* () {
      const handler = Effect.catchTag(ask("a"), "Declined", ({ action }) => Effect.succeed(action))
      const { exit } = yield* play(handler, () => ({ action: "decline" }))
      assert.deepStrictEqual(exit, Exit.succeed("decline"))
    })
  )

  it.effect("An uninterruptible region can ask and waits for the answer", () =>
    Effect.gen(function* () {
      let after = 0
      const handler = Effect.uninterruptible(Effect.tap(ask("a"), () => Effect.sync(() => after++)))
      const { exit } = yield* play(handler, echo)
      assert.deepStrictEqual(exit, Exit.succeed("a"))
      assert.strictEqual(after, 1)
    })
  )

  it.effect("Resources are released after every round", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const handler = Effect.scoped(
        Effect.andThen(
          Effect.acquireRelease(
            Effect.sync(() => events.push("open")),
            (_, exit) =>
              Effect.sync(() => {
                const suspended = Exit.isFailure(exit) && isSuspension(exit.cause)
                events.push(suspended ? "close (suspended)" : "close")
              })
          ),
          ask("a")
        )
      )
      yield* play(handler, echo)
      assert.deepStrictEqual(events, ["open", "close (suspended)", "open", "close"])
    })
  )

  it.effect("A cancelled handler is interrupted, not suspended", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const seen = yield* Deferred.make<boolean>()
      const handler = Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
        Effect.onExit((exit) => Deferred.succeed(seen, Exit.isFailure(exit) && isSuspension(exit.cause)))
      )
      const fiber = yield* Effect.forkChild(round(handler))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(yield* Deferred.await(seen))
    })
  )

  it.effect("A handler never asks for anything the client did not declare", () =>
    Effect.gen(function* () {
      const outcome = yield* round(ask("a"), Journal.empty, { sampling: {} })
      assert(outcome._tag === "Complete" && Exit.isFailure(outcome.exit))
      const error = Cause.findErrorOption(outcome.exit.cause)
      assert.strictEqual(error._tag === "Some" && (error.value as CapabilityMissing).capability, "elicitation.form")
    })
  )

  it.effect("The messages of a sampling question are checked before it is sent", () =>
    Effect.gen(function* () {
      const outcome = yield* round(
        Sampling.createMessage({
          maxTokens: 1,
          messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1", content: [] } }]
        })
      )
      assert(outcome._tag === "Complete" && Exit.isFailure(outcome.exit))
    })
  )
})

describe("Steps", () => {
  const step = (log: Array<string>, name: string) =>
    Once.run(
      name,
      Schema.String,
      Effect.sync(() => {
        log.push(name)
        return `done ${name}`
      })
    )

  it.effect("A step runs once, regardless of the number of rounds", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const handler = Effect.gen(function* () {
        const held = yield* step(log, "hold")
        const name = yield* ask("a")
        const paid = yield* step(log, "pay")
        yield* ask("b")
        return [held, name, paid]
      })
      const { exit, asked } = yield* play(handler, echo)
      assert.deepStrictEqual(exit, Exit.succeed(["done hold", "a", "done pay"]))
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual(log, ["hold", "pay"])
    })
  )

  it.effect("A step running while a sibling asks finishes and is recorded before the round ends", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const slow = Once.run(
        "pay",
        Schema.String,
        Effect.gen(function* () {
          log.push("paying")
          // The sibling has asked, and no other fiber is ready.
          yield* quiesce
          log.push("paid")
          return "receipt"
        })
      )
      const { exit } = yield* play(Effect.all([slow, ask("a")], { concurrency: "unbounded" }), echo)
      assert.deepStrictEqual(exit, Exit.succeed(["receipt", "a"] as [string, string]))
      assert.deepStrictEqual(log, ["paying", "paid"])
    })
  )

  it.effect("A failed step is not recorded and runs again", () =>
    Effect.gen(function* () {
      let attempts = 0
      const flaky = Once.run(
        "flaky",
        Schema.String,
        Effect.suspend(() => (++attempts === 1 ? Effect.fail("no" as const) : Effect.succeed("yes")))
      )
      const handler = Effect.gen(function* () {
        const first = yield* Effect.catch(flaky, (error) => Effect.succeed(error))
        yield* ask("a")
        return first
      })
      const { exit } = yield* play(handler, echo)
      assert.deepStrictEqual(exit, Exit.succeed("yes"))
      assert.strictEqual(attempts, 2)
    })
  )

  it.effect("A step must have a unique name", () =>
    Effect.gen(function* () {
      const outcome = yield* round(Effect.all([step([], "same"), step([], "same")]))
      assert(outcome._tag === "Complete" && Exit.isFailure(outcome.exit) && Cause.hasDies(outcome.exit.cause))
    })
  )

  it.effect("A step cannot be forged by an answer of the same name", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const journal = Journal.settle({ ...Journal.empty, open: { hold: "hold" } }, { hold: "forged" })
      const outcome = yield* round(step(log, "hold"), journal)
      assert(outcome._tag === "Complete")
      assert.deepStrictEqual(outcome.exit, Exit.succeed("done hold"))
    })
  )
})

it.effect("A question from a finalizer of an ended round is not sent", () =>
  Effect.gen(function* () {
    const handler = Effect.ensuring(
      ask("a"),
      Effect.ignore(Effect.flatMap(ClientInput, (input) => input.ask("roots/list", {})))
    )
    const outcome = yield* round(handler)
    assert(outcome._tag === "InputRequired")
    assert.deepStrictEqual(
      Object.values(outcome.requests).map((request) => request.method),
      ["elicitation/create"]
    )
  })
)
