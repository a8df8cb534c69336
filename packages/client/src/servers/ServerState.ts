/** Connection state of a server in `McpClients`, and the error for requests to a disconnected server. */
import * as Data from "effect/Data"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Version } from "@effect-mcp/protocol/Revision"

export type ServerState =
  /** Connecting, either for the first time or after losing the connection. */
  | { readonly _tag: "Connecting" }
  /** `info` holds the server's self-reported name and version, which are not verified. */
  | { readonly _tag: "Connected"; readonly revision: Version; readonly info: Implementation }
  | {
      readonly _tag: "Down"
      /** Why the last attempt failed. */
      readonly message: string
      readonly cause: unknown
      /** Number of consecutive failed attempts. */
      readonly tries: number
      /**
       * True if the client will retry automatically. False if a retry would fail with the same error, for example because credentials are
       * missing.
       */
      readonly retries: boolean
    }

/** The server is not connected, so the request was not sent. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  /** The server's name in the table. */
  readonly server: string
  readonly message: string
  readonly cause?: unknown
}> {}
