/**
 * Connects the eras to the handlers of extension methods: decides which methods exist for a caller and which
 * declarations they need from the client, and writes results that are already encoded.
 */
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import { type EncodedResult, isEncodedResult } from "@effect-mcp/core/EncodedResult"
import type { Caller, ExtensionEntry } from "@effect-mcp/core/Extensions"
import { missing } from "@effect-mcp/core/internal/codecs"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import { inputFields, requestFields } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject, struct, verbatim } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { ExtensionSet, ExtensionMethod } from "../features/ExtensionRegistry.ts"
import type { DecodedResult } from "../request/DecodedRequest.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { MethodOperation } from "./Operation.ts"

/** Names of the params that belong to MCP. */
const askingParams = verbatim(struct("AskingParams", { ...requestFields, ...inputFields }))
const ownParams = verbatim(struct("ExtensionParams", requestFields))

/**
 * True if no member of the params belongs to MCP. If the method may ask its client (`mayAsk`), the members that carry answers to questions
 * count too.
 */
const isBare = (params: JsonObject, mayAsk: boolean): boolean =>
  !("_meta" in params) && !(mayAsk && ("inputResponses" in params || "requestState" in params))

/** Returns the method's own params. */
const bare = (params: unknown, mayAsk: boolean): JsonObject => {
  if (!isJsonObject(params)) return {}
  if (isBare(params, mayAsk)) return params
  const { _meta, ...own } = params
  if (!mayAsk) return own
  const { inputResponses: _responses, requestState: _state, ...rest } = own
  return rest
}

/** Creates the operation for a method in a revision. */
export const operationOf = (
  extensions: ExtensionSet,
  own: ExtensionMethod,
  revision: Revision,
  rateLimit: MethodOperation["rateLimit"]
): MethodOperation => {
  const { mayAsk = true, method } = own.part.request
  const call = extensions.caller(method, revision)
  const unknown = unknownOperation(method, rateLimit, mayAsk)
  return {
    ...unknown,
    own,
    isKnown: true,
    // Params without MCP members need no validation against the MCP schema. Nearly all params in sessions are of this kind.
    decode: (params) =>
      isJsonObject(params) && isBare(params, mayAsk) ? Effect.succeed(params) : unknown.decode(params),
    handle: (params: unknown, request: ServerRequest) => call(bare(params, mayAsk), request)
  }
}

/** Creates the operation for a method that none of the server's extensions has, for middleware to answer. */
export const unknownOperation = (
  method: string,
  rateLimit: MethodOperation["rateLimit"],
  mayAsk = true
): MethodOperation => {
  const coder: Codecs.Coder<object> = Codecs.coder(mayAsk ? askingParams : ownParams)
  const failed = (message: string) => McpError.invalidParams(`Invalid params for ${method}: ${message}`)
  return {
    method,
    own: undefined,
    isKnown: false,
    decode: (params) => Effect.mapErrorEager(coder.decode(params ?? {}), failed),
    handle: () => Effect.fail(McpError.methodNotFound(method)),
    encode: (result) => Effect.die(new Error(`${method} must return an encoded result, not ${typeof result}`)),
    needsSession: false,
    mayAsk,
    hint: undefined,
    variesByCaller: () => true,
    rateLimit
  }
}

/** True if a method exists for the caller. An extension may be offered only to some callers. */
export const isOffered = (own: ExtensionMethod | undefined, caller: () => Caller): boolean =>
  own === undefined || own.extension.offered(caller())

/**
 * Returns the error for a client that did not declare the extension that `what` belongs to. Before 2026-07-28, which defines -32021, the
 * method does not exist for such a client, because only negotiated features may be used (basic/lifecycle). The error data is the same.
 */
export const undeclared = (
  extension: ExtensionEntry,
  what: string,
  client: ClientDeclaration
): McpError.McpError | undefined => {
  if (extension.undeclared === "served") return undefined
  const requiredCapabilities = missing(extension, client)
  if (requiredCapabilities === undefined) return undefined
  const isDefined = client.revision.rules.missingCapability === "error"
  return new McpError.McpError({
    code: isDefined ? McpError.MissingClientCapability : McpError.MethodNotFound,
    message: `${isDefined ? "" : "Method not found: "}${what} is only available to clients that support the extension ${extension.id}`,
    data: { requiredCapabilities }
  })
}

/** Calls `undeclared` for an extension's method. Returns `undefined` for MCP methods. */
export const undeclaredMethod = (
  own: ExtensionMethod | undefined,
  client: ClientDeclaration
): McpError.McpError | undefined => own && undeclared(own.extension, own.part.request.method, client)

/**
 * Returns an encoded result in the form in which it is sent. If the client did not declare its type, that is a defect
 * in the code that returned it (2026-07-28: basic/index, only result types from the core and from declared extensions
 * are known).
 */
const wireOf = (
  { extension, resultType, wire }: EncodedResult,
  client: ClientDeclaration
): Effect.Effect<JsonObject> => {
  if (extension !== undefined && missing(extension, client) !== undefined) {
    const message = `Cannot send a result of type ${resultType}: the client does not support the extension ${extension.id}`
    return Effect.die(new Error(message))
  }
  return Effect.succeed(client.revision.era === "stateless" ? { ...wire, resultType } : wire)
}

/** Returns the result on the wire: unchanged if it is already encoded, otherwise from `encode`. */
export const encoded = <A>(
  result: DecodedResult,
  client: () => ClientDeclaration,
  encode: (result: Exclude<DecodedResult, EncodedResult>) => Effect.Effect<A, McpError.McpError>
): Effect.Effect<A | JsonObject, McpError.McpError> =>
  isEncodedResult(result) ? wireOf(result, client()) : encode(result)
