/**
 * Serves everything from the command line: `server.ts --stdio | --http --port N, [--revision V] [--page-size N]`.
 */
import { NodeRuntime, NodeStdio } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Revision } from "@effect-mcp/protocol"
import { Effect, Layer, Schema } from "effect"
import { parseArgs } from "node:util"
import * as Everything from "./everything.ts"

class Usage extends Schema.TaggedError<Usage>()("Usage", { message: Schema.String }) {}

interface Options extends Everything.Options {
  /** Where to listen, instead of serving stdio. */
  readonly port: number | undefined
}

const options: Effect.Effect<Options, Usage> = Effect.gen(function* () {
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        options: {
          stdio: { type: "boolean" },
          http: { type: "boolean" },
          port: { type: "string" },
          revision: { type: "string" },
          "page-size": { type: "string" }
        }
      }),
    catch: (cause) => new Usage({ message: String(cause) })
  })
  if ((values.stdio === true) === (values.http === true)) {
    return yield* new Usage({ message: "Say where to serve: --stdio, or --http --port N" })
  }
  const port = values.http === true ? Number(values.port ?? Number.NaN) : undefined
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536)) {
    return yield* new Usage({ message: "--http needs --port: a number, 0 for any that is free" })
  }
  const revision = values.revision === undefined ? undefined : Revision.get(values.revision)?.version
  if (values.revision !== undefined && revision === undefined) {
    const known = Revision.all.map(({ version }) => version).join(", ")
    return yield* new Usage({ message: `--revision is one of ${known}` })
  }
  const pageSize = values["page-size"] === undefined ? undefined : Number(values["page-size"])
  if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize > 0)) {
    return yield* new Usage({ message: "--page-size is a positive number of items" })
  }
  return { revision, pageSize, port }
})

options.pipe(
  Effect.flatMap(({ port, ...options }): Effect.Effect<void, unknown> => {
    const server = Everything.layer(options)
    return port === undefined
      ? Effect.provide(McpServer.serveStdio, [server, NodeStdio.layer])
      : Effect.flatMap(
          Effect.promise(() => import("./http.ts")),
          (http) => Layer.launch(http.layer(server, port))
        )
  }),
  NodeRuntime.runMain
)
