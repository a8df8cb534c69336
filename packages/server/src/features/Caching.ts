/**
 * The caching hints of a server's lists (spec 2026-07-28: server/utilities/caching). A resource has its own, in its options.
 */
import type { CacheHint } from "@effect-mcp/core/CacheHint"

/**
 * One hint per list; a list without one is stale at once and private. A list that may depend on its caller is private, whatever
 * its hint says: one with an entry that is `visible` to some callers only, with those of a mounted source, or with members that a
 * template lists.
 *
 * @example
 * ```ts
 * import { type Caching, McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * const caching: Caching.Hints = { tools: { timeToLive: "10 minutes", scope: "public" } }
 *
 * export const server = McpServer.layer({ name: "search", version: "1.0.0", features: Layer.empty, caching })
 * ```
 */
export interface Hints {
  readonly tools?: CacheHint | undefined
  readonly prompts?: CacheHint | undefined
  readonly resources?: CacheHint | undefined
  readonly resourceTemplates?: CacheHint | undefined
  readonly discover?: CacheHint | undefined
}
