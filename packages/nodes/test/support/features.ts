/** The features of a node. Their results name the node. */
import {
  Elicitation,
  Log,
  Progress,
  Prompt,
  Prompts,
  RequestContext,
  Resources,
  Roots,
  Tool,
  Tools
} from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer, PubSub, Schema, Scope, Stream } from "effect"

const Which = Tool.make("which", { description: "Says which node ran it.", output: { node: Schema.Int } })
export const Ask = Tool.make("ask", { description: "Asks the user.", output: { node: Schema.Int } })
export const Slow = Tool.make("slow", {
  description: "Takes a while.",
  input: { n: Schema.Int, ms: Schema.Int },
  output: { n: Schema.Int, node: Schema.Int }
})
const Hang = Tool.make("hang", { description: "Reports progress and never ends." })
const Pour = Tool.make("pour", { description: "Reports 8 MiB of progress, and answers with 3 MiB." })
const Grow = Tool.make("grow", { description: "Registers a prompt: the list changes." })
const Note = Tool.make("note", { description: "Logs a warning.", output: { node: Schema.Int } })
const Tell = Tool.make("tell", { description: "Tells the client something on the stream of its session." })
const Moved = Tool.make("moved", { description: "Waits until the roots change.", output: { node: Schema.Int } })
const Touch = Tool.make("touch", { description: "Changes the resource." })

/** The features of one node. */
export const featuresOf = (node: number, ran: (n: number) => Effect.Effect<void> = () => Effect.void) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const registries = yield* Effect.context<McpServer.Registries>()
      const touched = yield* PubSub.unbounded<number>()
      const grown = Prompts.layer(Prompt.make(`prompt-${node}`, { description: "Was not there before." }), () =>
        Effect.succeed("hello")
      )
      return Layer.mergeAll(
        Prompts.layer(Prompt.make("first", { description: "Is there." }), () => Effect.succeed("hello")),
        Tools.layer(Which, () => Effect.succeed({ node })),
        Tools.layer(Ask, () => Effect.as(Elicitation.confirm("Sure?"), { node })),
        Tools.layer(Slow, ({ ms, n }) => Effect.andThen(ran(n), Effect.as(Effect.sleep(ms), { n, node }))),
        Tools.layer(Note, () => Effect.as(Log.warning("noted"), { node })),
        Tools.layer(Tell, () =>
          Effect.map(RequestContext.RequestContext, ({ outbound }) => {
            outbound.connection?.notify("notifications/message", { level: "error", data: `told by ${node}` })
            return "told"
          })
        ),
        Tools.layer(Moved, () =>
          Effect.flatMap(Roots.Roots, ({ changes = Stream.never }) => Effect.as(Stream.runHead(changes), { node }))
        ),
        Tools.layer(Hang, () => Effect.andThen(Progress.report(1), Effect.never)),
        Tools.layer(Pour, () =>
          Effect.as(
            Effect.forEach(
              Array.from({ length: 128 }, (_, at) => at + 1),
              (at) => Progress.report(at, { message: "p".repeat(64 * 1024) })
            ),
            "r".repeat(3 * 1024 * 1024)
          )
        ),
        Tools.layer(Grow, () => Effect.as(Effect.provide(Layer.buildWithScope(grown, scope), registries), "grown")),
        Tools.layer(Touch, () => Effect.as(PubSub.publish(touched, node), "touched")),
        Resources.layer({ uri: "test://count", name: "count" }, Effect.succeed("1"), Stream.fromPubSub(touched))
      )
    })
  )

/** Calls `ran` with the number of each call of `slow` when it begins. */
export const serverOf = (node: number, ran?: (n: number) => Effect.Effect<void>) =>
  McpServer.layer({ name: "nodes", version: "1.0.0", features: featuresOf(node, ran) })
