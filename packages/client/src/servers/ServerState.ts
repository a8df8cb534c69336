/** How far a server of several is reached, and the error of a request to one that is not. */
import * as Data from "effect/Data"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Version } from "@effect-mcp/protocol/Revision"

export type ServerState =
  /** It is being connected to: for the first time, or since its connection was lost. */
  | { readonly _tag: "Connecting" }
  /** `info` is how the server names itself; not verified. */
  | { readonly _tag: "Connected"; readonly revision: Version; readonly info: Implementation }
  | {
      readonly _tag: "Down"
      /** Why the last try failed. */
      readonly message: string
      readonly cause: unknown
      /** Tries in a row that failed. */
      readonly tries: number
      /** Whether it is tried again by itself: not where the next try would fail with the same error, as without credentials. */
      readonly retries: boolean
    }

/** The server is not connected; the request was not sent. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  /** The name of the server in the table of its clients. */
  readonly server: string
  readonly message: string
  readonly cause?: unknown
}> {}
