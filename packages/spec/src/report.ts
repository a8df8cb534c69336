/**
 * The report of `npm run requirements [-- [--json] [area...]]`. Prints the proven and the unproven requirements per revision and area. Runs
 * the test suite first, unless there is a fresh result.
 */
import { spawnSync } from "node:child_process"
import * as Rec from "effect/Record"
import * as Faults from "./Faults.ts"
import * as FuzzRules from "./FuzzRules.ts"
import { type Area, areas, ledger } from "./Ledger.ts"
import { link } from "./Pages.ts"
import { type Entry, type Proofs, type Standing, standings } from "./Proofs.ts"
import { every } from "./Requirement.ts"
import { isFresh, read, root } from "./Results.ts"

const args = process.argv.slice(2)
const only = args.filter((arg) => !arg.startsWith("--"))
const print = (line = ""): void => void process.stdout.write(`${line}\n`)

const prove = (): Proofs => {
  if (!isFresh()) {
    const shell = process.platform === "win32"
    const projects = ["--project=!perf", "--project=!docs:site"]
    const run = spawnSync("vitest", ["run", "--config", "vitest.workspace.ts", ...projects], {
      cwd: root,
      stdio: ["ignore", 2, 2],
      shell
    })
    if (run.status !== 0) process.exitCode = 1
  }
  const proofs = read()
  if (proofs === undefined) throw new Error("The test run left no result, as it did not run every test file.")
  return proofs
}

type Kind = "proven" | "unproven" | "others"

const count = (all: ReadonlyArray<Standing>, kind: Kind, level = "", among?: ReadonlySet<string>): number =>
  all
    .flatMap((standing) => standing[kind])
    .filter((entry) => entry.level.startsWith(level) && among?.has(entry.id) !== false).length

const cell = (all: ReadonlyArray<Standing>, level = ""): string => {
  const proven = count(all, "proven", level)
  const total = proven + count(all, "unproven", level)
  return total === 0 ? "-" : `${proven}/${total}`
}

const row = (name: string, cells: ReadonlyArray<string>): void =>
  print(name.padEnd(16) + cells.map((text) => text.padStart(12)).join(""))

/** Formats the table. `ids` are the statements with a fault, and `fuzzed` the statements with a rule of the fuzzer. */
const table = (
  all: ReadonlyArray<Standing>,
  names: ReadonlyArray<Area>,
  ids: ReadonlySet<string>,
  fuzzed: ReadonlySet<string>
): void => {
  const columns = every.map((revision) => all.filter((standing) => standing.revision === revision))
  const cells = (of: (column: ReadonlyArray<Standing>) => string) => columns.map(of)
  row("proven of", every)
  for (const area of names) {
    const ofArea = cells((column) => cell(column.filter((standing) => standing.area === area)))
    row(area, ofArea)
  }
  print()
  row(
    "all",
    cells((column) => cell(column))
  )
  row(
    "MUST (NOT)",
    cells((column) => cell(column, "MUST"))
  )
  row(
    "SHOULD (NOT)",
    cells((column) => cell(column, "SHOULD"))
  )
  row(
    "MUST with fault",
    cells((column) => `${count(column, "proven", "MUST", ids)}`)
  )
  row(
    "by a fuzz rule",
    cells((column) => `${count(column, "proven", "", fuzzed) + count(column, "unproven", "", fuzzed)}`)
  )
  row(
    "for others",
    cells((column) => `${count(column, "others")}`)
  )
}

const tests = ({ proofs }: Entry): string => {
  const [first, ...more] = new Set(proofs.map((test) => `${test.file}: ${test.title.replace(/ \[[^\]]*\]/g, "")}`))
  return `${first}${more.length === 0 ? "" : ` (and ${more.length} more)`}`
}

const list = (
  all: ReadonlyArray<Standing>,
  names: ReadonlyArray<Area>,
  rules: ReadonlyMap<string, ReadonlyArray<string>>
): void => {
  for (const area of names) {
    const here = all.filter((standing) => standing.area === area)
    const ids = [
      ...new Set(
        here.flatMap(({ others, proven, unproven }) => [...proven, ...unproven, ...others]).map(({ id }) => id)
      )
    ]
    print(`\n${area}`)
    for (const id of ids) {
      const proven = here.flatMap((standing) => standing.proven.filter((entry) => entry.id === id))
      const missing = here.filter((standing) => standing.unproven.some((entry) => entry.id === id))
      const total = proven.length + missing.length
      const fuzzed = rules.get(id)
      const fuzz = fuzzed === undefined ? "" : ` [fuzz: ${fuzzed.join(", ")}]`
      const open =
        missing.length === 0
          ? ""
          : ` (${proven.length} of ${total} revisions run: not in ${missing.map(({ revision }) => revision).join(", ")})`
      if (proven[0] !== undefined)
        print(
          `  proven    ${id}${open} <- ${tests({ ...proven[0], proofs: proven.flatMap((entry) => entry.proofs) })}${fuzz}`
        )
      else if (missing.length > 0) print(`  unproven  ${id} ${ledger[id].level}: ${ledger[id].text}${fuzz}`)
    }
  }
}

// A reader such as `head` may close the pipe early.
process.stdout.on("error", () => process.exit())

const proofs = prove()
const all = standings(proofs).filter((standing) => only.length === 0 || only.includes(standing.area))
const rules = FuzzRules.byRequirement(await FuzzRules.all())
const names = Rec.keys(areas).filter((area) => all.some((standing) => standing.area === area))
if (args.includes("--json")) {
  const links = Object.fromEntries(
    Object.entries(ledger).map(([id, entry]) => [
      id,
      { ...entry, fuzzRules: rules.get(id) ?? [], link: link(entry, entry.revisions.at(-1) ?? "2026-07-28") }
    ])
  )
  print(JSON.stringify({ standings: all, ledger: links }, null, 2))
} else {
  const faults = await Faults.all()
  table(all, names, new Set(faults.flatMap((fault) => fault.ids ?? [])), new Set(rules.keys()))
  list(all, names, rules)
}
