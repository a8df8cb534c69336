import * as McpClient from "@effect-mcp/client/McpClient"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Completions } from "@effect-mcp/core/Completions"
import { Declaration } from "@effect-mcp/client/internal/relaying"
import * as Progress from "@effect-mcp/core/Progress"
import { Prompts } from "@effect-mcp/core/Prompts"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { Resources } from "@effect-mcp/core/Resources"
import { Tools } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { all, connected, quiesce } from "../support/connected.ts"
import type { Script } from "../support/scripted.ts"

const views = Layer.mergeAll(
  McpClient.layerTools,
  McpClient.layerResources,
  McpClient.layerPrompts,
  McpClient.layerCompletions
)

/** The client's views as a gateway sees them. */
const mounted = (script: Script) =>
  Effect.gen(function* () {
    const { client, server } = yield* connected(script)
    const context = yield* Layer.build(Layer.provide(views, Layer.succeed(McpClient.McpClient, client)))
    const run = <A, E>(effect: Effect.Effect<A, E, Tools | Resources | Prompts | Completions | RequestServices>) =>
      Effect.provide(effect as Effect.Effect<A, E, Tools | Resources | Prompts | Completions>, context)
    return { server, run }
  })

/** An empty request, which is all that these tests need. */
const inRequest = <A, E>(effect: Effect.Effect<A, E, RequestServices> | undefined) =>
  effect === undefined
    ? Effect.die("no effect")
    : Effect.provide(
        effect as Effect.Effect<A, E, ClientInput | Progress.Progress | RequestContext>,
        Context.make(ClientInput, {
          ask: () => Effect.never,
          askExtension: () => Effect.never,
          once: (_name, _schema, step) => step
        }).pipe(Context.add(RequestContext, { outbound: { connection: undefined } } as RequestContext["Service"]))
      )

/** `_meta` of a request, without the client's declarations. */
const said = (request: JsonRpc.Request | undefined): Record<string, unknown> =>
  Declaration.without((request?.params?._meta ?? {}) as Record<string, unknown>)

describe.each(all)("%s clients as sources", (version) => {
  it.effect("A client source offers everything its server does", () =>
    Effect.gen(function* () {
      const content = [{ type: "text" as const, text: "hello" }]
      const { run, server } = yield* mounted({
        version,
        answers: {
          "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] }),
          "tools/call": () => ({ content }),
          "prompts/list": () => ({ prompts: [{ name: "p" }] }),
          "prompts/get": () => ({ messages: [] }),
          "resources/list": () => ({ resources: [{ uri: "a:", name: "r" }] }),
          "resources/templates/list": () => ({ resourceTemplates: [] }),
          "resources/read": () => ({ contents: [{ uri: "a:", text: "x" }] }),
          "completion/complete": () => ({ completion: { values: ["v"] } })
        }
      })
      yield* run(
        Effect.gen(function* () {
          const [tools, prompts] = [yield* Tools, yield* Prompts]
          const [resources, completions] = [yield* Resources, yield* Completions]
          assert.deepStrictEqual(yield* tools.list, [{ name: "t", inputSchema: { type: "object" } }])
          const params = { name: "t", arguments: { a: 1 }, _meta: { progressToken: 7, "example.com/a": 1 } }
          assert.deepStrictEqual(yield* inRequest(tools.call(params)), { content })
          assert.deepStrictEqual(yield* prompts.list, [{ name: "p" }])
          assert.deepStrictEqual(yield* inRequest(prompts.get({ name: "p" })), { messages: [] })
          assert.deepStrictEqual(yield* resources.list, [{ uri: "a:", name: "r" }])
          assert.deepStrictEqual(yield* resources.templates, [])
          assert.deepStrictEqual(yield* inRequest(resources.read({ uri: "a:", _meta: { progressToken: 7 } })), {
            contents: [{ uri: "a:", text: "x" }]
          })
          const completed = yield* completions.complete({
            ref: { type: "ref/prompt", name: "p" },
            argument: { name: "a", value: "" }
          })
          assert.deepStrictEqual(completed, { completion: { values: ["v"] } })
        }).pipe(Effect.provide(Progress.layerNone))
      )
      const [call] = server.requests("tools/call")
      assert.deepStrictEqual(call?.params?.arguments, { a: 1 })
      const { progressToken, ...meta } = said(call)
      assert.deepStrictEqual(meta, { "example.com/a": 1 })
      assert.notStrictEqual(progressToken, 7)
      assert.deepStrictEqual(said(server.requests("resources/read")[0]), {})
    })
  )

  it.effect("A client source forwards progress to callers that requested it", () =>
    Effect.gen(function* () {
      const { run } = yield* mounted({
        version,
        answers: {
          "tools/call": (params, { peer }) => {
            const { progressToken } = params._meta as { progressToken: number }
            peer.notify("notifications/progress", { progressToken, progress: 1, total: 2 })
            return { content: [] }
          }
        }
      })
      const reports: Array<unknown> = []
      const progress = {
        wanted: true,
        report: (value: number, options?: Progress.ReportOptions) =>
          Effect.sync(() => void reports.push([value, options?.total]))
      }
      const call = Effect.flatMap(Tools, (tools) => inRequest(tools.call({ name: "t" })))
      const result = yield* run(Effect.provideService(call, Progress.Progress, progress))
      assert.deepStrictEqual(result, { content: [] })
      assert.deepStrictEqual(reports, [[1, 2]])
    })
  )

  it.effect("A client source forwards errors unchanged and has empty lists for missing features", () =>
    Effect.gen(function* () {
      const error = McpError.invalidParams("Unknown tool: t")
      const { run } = yield* mounted({
        version,
        capabilities: { tools: {} },
        answers: { "tools/call": () => Effect.fail(error) }
      })
      yield* run(
        Effect.gen(function* () {
          const tools = yield* Tools
          assert.deepStrictEqual(yield* Effect.flip(inRequest(tools.call({ name: "t" }))), error)
          assert.deepStrictEqual(yield* (yield* Prompts).list, [])
          assert.deepStrictEqual(yield* (yield* Resources).list, [])
          assert.isUndefined((yield* Resources).watch("a:"))
        }).pipe(Effect.provide(Progress.layerNone))
      )
    })
  )

  it.effect("A client source announces changes and updates", () =>
    Effect.gen(function* () {
      const { run, server } = yield* mounted({
        version,
        answers: { "resources/subscribe": () => ({}), "resources/unsubscribe": () => ({}) }
      })
      const changes = yield* Effect.forkChild(run(Effect.flatMap(Tools, (tools) => Stream.runHead(tools.changes))), {
        startImmediately: true
      })
      const updates = yield* Queue.unbounded<unknown>()
      yield* Effect.forkChild(
        run(
          Effect.flatMap(Resources, (resources) =>
            Stream.runForEach(resources.watch("a:") ?? Stream.empty, (event) => Queue.offer(updates, event))
          )
        ),
        { startImmediately: true }
      )
      yield* quiesce
      server.peer.notify("notifications/tools/list_changed")
      yield* Fiber.join(changes)
      server.peer.notify("notifications/resources/updated", { uri: "a:" })
      assert.deepStrictEqual(yield* Queue.take(updates), { _tag: "Updated", uri: "a:" })
    })
  )
})
