/** What every request needs before it is sent, in either era: the declaration of the server's, and the coders of the method. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import { CapabilityMissing, InvalidResult } from "../ClientError.ts"
import type { Requests } from "../CallOptions.ts"
import { missingFor } from "./Needs.ts"
import type { Negotiated } from "./Negotiation.ts"

export interface Prepared<P, R> {
  readonly coders: Codecs.Coders<P, R>
  /** The error for an answer that does not decode. */
  readonly malformed: (message: string, result: unknown) => InvalidResult
}

const codersOf = <M extends keyof Requests>(
  revision: Revision,
  method: M
): Codecs.Coders<Requests[M]["params"], Requests[M]["result"]> | undefined => {
  const codec = revision.requests[method]
  return codec === undefined ? undefined : Codecs.coders(codec)
}

/** Refuses what the server did not declare, or its revision does not have: nothing is sent then. */
export const prepare = <M extends keyof Requests>(
  { revision, serverCapabilities }: Negotiated,
  method: M
): Effect.Effect<Prepared<Requests[M]["params"], Requests[M]["result"]>, CapabilityMissing> => {
  const missing = missingFor(method, serverCapabilities, revision)
  const coders = codersOf(revision, method)
  if (missing !== undefined || coders === undefined) {
    const capability = missing ?? method
    return Effect.fail(new CapabilityMissing({ capability, message: `The server did not declare ${capability}` }))
  }
  return Effect.succeed({
    coders,
    malformed: (message: string, result: unknown) =>
      new InvalidResult({ method, message: `The answer to ${method} is malformed: ${message}`, result })
  })
}

/** The error for params that the revision has no words for. */
export const encodeFailed = (message: string): McpError.McpError =>
  McpError.invalidParams(`Cannot be said to this server: ${message}`)
