/** Tasks and floods under the fuzzer: a correct server, and servers with one fault each. */
import { Elicitation, Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { scaled } from "@effect-mcp/spec/Scale"
import { Tasks } from "@effect-mcp/tasks"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import { assertFinds } from "./finds.ts"
import { target as httpTarget } from "./httpTarget.ts"
import { tapped } from "./mutants.ts"
import { taskMutants } from "./taskMutants.ts"

const Job = Tool.make("job", { description: "Works.", output: { done: Schema.Boolean }, task: "optional" })
const Must = Tool.make("must", { description: "Works as a task.", task: "required" })
const Broken = Tool.make("broken", { description: "Ends in an error.", task: "optional" })
const Asks = Tool.make("asks", { description: "Asks for a name.", task: "optional" })
const Endless = Tool.make("endless", { description: "Works for ever, as a task.", task: "required" })
const Plain = Tool.make("plain", { description: "Works at once." })

const features = Layer.mergeAll(
  Tools.layer(Job, () => Effect.succeed({ done: true })),
  Tools.layer(Must, () => Effect.succeed("done")),
  Tools.layer(Broken, () => Effect.die("broken")),
  Tools.layer(Asks, () =>
    Effect.map(Elicitation.form("Who?", Schema.Struct({ name: Schema.String })), ({ name }) => name)
  ),
  Tools.layer(Endless, () => Effect.never),
  Tools.layer(Plain, () => Effect.succeed("done")),
  Tasks.layer({ pollInterval: "100 millis" })
)

const server = McpServer.layer({ name: "tasks", version: "1.0.0", features })
const revisions = Revision.all.filter(({ version }) => version >= "2025-11-25")

describe("Fuzzing a task server", () => {
  it.effect.each(revisions)("The task rules find nothing wrong with a correct server ($version)", (revision) =>
    Effect.gen(function* () {
      const runs = scaled(600, 2000)
      const report = yield* Fuzz.check(server, { revisions: [revision], runs, time: "1 day", patience: 1000 })
      assert.deepStrictEqual(report.unconfirmed, [])
      const unused = report.rules.filter(
        ({ kept, rule }) =>
          rule.name.startsWith("task-") &&
          rule.transport !== "http" &&
          (rule.since ?? "") === revision.version &&
          kept === 0
      )
      assert.deepStrictEqual(
        unused.map(({ rule }) => rule.name),
        []
      )
    })
  )

  it.live.each(revisions)("The task rules find nothing wrong with a correct HTTP server ($version)", (revision) =>
    Effect.gen(function* () {
      const target = yield* httpTarget(undefined, Layer.provideMerge(server, Logger.layer([])))
      const runs = scaled(150, 1000)
      const report = yield* Fuzz.run(target, { revisions: [revision], runs, time: "1 day", only: ["task", "http"] })
      assert.isFalse(Fuzz.Report.fails(report), Fuzz.Report.text(report))
      const kept = report.rules.filter(({ kept, rule }) => rule.name.startsWith("task-") && kept > 0)
      assert.isAtLeast(kept.length, 10, Fuzz.Report.text(report))
    })
  )

  it.effect("A flood count of 0 disables floods, and any other count is sent exactly", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const mostPings = (flood: number) =>
        Effect.gen(function* () {
          let most = 0
          const counted: Fuzz.LineTarget = {
            ...target,
            open: (receive) => {
              let sent = 0
              return Effect.map(target.open(receive), (wire) => ({
                ...wire,
                send: (line: string) => {
                  sent++
                  most = Math.max(most, sent)
                  wire.send(line)
                }
              }))
            }
          }
          yield* Fuzz.run(counted, { runs: 40, time: "1 day", revisions: [Revision.latestStateful], flood })
          return most
        })
      assert.isBelow(yield* mostPings(0), 100)
      assert.isAtLeast(yield* mostPings(100), 100)
    })
  )
})

describe("Task servers with one fault", () => {
  it.effect.each(taskMutants)("The task fuzzer finds a server with one fault: it $name", (mutant) =>
    Effect.flatMap(Fuzz.memory(server), (target) => assertFinds(tapped(target, mutant.tap), mutant))
  )
})
