/** Caching hints for a server's lists (spec 2026-07-28: server/utilities/caching). To set a hint for a resource, use its own options. */
import type { CacheHint } from "@effect-mcp/core/CacheHint"
import type { ListName } from "@effect-mcp/protocol/MethodInfo"

/**
 * Caching hints, one per list. Without a hint, a list is private and immediately stale. A list that may depend on the caller is always
 * private, regardless of its hint. That is the case if some entries are `visible` only to some callers, or if items come from a mounted
 * source or from a template's `list`.
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
export type Hints = { readonly [List in ListName | "discover"]?: CacheHint | undefined }
