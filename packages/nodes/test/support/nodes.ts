/** In-process nodes of one server behind a round robin. Each builds separate features. */
import type { Principal } from "@effect-mcp/core"
import type { Nodes } from "@effect-mcp/nodes"
import { McpServer } from "@effect-mcp/server"
import { makeNodeListener } from "@effect-mcp/server/internal/sharing"
import { Effect, Layer, Scope } from "effect"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { type Client, clientOf, listen } from "../../../server/test/http/support/http.ts"
import { serverOf } from "./features.ts"

/** Takes the user from the request, in place of real authentication. */
const principal = ({ headers }: IncomingMessage): Principal.Principal["Service"] | undefined => {
  const subject = headers["x-user"]
  return typeof subject === "string" ? { subject, scopes: [], claims: { iss: "https://issuer.test" } } : undefined
}

export interface Cluster {
  /** Sends to the nodes in turn, except for those that are down. */
  readonly any: Client
  /** Sends to a node, counted from 1. */
  readonly at: (node: number) => Client
  /** Stops sending requests to a node. */
  readonly remove: (node: number) => void
}

/** Serves nodes in the scope. `layerOf` creates the layer that connects a node to the others. */
export const cluster = Effect.fnUntraced(function* <E>(
  count: number,
  layerOf: (node: number) => Layer.Layer<Nodes.Services, E>,
  options: McpServer.NodeListenerOptions = {}
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
      const listener = yield* Effect.provide(
        makeNodeListener({ path: "/mcp", drain: 0, principal, ...options }),
        context
      )
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
