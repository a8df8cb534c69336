/** Requests and results in their canonical types, between the codecs and the handlers. */
import type * as Method from "@effect-mcp/protocol/Method"

/** A decoded request: `params` has the canonical type of `method`. */
export type DecodedRequest = {
  [M in keyof Method.ClientRequests]: { readonly method: M; readonly params: Method.ClientRequests[M]["params"] }
}[keyof Method.ClientRequests]

export type DecodedResult = Method.ClientRequests[keyof Method.ClientRequests]["result"]
