/** What a server program has defined, as the actor below reads it: one per `Server` of the program. */
import type { Implementation, JsonObject, ServerCapabilities } from "../model/types.ts"
import type { KnownClient } from "./KnownClient.ts"
import type { ServerContext } from "./ServerContext.ts"

/** Answers a request: params are those of the wire, in the newest revision. */
export type Handler = (request: { method: string; params: JsonObject }, context: ServerContext) => unknown

export interface Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  readonly capabilities: () => ServerCapabilities
  readonly handler: (method: string) => Handler | undefined
  /** Caching fields of the results of a method (2026-07-28). */
  readonly cacheHint: (method: string) => CacheHint | undefined
  /** Gives the value of a request state, or throws where it is not valid. */
  readonly verify: ((state: string, context: ServerContext) => unknown) | undefined
  /** Called with each notification of the client. */
  readonly notified: (method: string, params: JsonObject) => void
  /** Called before each request of 2026-07-28, which has no handshake, except for `server/discover`. */
  readonly opened: (client: () => KnownClient) => void
  readonly failed: (error: Error) => void
  /** Returns the error that a question or request of the program rejects with. */
  readonly errorOf: (error: unknown) => unknown
}

/** The lists that clients are told about. */
export type List = "tools" | "prompts" | "resources"

/** Tells clients what has changed. */
export interface Announcer {
  changed(list: List): void
  updated(uri: string): void
}

/** How long a result stays fresh. */
export interface CacheHint {
  ttlMs?: number | undefined
  cacheScope?: "public" | "private" | undefined
}
