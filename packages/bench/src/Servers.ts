/**
 * What is measured. To add a server: serve the contract (`peers/contract.mjs`) on stdio with `--stdio`, else on a free port of
 * 127.0.0.1 at `/mcp` that it says by `ready`; then a row here.
 */
import type { Era, Kinds } from "./Wire.ts"

export interface Entry {
  /** The part before the colon is the implementation, the rest its configuration. */
  readonly id: string
  readonly file: string
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly eras: ReadonlyArray<Era>
  /** Gives session ids. */
  readonly sessions?: boolean
  /** Has the standalone GET stream. */
  readonly get?: boolean
  /** Part of `--quick`. */
  readonly core?: boolean
  /** The kinds of load that it is measured under. Default all. */
  readonly kinds?: ReadonlyArray<Kinds>
}

/** Whether no goal depends on it: neither ours nor the limit. */
export const isPeer = ({ id }: { readonly id: string }): boolean => !/^(raw|ours)\b/.test(id)

const both: ReadonlyArray<Era> = ["2025", "2026"]
const old: ReadonlyArray<Era> = ["2025"]

/** Where `Published` puts our servers. */
export const ours = ".published"

/** The same with handlers that take a step: a generator that asks for a service. */
const generators = ({ eras, file }: Entry, suffix = ""): Entry => ({
  id: `ours:generators${suffix}`,
  file,
  args: ["--generators"],
  eras,
  core: true,
  kinds: ["call"]
})

/** The same with a service that each request makes. */
const provided = ({ eras, file }: Entry): Entry => ({
  id: "ours:provided",
  file,
  args: ["--provided"],
  eras,
  core: true,
  kinds: ["call"]
})

/** The same with metrics, and with metrics and spans: what is not asked for is what the other rows measure. */
const observed = ({ args = [], eras, file }: Entry): ReadonlyArray<Entry> => [
  { id: "ours:metrics", file, args: [...args, "--metrics"], eras, core: true, kinds: ["call"] },
  { id: "ours:traces", file, args: [...args, "--metrics", "--traces"], eras, core: true, kinds: ["call"] }
]

/** The same with a layer of tasks, which the tools of the contract do not use. */
const tasks = ({ eras, file }: Entry, suffix = ""): Entry => ({
  id: `ours:tasks${suffix}`,
  file,
  args: ["--tasks", "--quiet"],
  eras,
  core: true,
  kinds: ["call"]
})

/** Without Effect, with zod: plain functions, and async ones, which always wait. Beside them Effect handlers that wait for async functions. */
const promises = (file: string, args: ReadonlyArray<string>): ReadonlyArray<Entry> => [
  { id: "ours:promise", file: `${ours}/promise.js`, args, eras: both, kinds: ["call"] },
  { id: "ours:promise-async", file: `${ours}/promise.js`, args: [...args, "--async"], eras: both, kinds: ["call"] },
  { id: "ours:async", file, args: [...args, "--async"], eras: both, kinds: ["call"] }
]

/** Ours, as a user installs it; `directory` may hold another build to compare with. */
const oursAt = (directory: string, suffix = "") => ({
  stdio: { id: `ours${suffix}`, file: `${directory}/stdio.js`, eras: both, core: true },
  bundled: { id: `ours:bundled${suffix}`, file: `${directory}/bundled.js`, eras: both, core: true },
  router: {
    id: `ours:router${suffix}`,
    file: `${directory}/http.js`,
    eras: both,
    sessions: true,
    get: true,
    core: true
  },
  node: { id: `ours:node${suffix}`, file: `${directory}/node.js`, eras: both, sessions: true, get: true, core: true }
})

/** The endpoint that goals and growth are measured with. */
export const router: Entry = oursAt(ours).router

export const stdio = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw", file: "peers/raw.mjs", args: ["--stdio"], eras: both, core: true },
  oursAt(ours).stdio,
  generators(oursAt(ours).stdio),
  provided(oursAt(ours).stdio),
  tasks(oursAt(ours).stdio),
  ...observed(oursAt(ours).stdio),
  ...promises(oursAt(ours).stdio.file, ["--stdio"]),
  ...(base === undefined
    ? []
    : [
        oursAt(base, "@base").stdio,
        generators(oursAt(base, "@base").stdio, "@base"),
        tasks(oursAt(base, "@base").stdio, "@base")
      ]),
  { id: "sdk2", file: "peers/sdk2.mjs", args: ["--stdio"], eras: both, core: true },
  { id: "sdk1", file: "peers/sdk1.mjs", args: ["--stdio"], eras: old },
  { id: "effect", file: "peers/effect.mjs", args: ["--stdio"], eras: both, core: true },
  { id: "tmcp", file: "peers/tmcp.mjs", args: ["--stdio"], eras: old, core: true }
]

/** Those whose calls become tasks. */
export const withTasks = (base?: string): ReadonlyArray<Entry> =>
  stdio(base).filter(({ id }) => id.startsWith("ours:tasks"))

/** For cold start alone: once warm, they are no different. */
export const starts = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw:both", file: "peers/raw.mjs", args: ["--stdio", "--both"], eras: both, core: true },
  oursAt(ours).bundled,
  ...(base === undefined ? [] : [oursAt(base, "@base").bundled])
]

export const http = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw", file: "peers/raw.mjs", eras: both, sessions: true, get: true, core: true },
  router,
  oursAt(ours).node,
  generators(router),
  provided(router),
  ...observed(router),
  ...promises(oursAt(ours).node.file, []),
  ...(base === undefined
    ? []
    : [oursAt(base, "@base").router, oursAt(base, "@base").node, generators(oursAt(base, "@base").router, "@base")]),
  { id: "sdk2:handler", file: "peers/sdk2.mjs", eras: both, core: true },
  {
    id: "sdk2:stateful",
    file: "peers/sdk2.mjs",
    args: ["--stateful"],
    eras: old,
    sessions: true,
    get: true,
    core: true
  },
  { id: "sdk2:stateful-json", file: "peers/sdk2.mjs", args: ["--stateful", "--json"], eras: old },
  { id: "sdk1:stateful", file: "peers/sdk1.mjs", eras: old, sessions: true, get: true },
  { id: "effect", file: "peers/effect.mjs", eras: both, sessions: true, core: true },
  { id: "tmcp", file: "peers/tmcp.mjs", eras: both, sessions: true, get: true, core: true }
]

export interface Client {
  readonly id: string
  readonly file: string
  readonly eras: ReadonlyArray<Era>
  readonly core?: boolean
}

/** Each connects, then runs the loop of `clients/loop.mjs`. */
export const clients = (base?: string): ReadonlyArray<Client> => [
  { id: "raw", file: "peers/clients/raw.mjs", eras: both, core: true },
  { id: "ours", file: `${ours}/client.js`, eras: both, core: true },
  ...(base === undefined ? [] : [{ id: "ours@base", file: `${base}/client.js`, eras: both }]),
  { id: "sdk2", file: "peers/clients/sdk2.mjs", eras: both, core: true },
  { id: "sdk1", file: "peers/clients/sdk1.mjs", eras: old },
  { id: "effect", file: "peers/clients/effect.mjs", eras: both, core: true }
]
