/** `@modelcontextprotocol/sdk/shared/protocol.js`: types of options and handlers. `Protocol` itself is missing. */
import type { Progress } from "../../model/types.ts"
import type { ServerContext } from "../../request/ServerContext.ts"

export type { RequestOptions } from "../../client/Options.ts"
export type ProgressCallback = (progress: Progress) => void
/** The second argument of handlers. It is the same for all requests and notifications. */
export type RequestHandlerExtra<_Request = unknown, _Notification = unknown> = ServerContext

/** Default time to wait for the answer to a request, in milliseconds. */
export const DEFAULT_REQUEST_TIMEOUT_MSEC = 60_000
