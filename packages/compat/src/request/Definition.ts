/** Definition of a server program, as the underlying actor reads it. There is one per `Server` of the program. */
import type { Implementation, JsonObject, ServerCapabilities } from "../model/types.ts"
import type { KnownClient } from "./KnownClient.ts"
import type { ServerContext } from "./ServerContext.ts"

/** Answers a request. Params have the wire form of the newest revision. */
export type Handler = (request: { method: string; params: JsonObject }, context: ServerContext) => unknown

export interface Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  readonly capabilities: () => ServerCapabilities
  readonly handler: (method: string) => Handler | undefined
  /** Returns the caching fields for the results of a method (2026-07-28). */
  readonly cacheHint: (method: string) => CacheHint | undefined
  /** Returns the value of a request state, or throws if it is not valid. */
  readonly verify: ((state: string, context: ServerContext) => unknown) | undefined
  /** Called with each notification from the client. */
  readonly notified: (method: string, params: JsonObject) => void
  /** Called before each request of 2026-07-28, which has no handshake, except for `server/discover`. */
  readonly opened: (client: () => KnownClient) => void
  readonly failed: (error: Error) => void
  /** Returns the error that a question or request of the program rejects with. */
  readonly errorOf: (error: unknown) => unknown
}

/** Lists whose changes are announced to clients. */
export type List = "tools" | "prompts" | "resources"

/** Announces changes to clients. */
export interface Announcer {
  changed(list: List): void
  updated(uri: string): void
}

/** How long a result stays fresh. */
export interface CacheHint {
  ttlMs?: number | undefined
  cacheScope?: "public" | "private" | undefined
}
