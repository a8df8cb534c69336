/** Targets of `npm run fuzz`: our servers over stdio and HTTP, the gateway, the proxy, the examples, and our client. */
import { fileURLToPath } from "node:url"

export interface FuzzLeg {
  readonly name: string
  /** How long to search, in seconds. */
  readonly seconds: number
  /** Whether to search a server, or a client to which servers are offered. Default: a server. */
  readonly side?: "client" | "server"
  /** The program with its arguments, run in its own folder. `URL` is replaced by the address of the server behind it. */
  readonly program: ReadonlyArray<string>
  /** True if the program listens and prints its address on stdout or stderr. Default: it speaks over stdio. */
  readonly listens?: boolean
  /** A listening server behind the program. */
  readonly behind?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** Further options of `effect-mcp`. */
  readonly flags?: ReadonlyArray<string>
}

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const everything = at("interop/src/reference/server.ts")
const example = (file: string): string => at(`examples/src/${file}`)

/** The published command, run from source. */
export const cli = at("cli/src/bin.ts")
/** Accepted findings. */
export const known = at("interop/baseline/fuzz.txt")

/** Seconds for targets with all features, and for targets with a single feature. */
const [long, short] = [60, 20]

const overStdio = (name: string, file: string, ...args: ReadonlyArray<string>): FuzzLeg => ({
  name,
  seconds: short,
  program: [example(file), ...args]
})

/** An example that listens. Port 0 picks any free port. */
const overHttp = (name: string, file: string, ...args: ReadonlyArray<string>): FuzzLeg => ({
  ...overStdio(name, file, ...args),
  listens: true,
  env: { PORT: "0" }
})

const bearer = (token: string): ReadonlyArray<string> => ["--header", `Authorization: Bearer ${token}`]

/** The longest come first, so that two legs running in parallel end together. */
export const legs: ReadonlyArray<FuzzLeg> = [
  { name: "everything", seconds: long, program: [everything, "--stdio"] },
  { name: "everything-http", seconds: long, program: [everything, "--http", "--port", "0"], listens: true },
  { name: "workspace", seconds: long, program: [example("workspace/server.ts"), "."] },
  {
    name: "gateway",
    seconds: long,
    program: [example("gateway.ts"), "URL"],
    behind: [everything, "--http", "--port", "0"]
  },
  { name: "everything-node", seconds: short, program: [everything, "--node", "--port", "0"], listens: true },
  { name: "everything-sse", seconds: short, program: [everything, "--sse", "--port", "0"], listens: true },
  overHttp("workspace-http", "workspace/server.ts", ".", "--http", "--port", "0"),
  {
    name: "proxy",
    seconds: short,
    program: [cli, "proxy", "--http", "--port", "0", "--", "URL"],
    listens: true,
    behind: [everything, "--http", "--port", "0"]
  },
  { name: "client", seconds: short, side: "client", program: [at("interop/src/reference/client.ts")] },
  overStdio("hello", "hello.ts"),
  overStdio("calculator", "calculator-server.ts"),
  overHttp("calculator-http", "calculator-http.ts"),
  overHttp("calculator-node", "calculator-node.ts"),
  overStdio("tables", "tables-server.ts"),
  overStdio("weather", "ai/server.ts"),
  overStdio("notes-api", "bridge/server.ts"),
  overStdio("meter", "meter/server.ts"),
  overStdio("reports", "tasks/reports.ts"),
  overStdio("publisher", "tasks/durable.ts"),
  overStdio("bakery", "tasks/bakery-server.ts", "bakery.db"),
  {
    ...overHttp("keys", "keys/server.ts", "0"),
    env: { KEYS: "ada:key-of-ada" },
    flags: bearer("key-of-ada")
  },
  overStdio("measurements", "apps/server.ts"),
  overStdio("skills", "skills/server.ts"),
  overStdio("promise-weather", "promise/weather.ts"),
  overHttp("promise-express", "promise/express.ts"),
  { ...overHttp("promise-http", "promise/http.ts"), flags: bearer("secret-of-ada") },
  overStdio("compat-weather", "compat/weather.ts")
]

/** Examples that are servers but are not searched. */
export const skipped: Readonly<Record<string, string>> = {
  "host/notes.ts": "has one tool without arguments, like hello.ts",
  "host/web.ts": "has fixed answers, like hello.ts",
  "nodes/library-http.ts": "needs a Postgres",
  "nodes/library-node.ts": "needs a Postgres",
  "nodes/postgres.ts": "needs a Postgres",
  "nodes/robin.ts": "is a load balancer",
  "notes/issuer.ts": "is no MCP server",
  "notes/server.ts": "needs an issuer and a login",
  "operate/console.ts": "listens at fixed ports",
  "operate/observed.ts": "listens at a fixed port",
  "operate/socket.ts": "listens at a fixed socket",
  "workspace/http.ts": "is a part of workspace/server.ts"
}
