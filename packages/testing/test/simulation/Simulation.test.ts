/** `Simulation` repeats runs, finds failures and shrinks them. */
import { Tool, Tools } from "@effect-mcp/core"
import { Simulation } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Ref, Stream } from "effect"
import { bank } from "./bank.ts"
import { searched } from "./wires.ts"

const counterexample = <E>(checking: Effect.Effect<number, E>) =>
  Effect.map(Effect.flip(checking), (error) => {
    assert(error instanceof Simulation.Counterexample)
    return error
  })

const Work = Tool.make("work", { description: "Works" })
const working = <E, R>(handler: Effect.Effect<string, E, R>) => Tools.layer(Work, () => Effect.orDie(handler))
/** Values that the handlers wrote, in order. */
class Log extends Context.Service<Log, Ref.Ref<ReadonlyArray<string>>>()("test/Log") {
  static readonly layer = Layer.effect(Log, Ref.make<ReadonlyArray<string>>([]))
}
const write = (text: string) => Effect.flatMap(Log, (log) => Ref.update(log, (all) => [...all, text]))
const written = Effect.flatMap(Log, (log) => Ref.get(log))

describe("Simulation", () => {
  it.effect.each(searched)(
    "A race between two handlers is found and shrinks to a single pause ($title)",
    ({ revision, transport }) =>
      Effect.gen(function* () {
        const app = { ...bank("racy"), revision, transport }
        const { found, message, outcome } = yield* counterexample(Simulation.check(app))
        assert.match(
          message,
          /^alice has \d+, bob has \d+\nSeed \d+, where\n {2}handler \d .* before operation \d+\nWhat happened:/
        )
        assert.strictEqual(outcome.decisions.length, 1)
        assert.isAbove(found.decisions, 1)
        // The minimal decisions reproduce the run, and without decisions the run is correct.
        const again = yield* Simulation.run(app, { seed: outcome.seed, decisions: outcome.decisions })
        assert.deepStrictEqual(again, outcome)
        assert.isUndefined((yield* Simulation.run(app, { decisions: [] })).failure)
      })
  )

  it.effect.each(searched)("The same handlers in sequence pass with every seed ($title)", ({ revision, transport }) =>
    Effect.map(Simulation.check({ ...bank("locked"), revision, transport }, { runs: 20 }), (runs) =>
      assert.strictEqual(runs, 21)
    )
  )

  it.effect("HTTP with SSE uses a GET for the endpoint and answers, and a POST for each message", () =>
    Effect.gen(function* () {
      const app = { ...bank("locked"), transport: "sse" } as const
      const { trace } = yield* Simulation.run(app, { decisions: [] })
      const said = trace.map((line) => line.replace(/^\d+ ms {2}/, ""))
      assert.isTrue(said.includes("alice 1 > GET "))
      assert.isTrue(said.includes("alice 1 < event: endpoint\ndata: /messages?sessionId=id-1"), trace.join("\n"))
      const count = (begin: RegExp) => said.filter((line) => begin.test(line)).length
      // initialize, initialized and three calls; all but the notification are answered on the stream of the GET.
      assert.strictEqual(count(/^alice \d+ > POST /), 5)
      assert.strictEqual(count(/^alice \d+ < 202$/), 5)
      assert.strictEqual(count(/^alice 1 < event: message\n/), 4)
    })
  )

  it.effect("A cut HTTP with SSE GET ends the session, and the client opens another", () =>
    Effect.gen(function* () {
      const app = {
        features: working(Effect.succeed("done")),
        world: Layer.empty,
        transport: "sse",
        clients: { alice: (client) => Stream.runCollect(client.listTools) }
      } satisfies Simulation.App<never>
      // The fourth piece is the answer to the list, which may be requested again.
      const decisions = [{ name: "alice 1 < 4 cut", value: 1 }]
      const { failure, trace } = yield* Simulation.run(app, { faults: { cut: 0.01 }, decisions })
      assert.isUndefined(failure)
      const said = trace.map((line) => line.replace(/^\d+ ms {2}/, ""))
      assert.isTrue(said.includes("-- alice 1 <: cut"))
      assert.lengthOf(
        said.filter((line) => line.includes("event: endpoint")),
        2,
        trace.join("\n")
      )
      assert.strictEqual(said.at(-1), "alice is done")
    })
  )

  const firstOf = {
    features: Tools.layer(Tool.make("sign", { description: "Signs", input: {} }), () => Effect.succeed("")),
    world: Log.layer,
    clients: { alice: () => write("alice"), bob: () => write("bob") },
    atEnd: () => Effect.flatMap(written, ([first]) => (first === "alice" ? Effect.void : Effect.fail("bob was first")))
  } satisfies Simulation.App<Log>

  it.effect("A reordering of two clients is found by late messages or by fiber order", () =>
    Effect.gen(function* () {
      const quiet = { late: 0, preempt: 0, reorder: 0 }
      assert.strictEqual(yield* Simulation.check(firstOf, { faults: quiet, runs: 5 }), 6)
      const late = yield* counterexample(Simulation.check(firstOf, { faults: { ...quiet, late: 0.3 } }))
      assert.match(late.message, /^bob was first\nSeed \d+, where\n {2}alice [<>]: \S.* is 1 ms late\n/)
      const order = yield* counterexample(Simulation.check(firstOf, { faults: { ...quiet, reorder: 0.3 } }))
      assert.match(order.message, /choice \d+: a fiber overtakes 1 that were ready before it\n/)
    })
  )

  it.effect("An invariant is checked on every message and ends the run when it fails", () =>
    Effect.gen(function* () {
      const app = {
        features: working(Effect.as(write("worked"), "done")),
        world: Log.layer,
        clients: {
          alice: (client) => Effect.andThen(client.callTool(Work, {}), write("alice goes on"))
        },
        always: Effect.flatMap(written, (all) => (all.length === 0 ? Effect.void : Effect.fail(all.join())))
      } satisfies Simulation.App<Log>
      const { outcome } = yield* counterexample(Simulation.check(app))
      assert.deepStrictEqual(outcome.failure, { kind: "invariant", message: "worked" })
      assert.isTrue(outcome.trace.at(-1)?.endsWith("!! worked"))
    })
  )

  it.effect("A failing program fails the run unless its connection was cut", () =>
    Effect.gen(function* () {
      const app = (failing: Effect.Effect<never, string>) =>
        ({
          features: working(Effect.succeed("done")),
          world: Layer.empty,
          client: { reconnect: false },
          clients: { alice: (client) => Effect.catch(client.callTool(Work, {}), () => failing) }
        }) satisfies Simulation.App<never>
      const poor = { ...app(Effect.fail("")), clients: { alice: () => Effect.fail("no money") } }
      const { outcome } = yield* counterexample(Simulation.check(poor))
      assert.deepStrictEqual(outcome.failure, { kind: "client", message: "alice fails: no money" })
      const bySeeds = (failing: Effect.Effect<never, string>) =>
        Effect.forEach([...Array(20).keys()], (seed) => Simulation.run(app(failing), { faults: { cut: 0.2 }, seed }))
      const dies = yield* bySeeds(Effect.die("bug"))
      assert.isTrue(dies.some(({ failure }) => failure?.message === "alice fails: bug"))
      const fails = yield* bySeeds(Effect.fail("cut"))
      assert.isTrue(fails.some(({ trace }) => trace.some((line) => line.endsWith("alice fails: cut"))))
      for (const { failure } of fails) assert.isUndefined(failure)
    })
  )

  it.effect("A platform promise may settle once nothing else is left to run", () =>
    Effect.gen(function* () {
      const slowly = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 5)))
      const app = {
        features: working(Effect.succeed("done")),
        world: Layer.empty,
        clients: { alice: () => Effect.andThen(slowly, Effect.sleep("1 hour")) }
      } satisfies Simulation.App<never>
      const { failure, trace } = yield* Simulation.run(app, { decisions: [] })
      assert.isUndefined(failure)
      assert.isTrue(trace.at(-1)?.endsWith("alice is done"))
    })
  )

  it.effect("An endless run releases its resources", () =>
    Effect.gen(function* () {
      const held: Array<string> = []
      const holding = Effect.acquireRelease(
        Effect.sync(() => void held.push("acquired")),
        () =>
          Effect.andThen(
            Effect.sleep("1 second"),
            Effect.sync(() => void held.push("released"))
          )
      )
      const app = {
        features: working(Effect.succeed("")),
        world: Layer.effectDiscard(holding),
        clients: {
          alice: () =>
            Effect.ensuring(
              Effect.never,
              Effect.sync(() => void held.push("interrupted"))
            )
        }
      } satisfies Simulation.App<never>
      const { failure, trace } = yield* Simulation.run(app, { decisions: [] })
      assert.strictEqual(failure?.kind, "stuck")
      assert.isTrue(trace.at(-1)?.includes("!! The run has no end"))
      assert.deepStrictEqual(held.toSorted(), ["acquired", "interrupted", "released"])
    })
  )

  it.effect("Deadlocked fibers and fibers that outlive their clients are found", () =>
    Effect.gen(function* () {
      const app = (handler: Effect.Effect<string>) =>
        ({
          features: working(handler),
          world: Layer.empty,
          clients: { alice: (client) => client.callTool(Work, {}, { timeout: "Infinity" }) }
        }) satisfies Simulation.App<never>
      const waits = { ...app(Effect.succeed("")), clients: { alice: () => Effect.never } }
      const stuck = yield* counterexample(Simulation.check(waits))
      assert.deepStrictEqual(stuck.outcome.failure, {
        kind: "stuck",
        message: "The run has no end: all fibers wait for each other"
      })
      const leak = yield* counterexample(Simulation.check(app(Effect.as(Effect.forkDetach(Effect.never), "started"))))
      assert.strictEqual(leak.outcome.failure?.kind, "leak")
    })
  )
})
