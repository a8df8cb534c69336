/** Calls of our client to a server with `Tasks`, over memory and HTTP. To the caller, they look like any call. */
import { TaskCancelled } from "@effect-mcp/client/ClientError"
import * as McpClient from "@effect-mcp/client/McpClient"
import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Tasks from "../../src/Tasks.ts"

const Report = Tool.make("report", {
  description: "Writes a report",
  input: { topic: Schema.String },
  output: { pages: Schema.Int },
  failure: Schema.Struct({ noSuchTopic: Schema.String }),
  task: "required"
})
type Version = "2025-11-25" | "2026-07-28"
type Features = Layer.Layer<never, never, McpServer.Registries>

/** Ways to connect. Their clients answer with the services in the context. */
const wires = {
  memory: (features: Features, version: Version) => Effect.orDie(McpTest.connect(features, version)),
  HTTP: (features: Features, version: Version) =>
    Effect.gen(function* () {
      const server = Layer.fresh(McpServer.layer({ name: "test", version: "1.0.0", features }))
      const { dispose, handler } = McpServer.toWebHandler(server, { path: "/mcp" })
      yield* Effect.addFinalizer(() => Effect.promise(dispose))
      const fetch: typeof globalThis.fetch = (input, init) => handler(new Request(input, init))
      const context = yield* Layer.build(
        McpClient.layerHttp({ url: "http://localhost:3000/mcp", revisions: [version] }).pipe(
          Layer.provide(FetchHttpClient.layer),
          Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
        )
      )
      return Effect.runSync(Effect.provideContext(McpClient.McpClient, context))
    }).pipe(Effect.orDie)
}

const options = { pollInterval: "20 millis" } as const
const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept" as const, content: { pages: message.length } })
})

for (const [wire, connect] of Object.entries(wires)) {
  for (const version of ["2025-11-25", "2026-07-28"] as const) {
    describe(`Calls in ${version} over ${wire} that become tasks`, () => {
      it.live(
        "A task call returns its output, the task's messages and the client's answers",
        () =>
          Effect.gen(function* () {
            const handler = Tools.layer(
              Report,
              Effect.fnUntraced(function* ({ topic }) {
                yield* Progress.report(1, { message: `Reading about ${topic}` })
                return yield* Effect.orDie(Elicitation.form("How many?", Schema.Struct({ pages: Schema.Int })))
              })
            )
            const client = yield* connect(Layer.merge(handler, Tasks.layer(options)), version)
            const events = yield* Stream.runCollect(client.callToolStream(Report, { topic: "tea" }))
            assert.deepStrictEqual(events.at(-1), { _tag: "Result", value: { pages: 9 } })
            assert.deepStrictEqual(yield* client.callTool(Report, { topic: "tea" }), { pages: 9 })
          }).pipe(Effect.scoped, Effect.provide(user)),
        wire === "HTTP" && version === "2026-07-28" ? verifies("tasks-extension.http.name") : {}
      )

      it.live("A task call fails with the tool's declared failure, with its error, or as cancelled", () =>
        Effect.gen(function* () {
          const interrupted = yield* Deferred.make<void>()
          const handler = Tools.layer(Report, ({ topic }) =>
            topic === "typed"
              ? Effect.fail({ noSuchTopic: topic })
              : topic === "error"
                ? Effect.fail(new McpError.McpError({ code: -32_099, message: "No paper" }))
                : Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
          const client = yield* connect(Layer.merge(handler, Tasks.layer(options)), version)
          assert.deepStrictEqual(yield* Effect.flip(client.callTool(Report, { topic: "typed" })), {
            noSuchTopic: "typed"
          })
          assert.deepInclude(yield* Effect.flip(client.callTool(Report, { topic: "error" })), { code: -32_099 })
          const call = yield* client.start(Report, { topic: "cancelled" })
          yield* call.cancel
          assert.instanceOf(yield* Effect.flip(call.result), TaskCancelled)
          yield* Deferred.await(interrupted)
        }).pipe(Effect.scoped)
      )

      it.live("Interrupting a task call cancels the task and interrupts its handler", () =>
        Effect.gen(function* () {
          const seen = yield* Deferred.make<void>()
          const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
          const handler = Tools.layer(Report, () =>
            Effect.onExit(Effect.andThen(Progress.report(1, { message: "begun" }), Effect.never), (exit) =>
              Deferred.succeed(ended, exit)
            )
          )
          const client = yield* connect(Layer.merge(handler, Tasks.layer(options)), version)
          const onProgress = () => Deferred.doneUnsafe(seen, Exit.void)
          const call = yield* Effect.forkChild(client.callTool(Report, { topic: "tea" }, { onProgress }))
          yield* Deferred.await(seen)
          yield* Fiber.interrupt(call)
          assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
        }).pipe(Effect.scoped)
      )

      it.live("A task call can be found again by its task id", () =>
        Effect.gen(function* () {
          const open = yield* Deferred.make<void>()
          const handler = Tools.layer(Report, () => Effect.as(Deferred.await(open), { pages: 2 }))
          const client = yield* connect(Layer.merge(handler, Tasks.layer(options)), version)
          const first = yield* client.start(Report, { topic: "tea" })
          yield* first.detach
          const again = yield* client.task(Report, first.id ?? "")
          yield* Deferred.succeed(open, undefined)
          assert.deepStrictEqual(yield* again.result, { pages: 2 })
        }).pipe(Effect.scoped)
      )
    })
  }
}
