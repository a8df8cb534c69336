/**
 * Runs several nodes of one server behind a plain round-robin load balancer: any node can serve any request of a session.
 *
 * Each database driver is loaded when its layer is built, so a program that uses one doesn't load the other.
 */
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Options, NodeServices } from "./layerOf.ts"
import { layer as memoryLayer } from "./memory/layer.ts"
import type { Network } from "./memory/Network.ts"
import type { PostgresOptions } from "./postgres/layer.ts"
import type { RedisOptions } from "./redis/layer.ts"

export type { Options, NodeServices as Services } from "./layerOf.ts"
export type { PostgresOptions } from "./postgres/layer.ts"
export type { RedisOptions } from "./redis/layer.ts"
export { Network } from "./memory/Network.ts"

/**
 * A node in this process, for tests. Each use of the layer must create a separate node, so wrap each one in `Layer.fresh`.
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
export const layerMemory = (network: Network, options: Options = {}): Layer.Layer<NodeServices, NodesUnavailable> =>
  Layer.suspend(() => memoryLayer(network, options))

/**
 * A node that shares a Postgres database with the others, using `@effect/sql-pg`. It creates its tables (`mcp_node`, `mcp_session`,
 * `mcp_event`, `mcp_reply`, `mcp_secret`, `mcp_rate`). In addition to the pool, it opens one connection for its lease and another to listen
 * for hints. Nodes connect to each other over TCP, at `advertise` and `port`. Keep that network private, because bodies are not encrypted.
 * Fails if the database doesn't respond at startup.
 *
 * @example
 * ```ts
 * import { Nodes } from "@effect-mcp/nodes"
 * import { McpServer } from "@effect-mcp/server"
 * import { PgClient } from "@effect/sql-pg"
 * import { Layer, Redacted } from "effect"
 *
 * const database = PgClient.layer({ url: Redacted.make("postgres://localhost/mcp") })
 *
 * export const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(Layer.provide(Nodes.layerPostgres(), database))
 * )
 * ```
 */
export const layerPostgres = (options: PostgresOptions = {}): Layer.Layer<NodeServices, NodesUnavailable, PgClient> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./postgres/layer.ts")),
      ({ layer }) => layer(options)
    )
  )

/**
 * A node that shares a Redis server (7 or newer) with the others, using the `redis` package. Nodes connect to each other over TCP, at
 * `advertise` and `port`. Keep that network private, because bodies are not encrypted. Fails if Redis doesn't respond at startup.
 *
 * @example
 * ```ts
 * import { Nodes } from "@effect-mcp/nodes"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * export const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(Nodes.layerRedis({ url: "redis://localhost" }))
 * )
 * ```
 */
export const layerRedis = (options: RedisOptions): Layer.Layer<NodeServices, NodesUnavailable> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./redis/layer.ts")),
      ({ layer }) => layer(options)
    )
  )
