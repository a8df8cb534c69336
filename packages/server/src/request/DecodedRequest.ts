/** Requests and results in their canonical types, between the codecs and the handlers. */
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/**
 * Name of a method that an extension adds: a string that isn't an MCP method. It is an enum, because comparing `method` only narrows the
 * request if the type has a single value.
 */
export declare enum ExtensionMethodName {
  own = "own"
}

type McpRequest = {
  [M in keyof Method.ClientRequests]: { readonly method: M; readonly params: Method.ClientRequests[M]["params"] }
}[keyof Method.ClientRequests]

/** A request for an extension's method, with its params as sent on the wire. */
export interface ExtensionRequest {
  readonly method: ExtensionMethodName
  readonly params: JsonObject
}

/** A decoded request: `params` has the canonical type of `method`. */
export type DecodedRequest = McpRequest | ExtensionRequest

/** True if the request is for an extension's method. */
export const isExtensionRequest = (request: DecodedRequest): request is ExtensionRequest =>
  MethodInfo.ofRequest(request.method) === undefined

/** A result in its canonical type, or an already encoded result from an extension's method or of a kind that an extension adds. */
export type DecodedResult = Method.ClientRequests[keyof Method.ClientRequests]["result"] | EncodedResult
