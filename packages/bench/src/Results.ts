/** Writes RESULTS.md: the machine, the versions, the goals, the plots, and every table with the medians of the runs. */
import { readFileSync, writeFileSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Goals from "./Goals.ts"
import { median, type Row, type Table } from "./Measure.ts"
import type { Options } from "./Options.ts"
import * as Plots from "./Plots.ts"
import { root } from "./Process.ts"
import * as Report from "./Report.ts"
import * as Short from "./Short.ts"

const medianRow = (rows: ReadonlyArray<Row>): Row => {
  const [first] = rows
  if (first === undefined) return { key: "", figures: {} }
  const names = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))]
  const whole = rows.filter(({ error }) => error === undefined)
  if (whole.length === 0) return first
  return {
    key: first.key,
    figures: Object.fromEntries(
      names.map((name) => [name, median(whole.flatMap(({ figures }) => figures[name] ?? []))])
    )
  }
}

/** Combines several runs by their medians. A table may be missing from all but the first run. */
export const medians = (runs: ReadonlyArray<ReadonlyArray<Table>>): ReadonlyArray<Table> => {
  const [first = []] = runs
  return first.map((table) => {
    const same = runs.flatMap((run) => run.filter(({ title }) => title === table.title))
    return {
      ...table,
      rows: table.rows.map(({ key }) =>
        medianRow(same.flatMap(({ rows }) => rows.find((row) => row.key === key) ?? []))
      )
    }
  })
}

export const machine = (): string => {
  const [cpu] = os.cpus()
  const load = os.loadavg().map((value) => value.toFixed(1))
  return `node ${process.version}, ${os.cpus().length} x ${cpu?.model.trim()}, ${os.type()}, load average ${load.join(" ")}`
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const versions = (): string => {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as Manifest
  return Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter(([name, version]) => !version.startsWith("workspace") && !name.startsWith("vega"))
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")
}

/** Writes RESULTS.md with its plots, and the short tables and the picture of other documents. */
export const write = async (
  tables: ReadonlyArray<Table>,
  reached: ReadonlyArray<Goals.Reached>,
  options: Options
): Promise<void> => {
  const plots = await Plots.write(tables)
  const text = [
    "# Results",
    "",
    `Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}. How it is measured: README.md; what helped: NOTES.md.`,
    "",
    `- Machine: ${machine()}.`,
    `- Peers: ${versions()}.`,
    `- ${options.times === 1 ? "One run" : `${options.times} runs, of which the medians`}; ${options.rounds} interleaved rounds of ${options.ms} ms each, every other one for the`,
    "  peers. `cpu` is that of the server process (all threads) per request, lowest round; `x raw` the ratio to the raw limit of the",
    "  same run. Smaller is better.",
    "",
    Report.markdown(Goals.table(reached)).replace("### ", "## "),
    "",
    ...(plots.length === 0 ? [] : ["## Growth", "", ...plots.map(({ file, title }) => `![${title}](${file})`), ""]),
    "## Tables",
    "",
    ...tables.flatMap((table) => [Report.markdown(table), ""])
  ]
  const results = `${text.join("\n").trimEnd()}\n`
  writeFileSync(path.join(root, "RESULTS.md"), results)
  await Short.update(results)
}
