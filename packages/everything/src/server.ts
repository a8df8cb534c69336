/**
 * Serves everything from the command line: `server.ts --stdio [--revision V] [--page-size N]`.
 */
import { NodeRuntime, NodeStdio } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import { Revision } from "@effect-mcp/protocol"
import { Effect, Schema } from "effect"
import { parseArgs } from "node:util"
import * as Everything from "./everything.ts"

class Usage extends Schema.TaggedError<Usage>()("Usage", { message: Schema.String }) {}

const options: Effect.Effect<Everything.Options, Usage> = Effect.gen(function* () {
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        options: { stdio: { type: "boolean" }, revision: { type: "string" }, "page-size": { type: "string" } }
      }),
    catch: (cause) => new Usage({ message: String(cause) })
  })
  if (values.stdio !== true) return yield* new Usage({ message: "Say where to serve: --stdio" })
  const revision = values.revision === undefined ? undefined : Revision.get(values.revision)?.version
  if (values.revision !== undefined && revision === undefined) {
    const known = Revision.all.map(({ version }) => version).join(", ")
    return yield* new Usage({ message: `--revision is one of ${known}` })
  }
  const pageSize = values["page-size"] === undefined ? undefined : Number(values["page-size"])
  if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize > 0)) {
    return yield* new Usage({ message: "--page-size is a positive number of items" })
  }
  return { revision, pageSize }
})

options.pipe(
  Effect.flatMap((options) => Effect.provide(McpServer.serveStdio, [Everything.layer(options), NodeStdio.layer])),
  NodeRuntime.runMain
)
