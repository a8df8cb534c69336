/**
 * Runs the official conformance suites against the reference server and client: `main.ts [LEG...] [--output DIR] [--runtime COMMAND]`.
 *
 * The command runs our programs (default: node), for example `bun` or `deno run -A`. The suites always run on Node. Legs with several nodes
 * run only by name, because they need a Postgres at DATABASE_URL or on this machine.
 *
 * Exits with 1 if a run differs from its baseline in either direction. The suites' results stay in the output directory.
 */
import { Console, Duration, Effect } from "effect"
import { tmpdir } from "node:os"
import { parseArgs } from "node:util"
import { legs } from "./Leg.ts"
import { run } from "./Run.ts"
import { runProgram } from "../runProgram.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { output: { type: "string" }, runtime: { type: "string" } }
})
const output = values.output ?? `${tmpdir()}/effect-mcp-conformance`
const [command = "node", ...options] = (values.runtime ?? "node").split(" ")
const chosen = legs.filter(({ name, nodes }) =>
  positionals.length === 0 ? nodes === undefined : positionals.includes(name)
)

const row = (cells: ReadonlyArray<string | number>): string =>
  cells.map((cell, index) => (index === 0 ? `${cell}`.padEnd(24) : `${cell}`.padStart(9))).join(" ")

const program = Effect.gen(function* () {
  const unknown = positionals.filter((name) => !legs.some((leg) => leg.name === name))
  if (unknown.length > 0) {
    yield* Console.error(`Unknown: ${unknown.join(", ")}. Known: ${legs.map(({ name }) => name).join(", ")}`)
    return 2
  }
  yield* Console.log(row(["", "passed", "of", "right", "failed", "warned", "seconds"]))
  const results = yield* Effect.forEach(chosen, (leg) =>
    Effect.tap(run(leg, output, [command, ...options]), ({ checks, duration, passed, run }) =>
      Console.log(
        row([
          leg.name,
          passed,
          run,
          checks.SUCCESS,
          checks.FAILURE,
          checks.WARNING,
          Duration.toSeconds(duration).toFixed(1)
        ])
      )
    )
  )
  const surprises = results.flatMap(({ leg, surprises }) => surprises.map((surprise) => `${leg.name}: ${surprise}`))
  if (surprises.length === 0) return 0
  yield* Console.error(`\nNot as the baselines say (see ${output}):\n${surprises.join("\n")}`)
  return 1
})

runProgram(program)
