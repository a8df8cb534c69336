/**
 * The program behind `npm run requirements -- --prove [N] [word...]`. Applies the faults one at a time and runs the test of each, which must
 * fail.
 *
 * With N, only tries that many rows, different ones every day. With words, only tries rows that contain one of them in a name, a path or an
 * id. Works on a copy of the checkout in a temporary directory. Exits with 1 if a fault is not detected, a row does not apply, or no
 * failing test cites a statement that its row names.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as ChildProcess from "effect/process/ChildProcess"
import { join } from "node:path"
import { copyTo } from "./Checkout.ts"
import type { Fault } from "./Fault.ts"
import * as Faults from "./Faults.ts"
import { decodeReport, type Verdict, verdictOf } from "./Verdict.ts"

/**
 * Time limit for a test file with a fault, because some faults make every test run into its timeout. A file that does not end reports no
 * statements, so the limit leaves time for a file with a browser on a slow machine.
 */
const limit = "10 minutes"

/** Copies the checkout until the scope closes. The copy shares the installed modules, but imports its own packages. */
const copy = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = join(yield* fs.realPath(yield* fs.makeTempDirectoryScoped({ prefix: "prove-" })), "checkout")
  yield* Effect.sync(() => copyTo(directory))
  return directory
})

/** Runs test files of one project. Returns vitest's exit code and its report on each file. */
const runTests = Effect.fnUntraced(function* (directory: string, project: string, files: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const output = join(directory, "prove.json")
  yield* fs.remove(output, { force: true })
  // A fault may leave tests waiting. Short timeouts let the file end and report the statements that its tests cite.
  const waiting = ["--testTimeout=15000", "--hookTimeout=15000"]
  const args = ["run", "--config", "vitest.workspace.ts", "--reporter=json", `--outputFile=${output}`, ...waiting]
  const vitest = yield* ChildProcess.make("vitest", [...args, "--project", project, ...files], {
    cwd: directory,
    extendEnv: true,
    shell: process.platform === "win32",
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    forceKillAfter: "5 seconds"
  })
  const code = yield* vitest.exitCode
  const report = yield* Effect.flatMap(fs.readFileString(output), decodeReport)
  return { code, files: report.testResults }
}, Effect.scoped)

/** Returns the test files that fail without any fault, by project and path. */
const failing = Effect.fnUntraced(function* (directory: string, rows: ReadonlyArray<Fault>) {
  const found = new Set<string>()
  for (const project of new Set(rows.map(Faults.projectOf))) {
    const files = [...new Set(rows.filter((row) => Faults.projectOf(row) === project).map((row) => row.test))]
    const { files: results } = yield* runTests(directory, project, files)
    const passed = new Set(results.filter(({ status }) => status === "passed").map(({ name }) => name))
    for (const file of files) if (!passed.has(join(directory, file))) found.add(`${project} ${file}`)
  }
  return found
})

/** Runs the test of a row with the fault applied to the copy. Returns nothing if the test does not end. */
const tryOut = Effect.fnUntraced(function* (directory: string, row: Fault) {
  const fs = yield* FileSystem.FileSystem
  const file = join(directory, row.file)
  const text = yield* fs.readFileString(file)
  const faulty = Faults.put(row, text) ?? text
  return yield* Effect.acquireUseRelease(
    fs.writeFileString(file, faulty),
    () => Effect.timeoutOption(runTests(directory, Faults.projectOf(row), [row.test]), limit),
    () => Effect.orDie(fs.writeFileString(file, text))
  )
})

/** Prints the outcome of one fault. Returns the statements that it proves, or `undefined` if the row itself is wrong. */
const prove = Effect.fnUntraced(function* (directory: string, row: Fault, broken: ReadonlySet<string>) {
  const ids = row.ids ?? []
  const [problem] = Faults.problems(row, directory)
  const say = (word: string, more: string) => Console.log(`${word.padEnd(10)}${row.name}\n          ${more}`)
  if (problem !== undefined) return yield* Effect.as(say("NO FAULT", problem), undefined)
  if (broken.has(`${Faults.projectOf(row)} ${row.test}`))
    return yield* Effect.as(say("NO TEST", `${row.test} does not pass without the fault.`), undefined)
  const run = yield* tryOut(directory, row)
  const verdict: Verdict = Option.isNone(run)
    ? { _tag: "Dies", by: `no end within ${limit}`, cites: new Set() }
    : verdictOf(run.value)
  if (verdict._tag === "Survives") return yield* Effect.as(say("SURVIVES", `${row.file} <- ${row.test}`), undefined)
  if (verdict._tag === "NotTested") return yield* Effect.as(say("NO TEST", verdict.why), undefined)
  const by = `<- ${row.test}: ${verdict.by}`
  const uncited = ids.filter((id) => !verdict.cites.has(id))
  return uncited.length === 0
    ? yield* Effect.as(say("dies", by), ids)
    : yield* Effect.as(say("UNCITED", `${by}; no failing test cites ${uncited.join(", ")}`), undefined)
})

const program = Effect.gen(function* () {
  const args = process.argv.slice(2).filter((arg) => !arg.startsWith("--"))
  const count = args.find((arg) => /^\d+$/.test(arg))
  const words = args.filter((arg) => arg !== count)
  const chosen = (yield* Effect.promise(Faults.all)).filter(
    ({ file, ids = [], name, test }) =>
      words.length === 0 || words.some((word) => [file, name, test, ...ids].some((text) => text.includes(word)))
  )
  if (chosen.length === 0) {
    yield* Console.error(`No fault has ${words.join(" or ")} in its name, its paths or its ids.`)
    return 2
  }
  const day = Math.floor(Duration.toDays(yield* Clock.currentTimeMillis))
  const rows = Faults.turn(chosen, count === undefined ? undefined : Number(count), day)
  yield* Console.log(`${rows.length} of ${chosen.length} faults`)
  const directory = yield* copy
  const broken = yield* failing(directory, rows)
  const results = yield* Effect.forEach(rows, (row) => prove(directory, row, broken))
  const proven = [...new Set(results.flatMap((ids) => ids ?? []))].toSorted()
  const bad = results.filter((ids) => ids === undefined).length
  yield* Console.log(`\n${rows.length - bad} of ${rows.length} faults die; ${proven.length} statements are proven so:`)
  yield* Effect.forEach(proven, (id) => Console.log(`  ${id}`))
  return bad === 0 ? 0 : 1
}).pipe(Effect.scoped)

program.pipe(
  Effect.tap((code) =>
    Effect.sync(() => {
      process.exitCode = code
    })
  ),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
