/**
 * `npm run mutate -- [PACKAGE...] [--only TEXT] [--minutes N] [--seed N]`: changes the sources of a package in a copy of the checkout, one small
 * change (a mutant) at a time, and runs the package's quick tests that reach it. Prints the mutants that no test notices, and writes
 * the scores to the page of proofs. Runs random mutants until the time is over; without a seed, other mutants every day. With `--only`,
 * changes only modules with this text in their paths, and writes nothing.
 */
import { spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { copyTo } from "@effect-mcp/spec/Checkout"
import { install } from "../Toolbox.ts"
import { root } from "../Workspace.ts"
import * as Score from "./Score.ts"

const day = 24 * 60 * 60_000
const packages = ["protocol", "core", "auth", "tasks"]
const page = path.join(root, "packages/docs/pages/proofs.md")

/** Vitest's configuration of one project of the workspace, without its reporters. Counting coverage makes hot loops many times slower. */
const vitestConfig = (name: string): string => `import workspace from "./vitest.workspace.ts"
const { test } = workspace
const projects = test.projects.filter((project) => project.test.name === ${JSON.stringify(name)})
export default { ...workspace, test: { ...test, projects, reporters: [], silent: true, testTimeout: 900_000 } }
`

/** Counting the coverage of these inner loops takes minutes. */
const hot = ["packages/protocol/src/schema/LinearPattern.ts"]

const strykerConfig = (name: string, only: string, tools: string) => ({
  inPlace: true,
  tempDirName: "stryker-backup",
  testRunner: "vitest",
  vitest: { configFile: "vitest.mutation.mjs", related: true },
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  checkers: ["shuffle"],
  concurrency: 1,
  dryRunTimeoutMinutes: 30,
  reporters: ["bounded"],
  mutate: globSync(`packages/${name}/src/**/*.ts`, { cwd: root }).filter(
    (file) => file.includes(only) && !hot.includes(file)
  ),
  plugins: [
    pathToFileURL(path.join(tools, "node_modules/@stryker-mutator/vitest-runner/dist/src/index.js")).href,
    pathToFileURL(path.join(import.meta.dirname, "plugin.ts")).href
  ]
})

/** Runs the mutants of a package in the copy until the time is over. */
const mutate = async (
  name: string,
  copy: string,
  options: { readonly minutes: number; readonly only: string; readonly seed: number }
) => {
  const tools = await install("stryker")
  const results = path.join(copy, `mutants-of-${name}.jsonl`)
  writeFileSync(results, "")
  writeFileSync(path.join(copy, "vitest.mutation.mjs"), vitestConfig(name))
  writeFileSync(path.join(copy, "stryker.config.json"), JSON.stringify(strykerConfig(name, options.only, tools)))
  const stryker = path.join(tools, "node_modules/@stryker-mutator/core/bin/stryker.js")
  spawnSync(process.execPath, [stryker, "run", "stryker.config.json"], {
    cwd: copy,
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      ...process.env,
      MUTATION_MINUTES: `${options.minutes}`,
      MUTATION_RESULTS: results,
      MUTATION_SEED: `${options.seed}`
    }
  })
  return Score.count(readFileSync(results, "utf8"))
}

const report = (name: string, score: Score.Score, copy: string, isWhole: boolean): void => {
  for (const survivor of score.survivors) {
    const fileName = path.relative(copy, survivor.fileName)
    console.log(Score.describe({ ...survivor, fileName }, readFileSync(survivor.fileName, "utf8")))
  }
  const line = Score.row(name, score, new Date().toISOString().slice(0, 10))
  console.log(line)
  if (!isWhole) return
  writeFileSync(page, Score.update(readFileSync(page, "utf8"), name, line))
  spawnSync("oxfmt", [page], { shell: process.platform === "win32" })
}

const main = async (): Promise<void> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "20" },
      only: { type: "string", default: "" },
      seed: { type: "string", default: `${Math.floor(Date.now() / day)}` }
    }
  })
  const unknown = positionals.filter((name) => !packages.includes(name))
  if (unknown.length > 0)
    throw new Error(`Packages that can be mutated: ${packages.join(", ")}; not ${unknown.join(", ")}`)
  const directory = realpathSync(mkdtempSync(path.join(os.tmpdir(), "mutate-")))
  const copy = path.join(directory, "checkout")
  try {
    copyTo(copy)
    for (const name of positionals.length > 0 ? positionals : packages) {
      const score = await mutate(name, copy, {
        minutes: Number(values.minutes),
        only: values.only,
        seed: Number(values.seed)
      })
      if (score !== undefined) report(name, score, copy, values.only === "")
      else {
        console.error(`${name}: Stryker ended before the first mutant.`)
        process.exitCode = 1
      }
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

await main()
