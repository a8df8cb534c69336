/** `Torture` finds the fault in incorrect handlers and accepts their corrected forms. */
import { Elicitation, Once, Prompt, Prompts, Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Middleware } from "@effect-mcp/server"
import { Torture } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, References, Schema, Scope } from "effect"
import { Busy, Pay, paying, Pool, Shop, world } from "./shop.ts"

const fails = [Torture.failing(Shop, Effect.fail(new Busy())), Torture.failing(Pool, Effect.fail(new Busy()))]
const sessions = { revisions: Revision.all.filter(({ era }) => era === "stateful") }
const only = { revisions: [Revision.latestStateful] }

const broken = (running: ReturnType<typeof Torture.run<never, Pool | Shop | Elicitation.Elicitation>>) =>
  Effect.map(Effect.flip(running), (error) => {
    assert(error._tag === "Broken")
    return error
  })

/** The kinds of faults that broke a run, and the findings. */
const kinds = ({ runs }: Torture.Broken) => {
  const all = runs.flatMap(({ fault, found }) => found.map((text) => `${fault._tag}: ${text}`))
  return [...new Set(all)].toSorted()
}

const use = Effect.flatMap(Shop, (shop) => Effect.andThen(Effect.yieldNow, shop.charge("order 7")))
const leaking = Effect.gen(function* () {
  const pool = yield* Pool
  const connection = yield* pool.acquire
  const receipt = yield* use
  yield* pool.release(connection)
  return receipt
})
const correct = Effect.flatMap(Pool, (pool) => Effect.acquireUseRelease(pool.acquire, () => use, pool.release))

