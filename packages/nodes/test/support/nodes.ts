/** Nodes of one server, each with features of its own, behind a round robin. */
import { Elicitation, Progress, Prompt, Prompts, Resources, Tool, Tools } from "@effect-mcp/core"
import type { Nodes } from "@effect-mcp/nodes"
import { McpServer } from "@effect-mcp/server"
import * as NodeListener from "@effect-mcp/server/internal/NodeListener"
import { Effect, Layer, PubSub, Schema, Scope, Stream } from "effect"
import { createServer, type RequestListener } from "node:http"
import { type Client, clientOf, listen } from "../../../server/test/http/support/http.ts"

const Which = Tool.make("which", { description: "Says which node ran it.", output: { node: Schema.Int } })
const Ask = Tool.make("ask", { description: "Asks the user.", output: { node: Schema.Int } })
const Hang = Tool.make("hang", { description: "Reports progress and never ends." })
const Grow = Tool.make("grow", { description: "Registers a prompt: the list changes." })
const Touch = Tool.make("touch", { description: "Changes the resource." })

/** The features of one node. */
export const featuresOf = (node: number) =>
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
        Tools.layer(Hang, () => Effect.andThen(Progress.report(1), Effect.never)),
        Tools.layer(Grow, () => Effect.as(Effect.provide(Layer.buildWithScope(grown, scope), registries), "grown")),
        Tools.layer(Touch, () => Effect.as(PubSub.publish(touched, node), "touched")),
        Resources.layer({ uri: "test://count", name: "count" }, Effect.succeed("1"), Stream.fromPubSub(touched))
      )
    })
  )

export const serverOf = (node: number) =>
  McpServer.layer({ name: "nodes", version: "1.0.0", features: featuresOf(node) })

export interface Cluster {
  /** By turns to each node that is up. */
  readonly any: Client
  /** To one node, counted from 1. */
  readonly at: (node: number) => Client
  /** No request is sent to that node any more. */
  readonly remove: (node: number) => void
}

/** Serves nodes in the scope; `layerOf` is what each of them shares. */
export const cluster = Effect.fnUntraced(function* <E>(
  count: number,
  layerOf: (node: number) => Layer.Layer<Nodes.Services, E>
) {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const clientFor = Effect.fnUntraced(function* (listener: RequestListener, server: McpServer.McpServer["Service"]) {
    const http = createServer(listener)
    yield* Scope.addFinalizer(
      scope,
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
    )
    return clientOf(yield* listen(http), server, scope)
  })
  const node = (index: number) =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Layer.fresh(Layer.provide(serverOf(index), layerOf(index))))
      const listener = yield* Effect.provide(NodeListener.make({ path: "/mcp", drain: 0 }), context)
      const server = yield* Effect.provide(McpServer.McpServer, context)
      return { index, listener, client: yield* clientFor(listener, server) }
    })
  const nodes = yield* Scope.provide(
    Effect.forEach(
      Array.from({ length: count }, (_, at) => at + 1),
      node
    ),
    scope
  )
  let up = nodes
  let turn = 0
  const robin: RequestListener = (request, response) => up[turn++ % up.length]?.listener(request, response)
  const [first] = nodes
  const any = yield* clientFor(robin, first!.client.server)
  const built: Cluster = {
    any,
    at: (node) => nodes[node - 1]!.client,
    remove: (node) => {
      up = up.filter(({ index }) => index !== node)
    }
  }
  return built
})
