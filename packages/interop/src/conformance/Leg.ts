/** One run: a suite against one server, against a proxy in front of it, or against the client, at one revision. */

export interface Leg {
  readonly name: string
  /** Name of its baseline. Default: its own name. */
  readonly baseline?: string
  /** Version of the suite. */
  readonly suite: "0.1.16" | "0.2.0-alpha.12"
  readonly side: "client" | "server"
  /** Whether to run `effect-mcp proxy` in front of the server. */
  readonly proxied?: boolean
  /** How the reference server serves HTTP: through a router, or directly on `node:http`. Default: the router. */
  readonly over?: "http" | "node"
  /**
   * Number of nodes of the reference server that share a Postgres, behind a round-robin proxy. Default: one, without a database. Run only
   * by name.
   */
  readonly nodes?: number
  /** Scenarios to run one by one, because no suite includes them. Each runs with `args`. Default: the scenarios that `args` select. */
  readonly named?: ReadonlyArray<string>
  /** Arguments for the suite. */
  readonly args: ReadonlyArray<string>
  /** Number of scenarios. A run with fewer has gone wrong. */
  readonly scenarios: number
  /** The only revision that the server may speak. Default: all. */
  readonly revision?: string
}

const newest = "0.2.0-alpha.12"
const requirements = (version: string) => ["--requirements", version]

const skillScenarios: Readonly<Record<Leg["side"], ReadonlyArray<string>>> = {
  server: ["skills-directory", "skills-enumeration", "skills-manifest"],
  client: ["client-no-prefetch", "client-verify-digest", "client-verify-frontmatter", "client-verify-size"]
}

/** Scenarios of the Skills extension. They run at the newest revision, unless a version is forced. */
const skillsOf = (side: Leg["side"], version: string) => {
  const named = skillScenarios[side].map((name) => `sep-2640-${name}`)
  const args = ["--spec-version", version, "--force"]
  return { suite: newest, side, named, args, scenarios: named.length, baseline: "skills" } as const
}

/** Uses the baseline of a single server on `node:http`: nodes behind a round-robin proxy must behave the same. */
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
    // The suite offers 2025-11-25 regardless of its arguments. A server that speaks only an older revision answers with that revision.
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
  { ...skillsOf("server", ""), name: "server-skills-2026-07-28", args: [] },
  { ...skillsOf("server", "2025-11-25"), name: "server-skills-2025-11-25" },
  { ...skillsOf("server", ""), name: "proxy-skills-2026-07-28", args: [], proxied: true },
  { ...skillsOf("client", "2025-11-25"), name: "client-skills-2025-11-25" },
  { ...skillsOf("client", "2026-07-28"), name: "client-skills-2026-07-28" },
  ...severalNodes
]
