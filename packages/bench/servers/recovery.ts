/**
 * A stdio server to be killed: `recovery.js sqlite|postgres PLACE LEASE`, by its store, the file or schema of that, and how long a lease
 * lasts, in milliseconds. Its handlers say what they do in lines of stderr, which a pipe keeps when its writer is killed. What is kept in
 * a schema is removed by `recovery.js postgres PLACE remove`.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Once from "@effect-mcp/core/Once"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Postgres from "@effect-mcp/tasks/postgres"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import * as Tasks from "@effect-mcp/tasks/Tasks"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MinimumLogLevel } from "effect/References"
import * as Schema from "effect/Schema"
import { writeSync } from "node:fs"
import * as Database from "./postgres.ts"

const [kind = "sqlite", place = "", lease = "10000"] = process.argv.slice(2)
const say = (...words: ReadonlyArray<string | number>) => Effect.sync(() => void writeSync(2, `${words.join(" ")}\n`))

const Steps = Tool.make("steps", {
  description: "Records steps, one after the other",
  input: { name: Schema.String, count: Schema.Int, millis: Schema.Int },
  output: { values: Schema.Array(Schema.Int) },
  task: "required"
})
const Questions = Tool.make("questions", {
  description: "Asks its user, again and again",
  input: { count: Schema.Int },
  task: "required"
})

const handlers = Layer.mergeAll(
  Tools.layer(
    Steps,
    Effect.fnUntraced(function* ({ count, millis, name }) {
      yield* say("start", name)
      const values: Array<number> = []
      for (let step = 0; step < count; step++) {
        const body = Effect.as(Effect.andThen(say("begin", name, step), Effect.sleep(millis)), step)
        values.push(yield* Once.run(`${step}`, Schema.Int, body))
      }
      return { values }
    })
  ),
  Tools.layer(
    Questions,
    Effect.fnUntraced(function* ({ count }) {
      const fields = Schema.Struct({ ok: Schema.Boolean })
      for (let at = 0; at < count; at++) {
        yield* Elicitation.form("Sure?", fields, { key: `${at}` })
        yield* say("resumed", at)
      }
      return "done"
    })
  )
)

const options = { lease: Number(lease) }
const store =
  kind === "postgres"
    ? Layer.provide(Postgres.layer(options), Database.layerMade(place, 5))
    : Sqlite.layer({ ...options, file: place })
const features = Layer.provide(Layer.merge(handlers, Tasks.layerStore({ pollInterval: "10 millis" })), store)
const server = McpServer.layer({
  name: "recovery",
  version: "1.0.0",
  features,
  rateLimit: { "tasks/get": 1e9, "tasks/update": 1e9, "tools/call": 1e9 }
})

const main =
  lease === "remove"
    ? Database.drop(place)
    : Effect.provideService(McpServer.runStdio(server), MinimumLogLevel, "Error")
NodeRuntime.runMain(main)
