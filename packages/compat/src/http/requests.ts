/** Requests as frameworks pass them on, with the results of earlier middleware. */
import type { IncomingMessage } from "node:http"
import type { AuthInfo } from "../model/types.ts"

/** A Node request, with the results of earlier middleware. */
export type NodeRequest = IncomingMessage & { auth?: AuthInfo | undefined }

/** Known facts about a `fetch` request that are not part of it. */
export interface RequestExtra {
  authInfo?: AuthInfo | undefined
  /** The body, if it was already read. */
  parsedBody?: unknown
}
