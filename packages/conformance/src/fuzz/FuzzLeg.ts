/** What `npm run fuzz` searches: our servers over stdio and HTTP, the gateway, the proxy, the examples, and our client. */
import { fileURLToPath } from "node:url"

export interface FuzzLeg {
  readonly name: string
  /** How long it is searched, in seconds. */
  readonly seconds: number
  /** What is searched: a server, or a client that is offered servers. Default: a server. */
  readonly side?: "client" | "server"
  /** The program with its arguments, in a folder of its own. `URL` is the address of what stands behind it. */
  readonly program: ReadonlyArray<string>
  /** Whether the program listens, and says on stdout or stderr where. Default: it speaks over stdio. */
  readonly listens?: boolean
  /** A server that listens behind the program. */
  readonly behind?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  /** What else `effect-mcp` is told. */
  readonly flags?: ReadonlyArray<string>
}

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const everything = at("everything/src/server.ts")
const example = (file: string): string => at(`examples/src/${file}`)

/** The command, as it is published but for its bundle. */
export const cli = at("cli/src/bin.ts")
/** Findings that are accepted. */
export const known = at("conformance/baseline/fuzz.txt")

/** The time of what has all features, and of what has one of them. */
const [long, short] = [60, 20]

const overStdio = (name: string, file: string, ...args: ReadonlyArray<string>): FuzzLeg => ({
  name,
  seconds: short,
  program: [example(file), ...args]
})

/** An example that listens: port 0 is any that is free. */
const overHttp = (name: string, file: string, ...args: ReadonlyArray<string>): FuzzLeg => ({
  ...overStdio(name, file, ...args),
  listens: true,
  env: { PORT: "0" }
})

const bearer = (token: string): ReadonlyArray<string> => ["--header", `Authorization: Bearer ${token}`]

/** The longest come first, so that two at once end together. */
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
  { name: "client", seconds: short, side: "client", program: [at("everything/src/client.ts")] },
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
  overStdio("promise-weather", "promise/weather.ts"),
  overHttp("promise-express", "promise/express.ts"),
  { ...overHttp("promise-http", "promise/http.ts"), flags: bearer("secret-of-ada") },
  overStdio("compat-weather", "compat/weather.ts")
]

/** Examples that serve and are not searched. */
export const skipped: Readonly<Record<string, string>> = {
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
