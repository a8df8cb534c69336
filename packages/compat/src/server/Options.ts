/** Options of a server and of custom methods. */
import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { ServerCapabilities } from "../model/types.ts"
import type { CacheHint } from "../request/Definition.ts"
import type { ServerContext } from "../request/ServerContext.ts"

export interface ServerOptions {
  /** Added to the capabilities that follow from the registered features. */
  capabilities?: ServerCapabilities | undefined
  /** Tells the model how to use this server. */
  instructions?: string | undefined
  /** Caching fields of results, by method (2026-07-28). */
  cacheHints?: { [method: string]: CacheHint } | undefined
  /** Verifies the state of a request that asks for input, and returns its value. */
  requestState?: { verify: (state: string, context: ServerContext) => unknown } | undefined
  /** Accepted and ignored: all revisions are served, and this library does the validation. */
  supportedProtocolVersions?: ReadonlyArray<string> | undefined
  enforceStrictCapabilities?: boolean | undefined
  jsonSchemaValidator?: unknown
  debouncedNotificationMethods?: ReadonlyArray<string> | undefined
  inputRequired?: unknown
}

/** Schemas of a custom method. */
export interface CustomMethod<P extends StandardSchemaV1> {
  params: P
  result?: StandardSchemaV1 | undefined
}
