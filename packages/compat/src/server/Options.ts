/** Options of a server, and of a method that MCP does not have. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { ServerCapabilities } from "../model/types.ts"
import type { CacheHint } from "../request/Definition.ts"
import type { ServerContext } from "../request/ServerContext.ts"

export interface ServerOptions {
  /** Added to what follows from the registered features. */
  capabilities?: ServerCapabilities | undefined
  /** Tells the model how to use this server. */
  instructions?: string | undefined
  /** Caching fields of results by method (2026-07-28). */
  cacheHints?: { [method: string]: CacheHint } | undefined
  /** Checks the state of a request that asks for input, and gives its value. */
  requestState?: { verify: (state: string, context: ServerContext) => unknown } | undefined
  /** Accepted and ignored: all revisions are served, and validation is that of this library. */
  supportedProtocolVersions?: ReadonlyArray<string> | undefined
  enforceStrictCapabilities?: boolean | undefined
  jsonSchemaValidator?: unknown
  debouncedNotificationMethods?: ReadonlyArray<string> | undefined
  inputRequired?: unknown
}

/** Where handlers of a custom method find its schemas. */
export interface CustomMethod<P extends StandardSchemaV1> {
  params: P
  result?: StandardSchemaV1 | undefined
}
