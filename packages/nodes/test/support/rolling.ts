/** Restarts nodes one after another under load from several kinds of clients. */
import { McpClient } from "@effect-mcp/client"
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { balancer, freePorts } from "./balancer.ts"
import { Slow } from "./features.ts"

const script = fileURLToPath(new URL("rolling-node.ts", import.meta.url))

/** Calls the tool `slow`; rejects unless it is answered. */
type Call = (n: number, ms: number) => Promise<number>

const Answer = Schema.decodeUnknownSync(Schema.Struct({ structuredContent: Schema.Struct({ n: Schema.Int }) }))
const info = { name: "rolling", version: "1.0.0" }

const own = (revision: "2025-11-25" | "2026-07-28") => (url: string) =>
  Effect.map(
    Layer.build(
      McpClient.layerHttp({ url, revisions: [revision] }).pipe(Layer.provide(Layer.fresh(FetchHttpClient.layer)))
    ),
    (context): Call => {
      const client = Context.get(context, McpClient.McpClient)
      return (n, ms) => Effect.runPromise(Effect.map(client.callTool(Slow, { n, ms }), (answer) => answer.n))
    }
  )

const official = (client: ClientV1 | ClientV2, connect: () => Promise<void>): Effect.Effect<Call, never, Scope.Scope> =>
  Effect.as(
    Effect.acquireRelease(Effect.promise(connect), () => Effect.promise(() => client.close().catch(() => undefined))),
    async (n: number, ms: number) =>
      Answer(await client.callTool({ name: "slow", arguments: { n, ms } })).structuredContent.n
  )

/** The kinds of clients. */
export const kinds: { readonly [name: string]: (url: string) => Effect.Effect<Call, unknown, Scope.Scope> } = {
  "SDK v1": (url) => {
    const client = new ClientV1(info)
    return official(client, () => client.connect(new TransportV1(new URL(url))))
  },
  "SDK v2": (url) => {
    const client = new ClientV2(info)
    return official(client, () => client.connect(new TransportV2(new URL(url))))
  },
  "ours 2025-11-25": own("2025-11-25"),
  "ours 2026-07-28": own("2026-07-28")
}

interface Node {
  readonly stop: (signal: NodeJS.Signals) => Promise<unknown>
}

const started = async (args: ReadonlyArray<string>, ran: (n: string) => void): Promise<Node> => {
  const child = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] })
  const exit = once(child, "exit")
  const lines = createInterface(child.stdout)
  await Promise.race([once(lines, "line"), exit])
  lines.on("line", ran)
  return {
    stop: async (signal) => {
      child.kill(signal)
      const [code] = await exit
      return code
    }
  }
}

export interface Options {
  /** A kind of network, and a place in it. */
  readonly kind: string
  readonly place: string
  readonly stack: "listener" | "router"
  readonly clients: ReadonlyArray<string>
  /** Number of callers per kind of client. */
  readonly callers: number
  readonly rounds: number
  /** True if the proxy keeps connections to the nodes open for a second. Default false. */
  readonly keepAlive?: boolean
  /** The option `lameDuck` in milliseconds. Default 0. */
  readonly lameDuck?: number
  readonly signal?: NodeJS.Signals
}

export interface Report {
  /** Calls, and the errors of those that failed, by kind of client. */
  readonly calls: { readonly [client: string]: number }
  readonly failed: ReadonlyArray<string>
  /** Numbers of calls that were executed more than once. */
  readonly twice: ReadonlyArray<string>
  /** The codes that the nodes exited with. */
  readonly codes: ReadonlyArray<unknown>
}

/** Restarts three nodes in turn, and returns the outcomes of all calls. */
export const rolled = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Report, unknown, Scope.Scope> {
  const { callers, clients, keepAlive = false, kind, lameDuck = 0, place, rounds, signal = "SIGTERM", stack } = options
  const executed = new Map<string, number>()
  // All other lines belong to the log.
  const ran = (line: string) => void (/^\d+$/.test(line) && executed.set(line, (executed.get(line) ?? 0) + 1))
  const ports = yield* freePorts(3)
  const begin = (port: number) => started([kind, place, String(port), stack, String(lameDuck)], ran)
  const nodes: Array<Node> = []
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(nodes.map(({ stop }) => stop("SIGKILL")))))
  // The first one creates the tables.
  for (const port of ports) nodes.push(yield* Effect.promise(() => begin(port)))
  const url = yield* balancer(ports, keepAlive)
  const calls: Record<string, number> = {}
  const failed: Array<string> = []
  const load = { isOver: false }
  let count = 0
  const loop = async (client: string, call: Call): Promise<void> => {
    while (!load.isOver) {
      const n = ++count
      calls[client] = (calls[client] ?? 0) + 1
      await call(n, 20 + (n % 7) * 30).then(
        (answer) => void (answer === n || failed.push(`${client}: ${n} was answered by ${answer}`)),
        (error: unknown) => void failed.push(`${client}: ${n}: ${String(error)}`)
      )
    }
  }
  const connected = yield* Effect.forEach(
    clients.flatMap((client) => Array.from({ length: callers }, () => client)),
    (client) => Effect.map(kinds[client]!(url), (call) => ({ client, call })),
    { concurrency: "unbounded" }
  )
  // A closed client rejects at once, so a loop over it would never let the test end.
  yield* Effect.addFinalizer(() => Effect.sync(() => void (load.isOver = true)))
  const loops = connected.map(({ call, client }) => loop(client, call))
  const codes: Array<unknown> = []
  for (let round = 0; round < rounds; round++) {
    for (const [at, port] of ports.entries()) {
      codes.push(yield* Effect.promise(() => nodes[at]!.stop(signal)))
      nodes[at] = yield* Effect.promise(() => begin(port))
    }
  }
  load.isOver = true
  yield* Effect.promise(() => Promise.all(loops))
  const twice = [...executed].flatMap(([n, times]) => (times > 1 ? [n] : []))
  return { calls, failed, twice, codes }
})
