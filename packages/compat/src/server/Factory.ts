/** The functions that make servers. */
import type { AuthInfo } from "../model/types.ts"
import type { McpServer } from "./McpServer.ts"
import type { Server } from "./Server.ts"

/** For which client a server is made. */
export interface McpRequestContext {
  /** `legacy`: a revision with sessions, up to 2025-11-25. `modern`: 2026-07-28. */
  era: "legacy" | "modern"
  authInfo?: AuthInfo | undefined
  /** The HTTP request. */
  requestInfo?: globalThis.Request | undefined
}

/** Makes a server; `context` says for which client. */
export type Factory = (context: McpRequestContext) => McpServer | Server | PromiseLike<McpServer | Server>
