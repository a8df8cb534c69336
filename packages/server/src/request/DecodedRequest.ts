/** Requests and results in their canonical types, between the codecs and the handlers. */
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/**
 * The name of a method that an extension adds: a string that is none of MCP's. An enum, since only the type of a single value lets a
 * comparison of `method` narrow the request.
 */
export declare enum ExtensionMethodName {
  own = "own"
}

type McpRequest = {
  [M in keyof Method.ClientRequests]: { readonly method: M; readonly params: Method.ClientRequests[M]["params"] }
}[keyof Method.ClientRequests]

/** A request of an extension's method, its params as they are on the wire. */
export interface ExtensionRequest {
  readonly method: ExtensionMethodName
  readonly params: JsonObject
}

/** A decoded request: `params` has the canonical type of `method`. */
export type DecodedRequest = McpRequest | ExtensionRequest

/** Whether a request is of an extension's method. */
export const isExtensionRequest = (request: DecodedRequest): request is ExtensionRequest =>
  MethodInfo.ofRequest(request.method) === undefined

/** A result in its canonical type, or encoded already: of an extension's method, or of a kind that an extension adds. */
export type DecodedResult = Method.ClientRequests[keyof Method.ClientRequests]["result"] | EncodedResult
