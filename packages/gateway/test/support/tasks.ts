/** A server behind a gateway whose tools run as tasks. */
import { Elicitation, Memory, Progress, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Tasks } from "@effect-mcp/tasks"
import { Context, Deferred, Effect, Latch, Layer, Schema } from "effect"
import * as Gateway from "../../src/Gateway.ts"

const Name = Schema.Struct({ name: Schema.String })

/** Controls of a test over the tools, and their records. */
export interface Behind {
  /** Lets `wait` continue. */
  readonly go: Latch.Latch
  readonly started: Deferred.Deferred<void>
  readonly interrupted: Deferred.Deferred<void>
}

const toolsOf = ({ go, interrupted, started }: Behind) => {
  const tool = (name: string, task: "optional" | "required") => Tool.make(name, { description: name, task })
  return Layer.mergeAll(
    Tools.layer(tool("must", "required"), () => Effect.succeed("done")),
    Tools.layer(tool("may", "optional"), () => Effect.succeed("done")),
    Tools.layer(Tool.make("plain", { description: "Is no task" }), () => Effect.succeed("done")),
    Tools.layer(tool("wait", "optional"), () =>
      Effect.gen(function* () {
        yield* Progress.report(1, { total: 2, message: "half" })
        yield* Deferred.succeed(started, undefined)
        yield* go.await
        return "waited"
      })
    ),
    Tools.layer(tool("hang", "optional"), () =>
      Effect.gen(function* () {
        yield* Progress.report(1, { message: "hanging" })
        yield* Deferred.succeed(started, undefined)
        return yield* Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      })
    ),
    Tools.layer(
      Tool.make("ask", { description: "ask", input: { first: Schema.optionalKey(Schema.String) }, task: "optional" }),
      ({ first = "Who?" }) =>
        Effect.gen(function* () {
          const { name } = yield* Elicitation.form(first, Name)
          const { name: other } = yield* Elicitation.form(`And after ${name}?`, Name)
          return `${name} and ${other}`
        })
    ),
    Tools.layer(
      tool("begin", "optional"),
      () =>
        Effect.gen(function* () {
          const { name } = yield* Elicitation.form("Who?", Name)
          yield* Tasks.begin
          yield* go.await
          return `${name} began`
        }),
      { beginsTask: true }
    ),
    Tools.layer(tool("break", "optional"), () =>
      Effect.fail(new McpError.McpError({ code: 4711, message: "broken", data: { why: "so" } }))
    ),
    Tools.layer(tool("fail", "optional"), () => Effect.fail(new Tools.ToolFailure({ message: "No" })))
  )
}

/** The shortest interval that the client accepts. */
export const pollInterval = "100 millis"

/** A gateway in front of a server of that revision, whose tools may be tasks. */
export const setup = Effect.fnUntraced(function* (
  upstream: Revision.Revision,
  { hasTasks = true, ...options }: Partial<Gateway.Options<never, never>> & { readonly hasTasks?: boolean } = {}
) {
  const behind: Behind = {
    go: yield* Latch.make(false),
    started: yield* Deferred.make<void>(),
    interrupted: yield* Deferred.make<void>()
  }
  const tools = toolsOf(behind)
  const features = hasTasks ? Layer.merge(tools, Tasks.layer({ pollInterval })) : tools
  const server = Context.get(
    yield* Layer.build(Layer.fresh(McpServer.layer({ name: "behind", version: "1", features }))),
    McpServer.McpServer
  )
  const connector = Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    yield* server.connect(end)
    return client
  })
  const gateway = yield* Layer.build(
    Layer.fresh(
      Gateway.layer({ connector, client: { revisions: [upstream.version] }, tasks: { pollInterval }, ...options })
    )
  )
  return { ...behind, gateway }
})

/** The revisions that have tasks. */
export const withTasks = Revision.all.filter(({ version }) => version >= "2025-11-25")
