/** Requests as frameworks hand them out, with what was found out before. */
import type { IncomingMessage } from "node:http"
import type { AuthInfo } from "../model/types.ts"

/** A request of Node's, with what middleware before it has found out. */
export type NodeRequest = IncomingMessage & { auth?: AuthInfo | undefined }

/** What is known of a `fetch` request beside it. */
export interface RequestExtra {
  authInfo?: AuthInfo | undefined
  /** The body, where it was read before. */
  parsedBody?: unknown
}
