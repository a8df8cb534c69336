/** Functions that create servers. */
import type { AuthInfo } from "../model/types.ts"
import type { McpServer } from "./McpServer.ts"
import type { Server } from "./Server.ts"

/** The client that a server is created for. */
export interface McpRequestContext {
  /** `legacy` for revisions with sessions, up to 2025-11-25. `modern` for 2026-07-28. */
  era: "legacy" | "modern"
  authInfo?: AuthInfo | undefined
  /** The HTTP request. */
  requestInfo?: globalThis.Request | undefined
}

/** Creates a server. `context` describes the client that it is for. */
export type Factory = (context: McpRequestContext) => McpServer | Server | PromiseLike<McpServer | Server>