describe("Torture.run", () => {
  it.effect("`Torture` detects a connection leak when the handler is cancelled, disconnected or its shop fails", () =>
    Effect.gen(function* () {
      const found = yield* broken(Torture.run(paying(leaking), world, { fails: fails.slice(0, 1) }))
      assert.deepStrictEqual(kinds(found), [
        "Cancelled: connection is not released",
        "Disconnected: connection is not released",
        "Failed: connection is not released"
      ])
      assert.match(found.message, /2024-11-05 {2}cancelled +\d+ +- +\d+/)
      assert.match(
        found.message,
        /2024-11-05, cancelled before step \d+ \(after connection\): connection is not released/
      )
      // Each revision breaks, and a run without a fault does not.
      assert.strictEqual(
        new Set(found.rows.filter((row) => row.broken > 0).map((row) => row.revision)).size,
        Revision.all.length
      )
      assert.isTrue(found.rows.every((row) => row.fault !== "none" || (row.broken === 0 && row.succeeded === 1)))
    })
  )

  it.effect("`Torture` accepts the same handler once it always releases its connection", () =>
    Effect.gen(function* () {
      const { rows, runs } = yield* Torture.run(paying(correct), world, { fails: fails.slice(0, 1) })
      assert.strictEqual(rows.length, Revision.all.length * 4)
      for (const { fault, revision } of rows) {
        const count = runs.filter((run) => run.revision === revision && run.fault._tag.toLowerCase() === fault).length
        assert.isAbove(count, fault === "none" ? 0 : 1)
      }
      assert.isTrue(runs.every(({ struck }) => struck))
      // The connection was acquired in some of the cancelled runs, and in others not.
      const held = runs.map(({ entries }) => entries.some(({ kind }) => kind === "released"))
      assert.isTrue(held.includes(true) && held.includes(false))
    })
  )

  it.effect("`Torture` detects a charge that is repeated after a lost answer", () =>
    Effect.gen(function* () {
      const charging = (key?: string) =>
        Effect.flatMap(Shop, (shop) => Effect.retry(shop.charge("order 7", key), { times: 1 }))
      const found = yield* broken(Torture.run(paying(charging()), world, { fails, ...only }))
      assert.deepStrictEqual(kinds(found), ["Failed: charge order 7 happened twice"])
      assert.deepStrictEqual(found.first.fault, { _tag: "Failed", call: 1, when: "after" })
      yield* Torture.run(paying(charging("key")), world, { fails, ...only })
    })
  )

  it.effect("`Torture` detects a charge that is repeated in every round", () =>
    Effect.gen(function* () {
      const charge = Effect.flatMap(Shop, (shop) => shop.charge("order 7"))
      const asking = <E, R>(charge: Effect.Effect<string, E, R>) =>
        paying(Effect.tap(charge, () => Elicitation.confirm("Thank you?")))
      const found = yield* broken(Torture.run(asking(charge), world))
      assert.strictEqual(found.first.revision, "2026-07-28")
      assert.deepStrictEqual(found.first.fault, { _tag: "None" })
      yield* Torture.run(asking(charge), world, sessions)
      yield* Torture.run(asking(Once.run("charge", Schema.String, charge)), world)
    })
  )

  it.effect("`Torture` answers each question in every possible way", () =>
    Effect.gen(function* () {
      const asking = paying(Effect.as(Effect.andThen(Elicitation.confirm("One?"), Elicitation.confirm("Two?")), "yes"))
      const { runs } = yield* Torture.run(asking, world, only)
      const answers = runs.flatMap(({ fault }) =>
        fault._tag === "Answered" ? [`${fault.question} ${fault.answer}`] : []
      )
      const all = ["declined", "dismissed", "an error", "no answer"]
      assert.deepStrictEqual(answers, [...all.map((answer) => `1 ${answer}`), ...all.map((answer) => `2 ${answer}`)])
    })
  )

  it.effect("`Torture` detects a seat kept after the user declines", () =>
    Effect.gen(function* () {
      const holding = Effect.gen(function* () {
        const pool = yield* Pool
        const seat = yield* Effect.uninterruptible(pool.acquire)
        yield* Effect.onInterrupt(Elicitation.confirm("Book it?"), () => pool.release(seat))
        yield* pool.release(seat)
        return seat
      })
      const found = yield* broken(Torture.run(paying(holding), world, only))
      const declined = found.runs.find(({ fault }) => fault._tag === "Answered" && fault.answer === "declined")
      assert.deepStrictEqual(declined?.found, ["connection is not released"])
    })
  )

  it.effect("`Torture` detects fibers that outlive their call, and allows them on request", () =>
    Effect.gen(function* () {
      const forking = paying(Effect.as(Effect.forkDetach(Effect.never), "started"))
      const found = yield* broken(Torture.run(forking, world, only))
      assert.deepStrictEqual(found.first.found, ["1 fibers of the handler run on"])
      yield* Torture.run(forking, world, { ...only, background: 1 })
    })
  )

  it.effect("`Torture` detects a scope that the handler opens but never closes", () =>
    Effect.gen(function* () {
      const opening = Effect.flatMap(Scope.make(), (scope) =>
        Scope.provide(Effect.as(Effect.addFinalizer(Effect.succeed), "opened"), scope)
      )
      const found = yield* broken(Torture.run(paying(opening), world, only))
      assert.deepStrictEqual(found.first.found, ["1 scopes of the handler are open"])
    })
  )

  it.effect("`Torture` detects a handler that cannot be cancelled", () =>
    Effect.gen(function* () {
      const answer = Effect.as(Elicitation.confirm("Sure?"), "sure")
      const stubborn = paying(Effect.catch(answer, () => Effect.uninterruptible(Effect.never)))
      const found = yield* broken(Torture.run(stubborn, world, { ...only, maxPlaces: 0 }))
      assert.deepStrictEqual(found.first.found, [
        "1 fibers of the handler run on",
        "1 scopes of the handler are open",
        "The server keeps a request: tools/call",
        "The call has no end: all fibers wait for each other"
      ])
      assert.isFalse(found.complete)
      assert.match(found.message, /cancelled: 0 of \d+ places were tried\n/)
    })
  )

  it.effect("`Torture` detects a session that stops answering after its call", () =>
    Effect.gen(function* () {
      let calls = 0
      const mute = Middleware.inbound(({ message }, next) => {
        if (message.method === "tools/call") calls++
        return message.method === "ping" && calls > 0 ? Effect.never : next
      })
      const pay = Tools.layer(Pay, () => Effect.succeed("paid"))
      const subject = Torture.tool(Layer.merge(pay, mute), Pay, {})
      const found = yield* broken(Torture.run(subject, world, only))
      assert.deepStrictEqual(found.first.found, ["The session does not answer a ping afterwards"])
    })
  )

  it.effect("`Torture` cancels a handler wherever it waits", () =>
    Effect.gen(function* () {
      const slow = Effect.gen(function* () {
        yield* Effect.sleep("10 seconds")
        const pool = yield* Pool
        yield* Effect.acquireUseRelease(pool.acquire, () => Effect.sleep("20 seconds"), pool.release)
        return "done"
      })
      const { runs } = yield* Torture.run(paying(slow), world, only)
      const waits = runs.filter(({ fault }) => "place" in fault && fault.place.kind === "wait")
      assert.isAtLeast(waits.length, 4)
      assert.isTrue(waits.some(({ after }) => after === "connection"))
    })
  )

  it.effect("`Torture` runs the test's check and shows where it failed", () =>
    Effect.gen(function* () {
      const afterEach = ({ entries }: Torture.Run) =>
        entries.filter(({ kind }) => kind === "happened").length <= 1 ? Effect.void : Effect.fail("too many orders")
      const twice = Effect.flatMap(Shop, (shop) => Effect.andThen(shop.charge("a"), shop.charge("b")))
      const found = yield* broken(Torture.run(paying(twice), world, { ...only, afterEach }))
      assert.deepStrictEqual(found.first.found, ["too many orders"])
    })
  )

  it.effect("`Torture` supports any request, not only tool calls", () =>
    Effect.gen(function* () {
      const review = Prompts.layer(Prompt.make("review"), () => Effect.as(Effect.orDie(leaking), "Review it"))
      const asked = Torture.request(review, (client) => client.getPromptByName("review"))
      const found = yield* broken(Torture.run(asked, world, only))
      assert.include(kinds(found), "Cancelled: connection is not released")
    })
  )

  const long = paying(Effect.as(Effect.replicateEffect(Effect.flatMap(Pool, Effect.succeed), 100), "done"))

  it.effect("`Torture` samples places from first to last and reports omissions", () =>
    Effect.gen(function* () {
      const { complete, rows, runs } = yield* Torture.run(long, world, { ...only, maxPlaces: 10 })
      const places = runs.flatMap(({ fault }) => (fault._tag === "Cancelled" ? [fault.place.number] : []))
      assert.strictEqual(places.length, 10)
      assert.isAbove(places.at(-1) ?? 0, 90)
      assert.isFalse(complete)
      const cancelled = rows.find(({ fault }) => fault === "cancelled")
      assert.strictEqual(cancelled?.runs, 10)
      assert.strictEqual(cancelled?.places, runs[0]?.places)
      assert.isAbove(cancelled?.places ?? 0, 100)
      assert.include(Torture.table(runs), `cancelled: 10 of ${cancelled?.places} places were tried`)
    })
  )

  it.effect("`Torture` reports that it tried every place, by default and with `all`", () =>
    Effect.gen(function* () {
      for (const maxPlaces of [undefined, "all", Infinity, 100_000] as const) {
        const { complete, rows, runs } = yield* Torture.run(paying(correct), world, { ...only, maxPlaces })
        assert.isTrue(complete)
        assert.isTrue(rows.every((row) => row.runs === row.places && row.struck === row.runs))
        assert.match(Torture.table(runs), /\nEvery place was tried\.$/)
      }
    })
  )

  it.effect("`Torture` reports missing faults if the handler takes a shorter path", () =>
    Effect.gen(function* () {
      let calls = 0
      const shrinking = Effect.suspend(() => Effect.as(Effect.replicateEffect(Pool, calls++ === 0 ? 50 : 1), "done"))
      const { complete, rows, runs } = yield* Torture.run(paying(shrinking), world, only)
      assert.isFalse(complete)
      const cancelled = rows.find(({ fault }) => fault === "cancelled")
      assert.isBelow(cancelled?.struck ?? Infinity, cancelled?.runs ?? 0)
      assert.match(Torture.table(runs), /cancelled: (\d+) of \1 places were tried; the fault of \d+ did not come/)
    })
  )

  it.effect("`Torture` rejects a `maxPlaces` that is not a count", () =>
    Effect.gen(function* () {
      for (const maxPlaces of [Number.NaN, -1, 0.5, -Infinity]) {
        const exit = yield* Effect.exit(Torture.run(long, world, { ...only, maxPlaces }))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.include(
          String(Exit.isFailure(exit) ? Cause.squash(exit.cause) : ""),
          `maxPlaces is ${maxPlaces}; expected`
        )
      }
    })
  )

  it.effect("`Torture` kills a task's node at each of its writes", () =>
    Effect.gen(function* () {
      const step = (key: boolean) =>
        Effect.gen(function* () {
          const shop = yield* Shop
          return yield* Once.run(
            "charge",
            Schema.String,
            Effect.flatMap(key ? Once.key : Effect.undefined, (key) => shop.charge("order 7", key))
          )
        })
      const handler = (key: boolean) => Tools.layer(Pay, () => Effect.orDie(step(key)))
      const options = { ...only, maxPlaces: 1 }
      const found = yield* broken(Torture.run(Torture.task(handler(false), Pay, {}), world, options))
      assert.deepStrictEqual(kinds(found), ["Killed: charge order 7 happened twice"])
      assert.deepStrictEqual(found.first.fault, { _tag: "Killed", write: 1, when: "before" })
      const { rows } = yield* Torture.run(Torture.task(handler(true), Pay, {}), world, options)
      assert.isAbove(rows.find(({ fault }) => fault === "killed")?.runs ?? 0, 3)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))
  )

  it.effect("`Torture` reports that it stopped at the first crash that changes a task's outcome", () =>
    Effect.gen(function* () {
      let attempts = 0
      const counting = Tools.layer(Pay, () => Effect.sync(() => `attempt ${++attempts}`))
      const found = yield* broken(Torture.run(Torture.task(counting, Pay, {}), world, { ...only, maxPlaces: 1 }))
      assert.match(found.message, /2026-07-28, killed: 1 of \d+ places were tried\n/)
      assert.isFalse(found.complete)
    }).pipe(Effect.provideService(References.MinimumLogLevel, "Error"))
  )

  it.effect("`Torture` makes the same runs every time", () =>
    Effect.gen(function* () {
      const run = broken(Torture.run(paying(leaking), world, { fails }))
      const [first, second] = [yield* run, yield* run]
      assert.strictEqual(first.message, second.message)
      assert.deepStrictEqual(
        first.runs.map(({ entries }) => entries),
        second.runs.map(({ entries }) => entries)
      )
    })
  )

  it.effect("`Torture` fails if the world fails to build", () =>
    Effect.gen(function* () {
      const nowhere = Layer.effect(Shop, Effect.fail("no database" as const))
      const call = Torture.tool(
        Tools.layer(Tool.make("t", { description: "" }), () => Effect.as(Shop, "x")),
        Pay,
        {}
      )
      assert.strictEqual(yield* Effect.flip(Torture.run(call, nowhere)), "no database")
    })
  )
})
