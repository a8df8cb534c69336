/** A server behind a gateway, both in memory: its features, and clients of the gateway in any revision. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import {
  Completions,
  Content,
  Elicitation,
  Log,
  Memory,
  Progress,
  Prompt,
  Prompts,
  RequestContext,
  Resources,
  Roots,
  Sampling,
  Tool,
  Tools
} from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { Cause, Context, Deferred, Effect, Exit, Layer, PubSub, Schema, Scope, Stream } from "effect"
import * as Gateway from "../../src/Gateway.ts"

/** Events that the upstream server records. */
export class Behind extends Context.Service<
  Behind,
  {
    readonly calls: Array<string>
    readonly started: Deferred.Deferred<void>
    readonly interrupted: Deferred.Deferred<void>
    readonly updates: PubSub.PubSub<void>
    /** Ends the wires that were opened to the server. */
    readonly cut: Array<Effect.Effect<void>>
    /** Number of open wires. */
    wires: number
  }
>()("test/Behind") {
  static readonly layer = Layer.effect(
    Behind,
    Effect.gen(function* () {
      return {
        calls: [],
        started: yield* Deferred.make<void>(),
        interrupted: yield* Deferred.make<void>(),
        updates: yield* PubSub.unbounded<void>(),
        cut: [],
        wires: 0
      }
    })
  )
}

const note = (what: string) => Effect.map(Behind, ({ calls }) => void calls.push(what))
const Name = Schema.Struct({ name: Schema.String })
const ask = (question: string) => Effect.map(Elicitation.form(question, Name), ({ name }) => name)

export const Add = Tool.make("add", {
  description: "Adds.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

const tools = Layer.mergeAll(
  Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b })),
  Tools.layer(
    Tool.raw("odd", {
      description: "Has what no revision knows.",
      inputSchema: {
        type: "object",
        properties: { region: { type: "string", "x-mcp-header": "Region" } },
        "x-unknown": { kept: true }
      },
      meta: { "example.com/kept": 1 }
    }),
    () => Effect.succeed({ content: [Content.text("odd")], unknown: { kept: true }, _meta: { "example.com/own": 1 } })
  ),
  Tools.layer(Tool.make("count", { description: "Counts to three." }), () =>
    Effect.as(
      Effect.forEach([1, 2, 3], (n) => Progress.report(n, { total: 3, message: `step ${n}` })),
      "done"
    )
  ),
  Tools.layer(Tool.make("talk", { description: "Logs." }), () =>
    Effect.as(Log.warning({ said: "something" }, "talker"), "said")
  ),
  Tools.layer(
    Tool.make("greet", { description: "Asks for two names.", input: { first: Schema.String } }),
    ({ first }) =>
      Effect.gen(function* () {
        const one = yield* ask(`${first}?`)
        const two = yield* ask(`And after ${one}?`)
        yield* note(`greeted ${one} and ${two}`)
        return `${one} and ${two}`
      }).pipe(
        // Runs when the request ends, not when a round ends.
        Effect.onExit((exit) =>
          Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) && !isSuspension(exit.cause)
            ? note(`gave up on ${first}`)
            : Effect.void
        )
      )
  ),
  Tools.layer(Tool.make("both", { description: "Asks twice at once." }), () =>
    Effect.map(Effect.all([ask("left?"), ask("right?")], { concurrency: "unbounded" }), (names) => names.join())
  ),
  Tools.layer(Tool.make("think", { description: "Asks the model." }), () =>
    Effect.map(
      Sampling.createMessage({ messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 7 }),
      ({ model }) => model
    )
  ),
  Tools.layer(Tool.make("look", { description: "Asks for the roots." }), () =>
    Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri).join())
  ),
  Tools.layer(Tool.make("hang", { description: "Never ends." }), () =>
    Effect.gen(function* () {
      const { interrupted, started } = yield* Behind
      yield* Deferred.succeed(started, undefined)
      return yield* Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
    })
  ),
  Tools.layer(Tool.make("meta", { description: "Says what came with the call." }), () =>
    Effect.map(RequestContext.RequestContext, ({ clientInfo, meta }) => JSON.stringify({ clientInfo, meta }))
  ),
  Tools.layer(Tool.make("break", { description: "Fails by protocol." }), () =>
    Effect.fail(new McpError.McpError({ code: 4711, message: "broken", data: { why: "so" } }))
  )
)

const resources = Layer.mergeAll(
  Resources.layer(
    { uri: "test://news", name: "news" },
    Effect.succeed("news"),
    Stream.unwrap(Effect.map(Behind, ({ updates }) => Stream.fromPubSub(updates)))
  ),
  Resources.layerTemplate({ uriTemplate: "test://item/{id}", name: "item" }, ({ id }) => Effect.succeed(`item ${id}`))
)

const prompts = Prompts.layer(
  Prompt.make("review", { description: "Reviews.", arguments: { file: Schema.String } }),
  ({ file }) => Effect.succeed(`Review ${file}`),
  { complete: { file: Completions.choices(["main.ts", "map.ts", "other.ts"]) } }
)

/** A tool that adds another one permanently. */
const growing = Layer.unwrap(
  Effect.gen(function* () {
    const registry = yield* Tools.ToolRegistry
    const scope = yield* Effect.scope
    const late = Tool.make("late", { description: "Was not there before." })
    return Tools.layer(Tool.make("grow", { description: "Adds a tool." }), () =>
      Effect.as(
        Scope.provide(
          registry.register({
            tool: Tool.descriptor(late),
            call: () => Effect.succeed({ content: [Content.text("late")] })
          }),
          scope
        ),
        "grown"
      )
    )
  })
)

export const features = Layer.mergeAll(tools, growing, resources, prompts)

/** The upstream server, whatever leads to it. */
export const behind = McpServer.layer({
  name: "behind",
  version: "3.2.1",
  instructions: "Be kind.",
  logging: { level: "debug" },
  features
})

/** The gateway in front of a server of this revision. */
export const layer = (
  upstream: Revision.Revision,
  options?: Partial<Gateway.Options<never, never>>
): Layer.Layer<McpServer.McpServer | Gateway.Gateway | Behind> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = Context.get(yield* Layer.build(behind), McpServer.McpServer)
      const record = yield* Behind
      return Gateway.layer({
        connector: Effect.gen(function* () {
          const scope = yield* Scope.fork(yield* Effect.scope)
          record.cut.push(Scope.close(scope, Exit.void))
          yield* Effect.acquireRelease(
            Effect.sync(() => record.wires++),
            () => Effect.sync(() => record.wires--)
          )
          const [client, end] = yield* Scope.provide(Memory.pair(), scope)
          yield* server.connect(end)
          return client
        }),
        client: { revisions: [upstream.version] },
        ...options
      })
    })
  ).pipe(Layer.provideMerge(Behind.layer))

/** A client of the gateway, which answers through the services in the context. */
export const join = (revision: Revision.Revision, client?: McpClient.Options) =>
  McpTest.join(revision, client === undefined ? {} : { client: { revisions: [revision.version], ...client } })

/** Every pair of revisions. */
export const pairs = Revision.all.flatMap((downstream) =>
  Revision.all.map((upstream) => ({ downstream, upstream, title: `${downstream.version} before ${upstream.version}` }))
)
