import { NodeRuntime } from "@effect/platform-node"
import { Elicitation, Once, Progress, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Context, Effect, Layer, Schema } from "effect"

class Site extends Context.Service<
  Site,
  {
    readonly build: (path: string) => Effect.Effect<string>
    readonly upload: (
      build: string,
      options: { readonly idempotencyKey: string }
    ) => Effect.Effect<string>
  }
>()("Site") {}

const Publish = Tool.make("publish", {
  description: "Builds the site and publishes it",
  input: { path: Schema.String },
  output: { url: Schema.String },
  task: "optional"
})

const publish = Tools.layer(
  Publish,
  Effect.fn("publish")(function* ({ path }) {
    const site = yield* Site
    // Runs at least once, and is recorded once: after a kill the value is
    // there.
    const build = yield* Once.run("build", Schema.String, site.build(path))
    yield* Progress.report(1, { total: 2, message: "Built" })
    // May take days. Only a row in the database waits, no fiber.
    yield* Elicitation.confirm(`Publish ${build}?`)
    yield* Once.sleep("settle", "10 minutes")
    // The key is the same in every attempt, so a host that remembers it uploads
    // only once.
    const upload = Effect.flatMap(Once.key, (idempotencyKey) =>
      site.upload(build, { idempotencyKey })
    )
    return { url: yield* Once.run("upload", Schema.String, upload) }
  })
)

const site = Layer.succeed(Site, {
  build: (path) => Effect.succeed(`${path}/dist`),
  upload: (build, { idempotencyKey }) =>
    Effect.succeed(`https://example.com/${build}?${idempotencyKey}`)
})
const tasks = Layer.provide(
  Tasks.layerStore(),
  Sqlite.layer({ file: "tasks.db" })
)
const features = Layer.merge(Layer.provide(publish, site), tasks)
const server = McpServer.layer({
  name: "publisher",
  version: "1.0.0",
  features
})

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
