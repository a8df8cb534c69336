/**
 * `node src/profile.ts <id> [era] [kind] [in flight] [ms]` prints a CPU profile of a server under load, by package, file and function. Ids of
 * stdio servers start with `stdio/`. Ids that start with `client/` profile a client of the raw server. `--cold` profiles a start instead.
 */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Http from "./Http.ts"
import * as Process from "./Process.ts"
import * as Servers from "./Servers.ts"
import * as Stdio from "./Stdio.ts"
import * as Client from "./suites/Client.ts"
import type { Target } from "./Target.ts"
import { type Era, type Kinds, kinds } from "./Wire.ts"

interface Node {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: ReadonlyArray<number>
}
interface Profile {
  readonly nodes: ReadonlyArray<Node>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

const [asked = "stdio/ours", eraName = "2025", kindName = "call", inFlight = "64", ms = "5000"] = process.argv
  .slice(2)
  .filter((arg) => !arg.startsWith("--"))
const isCold = process.argv.includes("--cold")
const era: Era = eraName === "2026" ? "2026" : "2025"
const isKind = (name: string): name is Kinds => Object.hasOwn(kinds, name)
const kind: Kinds = isKind(kindName) ? kindName : "call"
const overStdio = asked.startsWith("stdio/")
const isClient = asked.startsWith("client/")
const id = asked.replace(/^(stdio|client)\//, "")
const base = ".published-base"
const client = isClient ? Servers.clients(base).find((entry) => entry.id === id) : undefined
const all = overStdio ? [...Servers.stdio(base), ...Servers.starts()] : Servers.http(base)
const entry = all.find((entry) => entry.id === (isClient ? "raw" : id))
if (entry === undefined || (isClient && client === undefined)) throw new Error(`Nothing is called ${asked}`)
const directory = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-profile-"))
const flags = ["--cpu-prof", "--cpu-prof-interval", isCold ? "100" : "200", "--cpu-prof-dir", directory]

const underLoad = async (target: Target): Promise<number> => {
  if (isCold) return 1
  const { requests } = await target.run(kind, Number(inFlight), { ms: Number(ms) })
  return requests
}
let requests = 0
if (client !== undefined) {
  const server = await Http.start(entry)
  const { child, ready, run } = Client.start(client, `http://127.0.0.1:${server.port}/mcp`, era, flags)
  await ready
  if (!isCold) ({ requests } = await run(Number(inFlight), Number(ms)))
  const exited = new Promise((resolve) => child.once("exit", resolve))
  child.disconnect()
  await exited
  await Process.stop(server.child)
} else if (overStdio) {
  const target = Stdio.target(entry, era, { flags })
  await target.ready()
  requests = await underLoad(target)
  await target.end()
} else {
  const server = await Http.start(entry, { flags })
  const target = Http.target(server, era)
  requests = await underLoad(target)
  const exited = new Promise((resolve) => server.child.once("exit", resolve))
  server.child.kill("SIGUSR2")
  await exited
}

const [file = ""] = readdirSync(directory)
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(path.join(directory, file), "utf8")) as Profile
const parents = new Map(nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const)))
const byId = new Map(nodes.map((node) => [node.id, node]))
const short = (url: string): string => url.replace(/^file:\/\//, "").replace(/.*node_modules\//, "")
const packageOf = ({ callFrame: { functionName, url } }: Node): string => {
  if (url === "") return functionName.startsWith("(") ? functionName : "(builtins)"
  if (url.startsWith("node:")) return "node"
  const parts = short(url).split("/")
  return url.includes("node_modules") ? parts.slice(0, parts[0]?.startsWith("@") === true ? 2 : 1).join("/") : "(bench)"
}

const packages = new Map<string, number>()
const frames = new Map<string, number>()
const files = new Map<string, number>()
const inclusive = new Map<string, number>()
const count = (map: Map<string, number>, key: string, us: number) => map.set(key, (map.get(key) ?? 0) + us)
const nameOf = ({ callFrame: { functionName, lineNumber, url } }: Node): string =>
  `${functionName || "(anonymous)"}  ${short(url)}:${lineNumber + 1}`
let total = 0
for (const [i, sample] of samples.entries()) {
  const node = byId.get(sample)
  const us = timeDeltas[i] ?? 0
  if (node === undefined || node.callFrame.functionName === "(idle)") continue
  total += us
  count(packages, packageOf(node), us)
  count(frames, nameOf(node), us)
  count(files, short(node.callFrame.url), us)
  const seen = new Set<string>()
  for (let at: number | undefined = sample; at !== undefined; at = parents.get(at)) {
    const on = byId.get(at)
    if (on !== undefined) seen.add(nameOf(on))
  }
  for (const name of seen) count(inclusive, name, us)
}
const top = (map: Map<string, number>, n: number): string =>
  [...map]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, n)
    .map(
      ([key, us]) =>
        `${((us / total) * 100).toFixed(1).padStart(6)}% ${(us / requests).toFixed(2).padStart(8)} us  ${key}`
    )
    .join("\n")
console.log(
  `${asked} ${era} ${kind}: ${requests} requests, ${(total / requests).toFixed(1)} us each, start-up included`
)
for (const [title, map, n] of [
  ["package", packages, 12],
  ["file", files, 25],
  ["function, with what it calls", inclusive, 160],
  ["function", frames, 45]
] as const) {
  console.log(`\n-- by ${title}\n${top(map, n)}`)
}
process.exit(0)
