/** What is run: one suite against one server, against a proxy before it, or against the client, at one revision. */

export interface Leg {
  readonly name: string
  /** The name of its baseline. Default: its own name. */
  readonly baseline?: string
  /** The version of the suite. */
  readonly suite: "0.1.16" | "0.2.0-alpha.12"
  readonly side: "client" | "server"
  /** Whether `effect-mcp proxy` stands before the server. */
  readonly proxied?: boolean
  /** How the reference server serves HTTP: over a router, or straight on `node:http`. Default: the router. */
  readonly over?: "http" | "node"
  /** How many nodes of the reference server share a Postgres, behind a round robin. Default: one, without a database. Run by name only. */
  readonly nodes?: number
  /** Scenarios that are run one by one, since no suite has them. Default: those that `args` choose. */
  readonly named?: ReadonlyArray<string>
  /** What the suite is told. */
  readonly args: ReadonlyArray<string>
  /** How many scenarios it has: a run of fewer has gone wrong. */
  readonly scenarios: number
  /** The one revision that the server is restricted to. Default: it speaks all. */
  readonly revision?: string
}

const newest = "0.2.0-alpha.12"
const requirements = (version: string) => ["--requirements", version]

/** The baseline is that of one server on `node:http`: nodes behind a round robin are no different. */
const severalNodes = [2, 3].flatMap((nodes): ReadonlyArray<Leg> => {
  const leg = { suite: newest, side: "server", nodes } as const
  return [
    {
      ...leg,
      name: `nodes-${nodes}-2025-11-25`,
      baseline: "node-2025-11-25",
      args: requirements("2025-11-25"),
      scenarios: 33
    },
    {
      ...leg,
      name: `nodes-${nodes}-2026-07-28`,
      baseline: "node-2026-07-28",
      args: requirements("2026-07-28"),
      scenarios: 50
    }
  ]
})

export const legs: ReadonlyArray<Leg> = [
  { name: "server-2025-11-25", suite: newest, side: "server", args: requirements("2025-11-25"), scenarios: 33 },
  { name: "server-2026-07-28", suite: newest, side: "server", args: requirements("2026-07-28"), scenarios: 50 },
  {
    name: "node-2025-11-25",
    suite: newest,
    side: "server",
    args: requirements("2025-11-25"),
    scenarios: 33,
    over: "node"
  },
  {
    name: "node-2026-07-28",
    suite: newest,
    side: "server",
    args: requirements("2026-07-28"),
    scenarios: 50,
    over: "node"
  },
  {
    // The suite offers 2025-11-25 whatever it is told; a server that speaks only an older revision answers with that one.
    name: "server-only-2025-06-18",
    suite: newest,
    side: "server",
    args: ["--suite", "all", "--spec-version", "2025-06-18"],
    scenarios: 27,
    revision: "2025-06-18"
  },
  {
    name: "server-only-2025-03-26",
    suite: newest,
    side: "server",
    args: requirements("2025-11-25"),
    scenarios: 33,
    revision: "2025-03-26"
  },
  { name: "server-0.1.16", suite: "0.1.16", side: "server", args: ["--suite", "all"], scenarios: 32 },
  {
    name: "proxy-2025-11-25",
    suite: newest,
    side: "server",
    args: requirements("2025-11-25"),
    scenarios: 33,
    proxied: true
  },
  {
    name: "proxy-2026-07-28",
    suite: newest,
    side: "server",
    args: requirements("2026-07-28"),
    scenarios: 50,
    proxied: true
  },
  { name: "client-2025-11-25", suite: newest, side: "client", args: requirements("2025-11-25"), scenarios: 25 },
  { name: "client-2026-07-28", suite: newest, side: "client", args: requirements("2026-07-28"), scenarios: 39 },
  {
    name: "server-extensions",
    suite: newest,
    side: "server",
    args: [],
    named: ["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"],
    scenarios: 3
  },
  ...severalNodes
]
