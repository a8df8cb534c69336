/**
 * Serves all features from the command line: `server.ts --stdio | (--http | --node | --sse) --port N, [--revision V] [--page-size N]`.
 * `--node` is like `--http`, but directly on `node:http` without a router.
 */
import { NodeRuntime } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Revision } from "@effect-mcp/protocol"
import { Effect, Layer, Schema } from "effect"
import { parseArgs } from "node:util"
import * as Everything from "./everything.ts"

class Usage extends Schema.TaggedError<Usage>()("Usage", { message: Schema.String }) {}

interface Options extends Everything.Options {
  /** Endpoint and port to listen on, or `undefined` for stdio. */
  readonly over: { readonly endpoint: keyof typeof endpoints; readonly port: number } | undefined
}

const endpoints = {
  http: () => import("./http.ts"),
  node: () => import("./node.ts"),
  sse: () => import("./sse.ts")
}

const options: Effect.Effect<Options, Usage> = Effect.gen(function* () {
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        options: {
          stdio: { type: "boolean" },
          http: { type: "boolean" },
          node: { type: "boolean" },
          sse: { type: "boolean" },
          port: { type: "string" },
          revision: { type: "string" },
          "page-size": { type: "string" }
        }
      }),
    catch: (cause) => new Usage({ message: String(cause) })
  })
  const { stdio } = values
  const [endpoint, another] = (["http", "node", "sse"] as const).filter((name) => values[name] === true)
  if ((endpoint === undefined) !== (stdio === true) || another !== undefined) {
    return yield* new Usage({
      message: "Say where to serve: --stdio, or one of --http, --node and --sse, with --port N"
    })
  }
  const port = Number(values.port ?? Number.NaN)
  if (endpoint !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    return yield* new Usage({ message: "--http, --node and --sse need --port: a number, 0 for any that is free" })
  }
  const over = endpoint === undefined ? undefined : { endpoint, port }
  const revision = values.revision === undefined ? undefined : Revision.get(values.revision)?.version
  if (values.revision !== undefined && revision === undefined) {
    const known = Revision.all.map(({ version }) => version).join(", ")
    return yield* new Usage({ message: `--revision is one of ${known}` })
  }
  const pageSize = values["page-size"] === undefined ? undefined : Number(values["page-size"])
  if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize > 0)) {
    return yield* new Usage({ message: "--page-size is a positive number of items" })
  }
  return { revision, pageSize, over }
})

options.pipe(
  Effect.flatMap(({ over, ...options }): Effect.Effect<void, unknown> => {
    const server = Everything.layer(options)
    if (over === undefined) return Effect.provide(McpServer.serveStdio(), server)
    return Effect.flatMap(Effect.promise(endpoints[over.endpoint]), ({ layer }) =>
      Layer.launch(layer(server, over.port))
    )
  }),
  NodeRuntime.runMain
)
