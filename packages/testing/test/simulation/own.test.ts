/** This project's server and client in a simulation, in every revision and over all wires. */
import type { McpClient } from "@effect-mcp/client"
import { Elicitation, Progress, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Tasks } from "@effect-mcp/tasks"
import { scaled } from "@effect-mcp/spec/Scale"
import { Simulation } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Random, Stream } from "effect"
import { Bookings, BookTable, features, Folders, Greet, Think, Wait } from "../features.ts"
import { cases, type Wire } from "./wires.ts"

const Slow = Tool.make("slow", { description: "Takes some seconds." })
const slow = Tools.layer(Slow, () =>
  Effect.gen(function* () {
    for (let step = 1; step <= 3; step++) {
      yield* Progress.report(step, { total: 3 })
      yield* Effect.sleep(1000 * (yield* Random.next))
    }
    return "done"
  })
)

/** Tools that do everything a handler can do: ask each kind of question, report progress, sleep, use random numbers, and wait for cancellation. */
const world = Layer.mergeAll(
  Bookings.layerTest,
  Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }),
  Sampling.layer(() =>
    Effect.succeed({ role: "assistant", content: { type: "text", text: "4" }, model: "test" } as const)
  ),
  Roots.layerStatic([{ uri: "file:///a" }])
)
const asks = ({ callTool }: McpClient.Client, elicits: boolean) =>
  Effect.all(
    [
      ...(elicits ? [callTool(Greet, {}), callTool(BookTable, { restaurant: "Maaemo", guests: 2 })] : []),
      callTool(Think, { about: "2 + 2" }),
      callTool(Folders, {}),
      callTool(Slow, {})
    ] as ReadonlyArray<Effect.Effect<unknown, unknown>>,
    { concurrency: "unbounded" }
  )
const own = (revision: Revision.Revision, transport: Wire) =>
  ({
    features: Layer.merge(features, slow),
    world,
    revision,
    transport,
    clients: {
      alice: (client) => asks(client, revision.rules.elicitation.form),
      bob: (client) => Effect.forEach([1, 2, 3], () => Stream.runCollect(client.listTools)),
      carol: (client) =>
        Effect.gen(function* () {
          yield* Effect.timeoutOption(client.callTool(Wait, {}), "1500 millis")
          yield* client.callTool(Folders, {})
        })
    }
  }) satisfies Simulation.App<Bookings | Elicitation.Elicitation | Sampling.Sampling | Roots.Roots>

const Later = Tool.make("later", { description: "Runs as a task.", task: "required" })
const later = Tools.layer(Later, () =>
  Effect.as(Effect.andThen(Progress.report(1), Effect.sleep("20 seconds")), "done")
)

const runs = scaled(3, 1000)
const timeout = scaled(30_000, 900_000)

describe("Server and client in a simulation", { timeout }, () => {
  it.effect.each(cases)("The same seed produces the same trace with any faults ($title)", ({ revision, transport }) =>
    Effect.gen(function* () {
      const app = own(revision, transport)
      const faults = { late: 0.4, slow: 0.3, cut: 0.02 }
      const traces = new Set<string>()
      for (const seed of [1, 2]) {
        const first = yield* Simulation.run(app, { seed, faults })
        const again = yield* Simulation.run(app, { seed, faults })
        const replayed = yield* Simulation.run(app, { seed, faults, decisions: first.decisions })
        assert.deepStrictEqual(again, first)
        assert.deepStrictEqual(replayed.trace, first.trace)
        assert.isAbove(first.decisions.length, 0)
        traces.add(first.trace.join())
      }
      assert.strictEqual(traces.size, 2)
    })
  )

  it.effect.each(cases)(
    "Late messages, slow readers and fiber order break nothing ($title)",
    ({ revision, transport }) => Simulation.check(own(revision, transport), { runs, faults: { late: 0.5, slow: 0.3 } })
  )

  it.effect.each(cases)("Cut connections leak nothing and hang no client ($title)", ({ revision, transport }) =>
    Simulation.check(own(revision, transport), { runs, faults: { cut: 0.05 } })
  )

  it.effect.each(Revision.all.slice(-2))(
    "Tasks finish despite delays, and the same seed produces the same trace ($version)",
    (revision) =>
      Effect.gen(function* () {
        const app = {
          features: Layer.merge(later, Tasks.layer()),
          world: Layer.empty,
          revision,
          clients: { alice: (client) => client.callTool(Later, {}), bob: (client) => client.callTool(Later, {}) }
        } satisfies Simulation.App<never>
        assert.strictEqual(yield* Simulation.check(app, { runs, faults: { late: 0.5 } }), runs + 1)
        const [first, again] = [yield* Simulation.run(app, { seed: 4 }), yield* Simulation.run(app, { seed: 4 })]
        assert.deepStrictEqual(again, first)
        assert.isTrue(first.trace.some((line) => line.includes('"id-1"')))
      })
  )
})
