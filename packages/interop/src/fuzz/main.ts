/**
 * Runs the published fuzzer on our own programs: `main.ts [--only NAME]... [--time SECONDS] [--seed TEXT] [--at-once N] [--output DIR]`.
 *
 * `--only` selects legs by the start of their names. Exits with 1 if a leg has a finding that is not in `baseline/fuzz.txt`. The seed is
 * random and printed: repeating it repeats the run, as far as timing allows.
 */
import { Console, Duration, Effect, Option } from "effect"
import { randomInt } from "node:crypto"
import { tmpdir } from "node:os"
import { parseArgs } from "node:util"
import { cli, type FuzzLeg, legs, skipped } from "./FuzzLeg.ts"
import { limited } from "./FuzzRun.ts"
import { runProgram } from "../runProgram.ts"

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    time: { type: "string" },
    seed: { type: "string" },
    "at-once": { type: "string" },
    output: { type: "string" }
  }
})
const { only = [], output = `${tmpdir()}/effect-mcp-fuzz`, seed = `${randomInt(1_000_000_000)}` } = values
const seconds = values.time === undefined ? undefined : Number.parseFloat(values.time)
const concurrency = Number(values["at-once"] ?? 2)
const chosen = legs.filter(({ name }) => only.length === 0 || only.some((word) => name.startsWith(word)))

const row = (cells: ReadonlyArray<string | number>): string =>
  cells.map((cell, index) => (index === 0 ? `${cell}`.padEnd(18) : `${cell}`.padStart(14))).join(" ")

/** Returns the command that replays a finding. */
const again = (directory: string, { flags = [], listens, program }: FuzzLeg): string =>
  [`node ${cli} replay ${flags.map((flag) => `'${flag}'`).join(" ")} ${directory}/findings/NAME.json --`]
    .concat(listens === true ? `URL, after: node ${program.join(" ")}` : `node ${program.join(" ")}`)
    .join(" ")

const search = Effect.fnUntraced(function* (leg: (typeof legs)[number]) {
  const [duration, { code, directory, searched, text }] = yield* Effect.timed(limited(leg, { output, seed, seconds }))
  const { conversations, findings, rules } = Option.getOrElse(searched, () => ({
    conversations: 0,
    findings: [],
    rules: []
  }))
  const exercised = rules.filter(({ broken, kept }) => broken + kept > 0).length
  const took = Duration.toSeconds(duration).toFixed(1)
  yield* Console.log(row([leg.name, conversations, exercised, findings.length, took, code === 0 ? "" : "FAILED"]))
  // A search without a conversation proves nothing.
  if (code === 0 && conversations > 0) return 0
  yield* Console.error(`\n${leg.name} ended with ${code}, seed ${seed}:\n${text}\n${again(directory, leg)}\n`)
  return 1
})

const program = Effect.gen(function* () {
  if (chosen.length === 0 || seconds === 0 || Number.isNaN(seconds ?? 1) || !(concurrency >= 1)) {
    yield* Console.error(`--only: ${legs.map(({ name }) => name).join(", ")}; --time: seconds; --at-once: a number`)
    return 2
  }
  yield* Console.log(`seed ${seed}, reports in ${output}`)
  yield* Console.log(row(["", "conversations", "rules", "findings", "seconds"]))
  const failed = yield* Effect.forEach(chosen, search, { concurrency })
  if (only.length === 0) {
    const reasons = Object.entries(skipped).map(([file, reason]) => `${file} ${reason}`)
    yield* Console.log(`Not searched: ${reasons.join("; ")}`)
  }
  return Math.max(...failed)
})

runProgram(program)
