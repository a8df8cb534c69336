/**
 * Several nodes of one server, behind a plain round robin: any of them serves any request of a session.
 *
 * A database is loaded when its layer is built: a program that uses one does not load the other.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Layer from "effect/Layer"
import type { Options, Services } from "./layerOf.ts"
import { layer as memoryLayer } from "./memory/layer.ts"
import type { Network } from "./memory/Network.ts"

export type { Options, Services } from "./layerOf.ts"
export { Network } from "./memory/Network.ts"

/**
 * A node among others of this process, for tests. Each use of the layer is another node: build each in a `Layer.fresh`.
 *
 * @example
 * ```ts
 * import { Nodes } from "@effect-mcp/nodes"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * const network = new Nodes.Network()
 * const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty })
 * const node = () => McpServer.toNodeListener(Layer.provide(server, Nodes.layerMemory(network)), { path: "/mcp" })
 *
 * export const nodes = [node(), node()]
 * ```
 */
export const layerMemory = (network: Network, options: Options = {}): Layer.Layer<Services, NodesUnavailable> =>
  Layer.suspend(() => memoryLayer(network, options))
