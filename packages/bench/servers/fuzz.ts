/**
 * Prints, as JSON, what a generated conversation of some ten messages costs: `fuzz.js fresh|shared|stdio VERSION`. In memory it is the CPU of
 * this process, where each conversation has a server of its own, or all have one; over stdio that of the bundled server's processes, too, with
 * two conversations at once. Stacks are recorded, as in a test.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Log from "@effect-mcp/core/Log"
import * as Progress from "@effect-mcp/core/Progress"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"
import * as path from "node:path"

const [kind = "shared", version = Revision.latestStateful.version] = process.argv.slice(2)
const isStdio = kind === "stdio"
const rounds = isStdio ? 1 : 3
const runs = isStdio ? 400 : 1000

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const Count = Tool.make("count", { description: "Counts to three.", input: { note: Schema.String } })
const features = Layer.mergeAll(
  Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b })),
  Tools.layer(
    Count,
    Effect.fnUntraced(function* ({ note }) {
      for (const step of [1, 2, 3]) {
        yield* Progress.report(step, { total: 3 })
        yield* Log.debug({ note, step })
      }
      return "done"
    })
  ),
  Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup")),
  Prompts.layer(Prompt.make("review", { arguments: { file: Schema.String } }), ({ file }) =>
    Effect.succeed(`Review ${file}`)
  )
)
const server = McpServer.layer({ name: "bench", version: "1.0.0", features })

const command = Effect.provide(
  Fuzz.command({ command: process.execPath, args: [path.join(import.meta.dirname, "bundled.js")] }),
  NodeServices.layer
)

/** CPU so far, in microseconds, with that of processes that have ended (Linux, in ticks of 10 ms). */
const cpu = (): number => {
  const { system, user } = process.cpuUsage()
  if (!isStdio) return system + user
  const [ofChildren = 0, ofChildrenSystem = 0] = readFileSync("/proc/self/stat", "latin1")
    .replace(/^.*\) /, "")
    .split(" ")
    .slice(13, 15)
    .map(Number)
  return system + user + (ofChildren + ofChildrenSystem) * 10_000
}

const program = Effect.gen(function* () {
  const target = yield* isStdio ? command : kind === "fresh" ? Fuzz.memory(server) : Fuzz.memoryShared(server)
  const surveys = yield* Fuzz.survey(target, { revisions: Revision.all.filter((each) => each.version === version) })
  const searched = (seed: number) => Fuzz.search(target, surveys, { runs, seed, time: "1 hour", jobs: isStdio ? 2 : 1 })
  yield* searched(0)
  let least = Infinity
  for (let round = 1; round <= rounds; round++) {
    const before = cpu()
    const { findings } = yield* searched(round)
    if (findings.length > 0) return yield* Effect.die(new Error(`The server broke ${findings[0]?.key}`))
    least = Math.min(least, (cpu() - before) / runs)
  }
  return { "cpu us": least, "per cpu s": 1e6 / least }
})

process.stdout.write(`${JSON.stringify(await Effect.runPromise(Effect.scoped(program)))}\n`)
process.exit(0)
