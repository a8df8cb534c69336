import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { scaled } from "@effect-mcp/spec/Scale"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { assertFinds } from "./finds.ts"
import { mutants, tapped } from "./mutants.ts"
import { server } from "./server.ts"

describe("The fuzzer in memory", () => {
  it.effect.each(Revision.all)("The fuzzer finds nothing wrong with a correct server ($version)", (revision) =>
    Effect.gen(function* () {
      const report = yield* Fuzz.check(server, {
        revisions: [revision],
        runs: scaled(25, 2000),
        time: "1 day",
        patience: 1000
      })
      assert.deepStrictEqual(report.unconfirmed, [])
      assert.strictEqual(report.conversations, scaled(25, 2000))
    })
  )

  it.effect("A server ends with its conversation even if the test has its own scope", () =>
    Effect.gen(function* () {
      let open = 0
      const counted = Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.sync(() => open++),
          () => Effect.sync(() => open--)
        )
      )
      const target = yield* Fuzz.memory(Layer.merge(server, counted))
      yield* Fuzz.run(target, { runs: 5, time: "1 day", revisions: [Revision.latestStateful] })
      assert.strictEqual(open, 0)
    })
  )

  it.effect.each(Revision.all)("Every conversation uses the one shared server ($version)", (revision) =>
    Effect.gen(function* () {
      let built = 0
      const counted = Layer.effectDiscard(Effect.sync(() => built++))
      const target = yield* Fuzz.memoryShared(Layer.merge(server, counted))
      const report = yield* Fuzz.run(target, { runs: scaled(25, 2000), time: "1 day", revisions: [revision] })
      assert.deepStrictEqual([report.findings, report.unconfirmed], [[], []])
      assert.strictEqual(built, 1)
    })
  )

  it.effect("Errors without an id are attributed to different requests", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const surveys = yield* Fuzz.survey(target, { revisions: [Revision.latestStateful] })
      assert.lengthOf(surveys, 1)
      const commands = [null, 1.5].map((id): Fuzz.Command => ({ _tag: "Request", method: "ping", id }))
      for (const survey of surveys) {
        const { found } = yield* Fuzz.play(target, survey, { revision: "2025-11-25", commands }, { rules: Fuzz.rules })
        assert.deepStrictEqual(found, [])
      }
    })
  )

  it.effect("The same seed plays the same conversations", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const scripts = (seed: string) =>
        Effect.gen(function* () {
          const seen: Array<unknown> = []
          const watched: Fuzz.LineTarget = {
            ...target,
            open: (receive) =>
              Effect.map(target.open(receive), (wire) => ({
                ...wire,
                send: (line: string) => {
                  seen.push(line)
                  wire.send(line)
                }
              }))
          }
          yield* Fuzz.run(watched, { runs: 10, time: "1 day", seed, revisions: [Revision.latestStateful] })
          return seen
        })
      const first = yield* scripts("a")
      assert.deepStrictEqual(yield* scripts("a"), first)
      assert.notDeepEqual(yield* scripts("b"), first)
    })
  )
})

/** Each takes up to a second, so `npm test` tries every third, and `npm run test:nightly` all. */
const tried = mutants.filter((_, i) => i % scaled(3, 1) === 0)

describe("Servers with one fault", () => {
  it.effect.each(tried)("The fuzzer finds a server with one fault: it $name", (mutant) =>
    Effect.flatMap(Fuzz.memory(server), (target) => assertFinds(tapped(target, mutant.tap), mutant))
  )
})
