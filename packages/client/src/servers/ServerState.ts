/** Connection state of one of several servers, and the error of requests to a server that is not connected. */
import * as Data from "effect/Data"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Version } from "@effect-mcp/protocol/Revision"

export type ServerState =
  /** Connecting for the first time, or again after the connection was lost. */
  | { readonly _tag: "Connecting" }
  /** `info` is the name and version that the server reports. Not verified. */
  | { readonly _tag: "Connected"; readonly revision: Version; readonly info: Implementation }
  | {
      readonly _tag: "Down"
      /** Why the last attempt failed. */
      readonly message: string
      readonly cause: unknown
      /** Number of failed attempts in a row. */
      readonly tries: number
      /** Whether another attempt follows automatically. False if it would fail with the same error, for example without credentials. */
      readonly retries: boolean
    }

/** The server is not connected. The request was not sent. */
export class Unavailable extends Data.TaggedError("Unavailable")<{
  /** Name of the server in the table. */
  readonly server: string
  readonly message: string
  readonly cause?: unknown
}> {}
