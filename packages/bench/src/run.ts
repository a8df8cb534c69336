/**
 * `npm run bench`: measures this library and the peers side by side, and prints tables.
 *
 * `-- --quick` takes less than five minutes; `--gate` exits with 1 if a row misses its goal; `--write` writes RESULTS.md. Other options:
 * `--only http,stdio`, `--kinds call,list`, `--servers raw,ours`, `--rounds N`, `--ms N`, `--times N`, `--kills N`. `--base DIR` also measures
 * another snapshot (from `node src/Published.ts DIR`), and `--no-build` measures the existing one.
 */
import * as Goals from "./Goals.ts"
import type { Table } from "./Measure.ts"
import * as Options from "./Options.ts"
import * as Published from "./Published.ts"
import * as Report from "./Report.ts"
import * as Results from "./Results.ts"
import { client } from "./suites/Client.ts"
import { cold } from "./suites/Cold.ts"
import { durable } from "./suites/Durable.ts"
import { fuzz } from "./suites/Fuzz.ts"
import { growth } from "./suites/Growth.ts"
import { nodes } from "./suites/Nodes.ts"
import { observed } from "./suites/Observed.ts"
import { operator } from "./suites/Operator.ts"
import { recovery } from "./suites/Recovery.ts"
import { sessions } from "./suites/Sessions.ts"
import { tasks } from "./suites/Tasks.ts"
import * as Throughput from "./suites/Throughput.ts"

const suites: Readonly<Record<Options.Suite, (options: Options.Options) => Promise<ReadonlyArray<Table>>>> = {
  http: Throughput.http,
  stdio: Throughput.stdio,
  tasks,
  durable,
  recovery,
  operator,
  observed,
  nodes,
  sessions,
  cold,
  client,
  fuzz,
  growth
}

const options = Options.parse(process.argv.slice(2))
if (options.build) await Published.make()
const runs: Array<ReadonlyArray<Table>> = []
for (let time = 0; time < options.times; time++) {
  const tables: Array<Table> = []
  // Growth hardly varies between runs, so measure it only once.
  const asked = Options.suites.filter((suite) => options.suites.includes(suite) && (time === 0 || suite !== "growth"))
  for (const suite of asked) {
    for (const table of await suites[suite](options)) {
      tables.push(table)
      console.log(Report.text(table))
    }
  }
  runs.push(tables)
}
const tables = Results.medians(runs)
const rows = Goals.medians(runs.map(Goals.rows))
console.log(Report.text(Goals.table(rows.filter(({ state }) => state !== "unknown"))))
console.log(Results.machine())
if (options.write) await Results.write(tables, rows, options)
const missed = options.gate ? Goals.missed(rows) : []
for (const row of missed) console.error(`Missed: ${row}`)
process.exit(missed.length > 0 ? 1 : 0)
