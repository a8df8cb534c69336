/**
 * The servers to measure. To add one, serve the contract (`peers/contract.mjs`) on stdio with `--stdio`, or else at `/mcp` on a free port
 * of 127.0.0.1 that the server reports through `ready`. Then add a row here.
 */
import type { Era, Kinds } from "./Wire.ts"

export interface Entry {
  /** The implementation, and its configuration after a colon. */
  readonly id: string
  readonly file: string
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly eras: ReadonlyArray<Era>
  /** True if the server sends session ids. */
  readonly sessions?: boolean
  /** True if the server has the standalone GET stream. */
  readonly get?: boolean
  /** Whether to include the server with `--quick`. */
  readonly core?: boolean
  /** Kinds of load to measure. Default: all. */
  readonly kinds?: ReadonlyArray<Kinds>
}

/** True for other implementations. No goal depends on them. */
export const isPeer = ({ id }: { readonly id: string }): boolean => !/^(raw|ours)\b/.test(id)

const both: ReadonlyArray<Era> = ["2025", "2026"]
const old: ReadonlyArray<Era> = ["2025"]

/** The folder with our published servers. */
export const ours = ".published"

/** Kinds of load that depend on the handlers. */
const handled: ReadonlyArray<Kinds> = ["call", "wait"]

/** A variant of our server in both eras. Only tool calls are measured. */
const variant = (id: string, file: string, args: ReadonlyArray<string>, kinds: Entry["kinds"] = ["call"]): Entry => ({
  id: `ours:${id}`,
  file,
  args,
  eras: both,
  core: true,
  kinds
})

/** Variants of our server with other handlers. The server itself uses async functions. */
const variants = (file: string, promises: string, args: ReadonlyArray<string>): ReadonlyArray<Entry> => [
  variant("promise", promises, args, handled),
  variant("generators", file, [...args, "--generators"]),
  variant("provided", file, [...args, "--provided"]),
  variant("trivial", file, [...args, "--trivial"]),
  variant("promise-trivial", promises, [...args, "--trivial"]),
  variant("metrics", file, [...args, "--metrics"]),
  variant("traces", file, [...args, "--metrics", "--traces"])
]

const suffixed = (suffix: string, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.map((entry) => ({ ...entry, id: `${entry.id}${suffix}` }))

/** Our stdio servers as a user installs them. `directory` may contain another build to compare with. */
const stdioOf = (directory: string, suffix = ""): ReadonlyArray<Entry> => {
  const file = `${directory}/stdio.js`
  return suffixed(suffix, [
    { id: "ours", file, eras: both, core: true },
    ...variants(file, `${directory}/promise.js`, ["--stdio"]),
    // With a layer of tasks that the measured tools don't use.
    variant("tasks", file, ["--tasks", "--quiet"])
  ])
}

const endpoint = { eras: both, sessions: true, get: true, core: true }
const routerOf = (directory: string): Entry => ({ id: "ours:router", file: `${directory}/http.js`, ...endpoint })

/** Our HTTP servers. Compare the rows of the package without Effect with `ours:node`, because it has no router. */
const httpOf = (directory: string, suffix = ""): ReadonlyArray<Entry> => {
  const router = routerOf(directory)
  const node = `${directory}/node.js`
  return suffixed(suffix, [
    router,
    { id: "ours:node", file: node, ...endpoint },
    ...variants(router.file, `${directory}/promise.js`, []),
    variant("node-trivial", node, ["--trivial"])
  ])
}

const bundled = (directory: string): Entry => ({
  id: "ours:bundled",
  file: `${directory}/bundled.js`,
  eras: both,
  core: true
})

/** The endpoint for goals and growth. */
export const router: Entry = routerOf(ours)

export const stdio = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw", file: "peers/raw.mjs", args: ["--stdio"], eras: both, core: true },
  ...stdioOf(ours),
  ...(base === undefined ? [] : stdioOf(base, "@base")),
  { id: "sdk2", file: "peers/sdk2.mjs", args: ["--stdio"], eras: both, core: true },
  { id: "sdk1", file: "peers/sdk1.mjs", args: ["--stdio"], eras: old },
  { id: "effect", file: "peers/effect.mjs", args: ["--stdio"], eras: both, core: true },
  { id: "tmcp", file: "peers/tmcp.mjs", args: ["--stdio"], eras: old, core: true }
]

/** Returns the servers whose calls become tasks. */
export const withTasks = (base?: string): ReadonlyArray<Entry> =>
  stdio(base).filter(({ id }) => id.startsWith("ours:tasks"))

/** Servers that are only measured at a cold start, because they don't differ once warm. */
export const starts = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw:both", file: "peers/raw.mjs", args: ["--stdio", "--both"], eras: both, core: true },
  bundled(ours),
  ...(base === undefined ? [] : suffixed("@base", [bundled(base)]))
]

export const http = (base?: string): ReadonlyArray<Entry> => [
  { id: "raw", file: "peers/raw.mjs", eras: both, sessions: true, get: true, core: true },
  ...httpOf(ours),
  ...(base === undefined ? [] : httpOf(base, "@base")),
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

/** The clients to measure. Each connects, then runs the loop in `clients/loop.mjs`. */
export const clients = (base?: string): ReadonlyArray<Client> => [
  { id: "raw", file: "peers/clients/raw.mjs", eras: both, core: true },
  { id: "ours", file: `${ours}/client.js`, eras: both, core: true },
  ...(base === undefined ? [] : [{ id: "ours@base", file: `${base}/client.js`, eras: both }]),
  { id: "sdk2", file: "peers/clients/sdk2.mjs", eras: both, core: true },
  { id: "sdk1", file: "peers/clients/sdk1.mjs", eras: old },
  { id: "effect", file: "peers/clients/effect.mjs", eras: both, core: true }
]
