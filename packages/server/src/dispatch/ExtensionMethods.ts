/**
 * Methods of extensions, between the eras and their handlers: which exist for a caller, what the client must have declared, and how
 * results are written that are encoded already.
 */
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import { type EncodedResult, isEncodedResult } from "@effect-mcp/core/EncodedResult"
import type { Caller, ExtensionEntry } from "@effect-mcp/core/Extensions"
import { missing } from "@effect-mcp/core/internal/ExtensionMessages"
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

/** The members of params that belong to MCP. */
const askingParams = verbatim(struct("AskingParams", { ...requestFields, ...inputFields }))
const ownParams = verbatim(struct("ExtensionParams", requestFields))

/** Whether no member of the params belongs to MCP; `mayAsk`: those that carry answers to questions do. */
const isBare = (params: JsonObject, mayAsk: boolean): boolean =>
  !("_meta" in params) && !(mayAsk && ("inputResponses" in params || "requestState" in params))

/** The params of the method itself. */
const bare = (params: unknown, mayAsk: boolean): JsonObject => {
  if (!isJsonObject(params)) return {}
  if (isBare(params, mayAsk)) return params
  const { _meta, ...own } = params
  if (!mayAsk) return own
  const { inputResponses: _responses, requestState: _state, ...rest } = own
  return rest
}

/** The operation of a method of a revision. */
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
    // What has nothing of MCP is not held against the schema of that: nearly all params of sessions.
    decode: (params) =>
      isJsonObject(params) && isBare(params, mayAsk) ? Effect.succeed(params) : unknown.decode(params),
    handle: (params: unknown, request: ServerRequest) => call(bare(params, mayAsk), request)
  }
}

/** The operation of a method that no extension of the server has: middleware may answer it. */
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
    encode: (result) => Effect.die(new Error(`${method} has no result but an encoded one: ${typeof result}`)),
    needsSession: false,
    mayAsk,
    hint: undefined,
    variesByCaller: () => true,
    rateLimit
  }
}

/** Whether a method exists for the caller: an extension may be offered to some only. */
export const isOffered = (own: ExtensionMethod | undefined, caller: () => Caller): boolean =>
  own === undefined || own.extension.offered(caller())

/**
 * The error for a client that did not declare the extension that `what` belongs to. Before 2026-07-28, which defines -32021, the method does not exist
 * for such a client: what was not negotiated must not be used (basic/lifecycle). The data is the same.
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
    message: `${isDefined ? "" : "Method not found: "}${what} needs a client that declares the extension ${extension.id}`,
    data: { requiredCapabilities }
  })
}

/** `undeclared` of a method; undefined for those of MCP. */
export const undeclaredMethod = (
  own: ExtensionMethod | undefined,
  client: ClientDeclaration
): McpError.McpError | undefined => own && undeclared(own.extension, own.part.request.method, client)

/**
 * A result that is encoded already, as it is written. One of a kind that the client did not declare is a defect of the code that gave it
 * (2026-07-28: basic/index, the known types of results are those of the core and of declared extensions).
 */
const wireOf = (
  { extension, resultType, wire }: EncodedResult,
  client: ClientDeclaration
): Effect.Effect<JsonObject> => {
  if (extension !== undefined && missing(extension, client) !== undefined) {
    const message = `A result of the type ${resultType} needs a client that declared the extension ${extension.id}`
    return Effect.die(new Error(message))
  }
  return Effect.succeed(client.revision.era === "stateless" ? { ...wire, resultType } : wire)
}

/** The result on the wire: written unchanged where it is encoded already, else by `encode`. */
export const encoded = <A>(
  result: DecodedResult,
  client: () => ClientDeclaration,
  encode: (result: Exclude<DecodedResult, EncodedResult>) => Effect.Effect<A, McpError.McpError>
): Effect.Effect<A | JsonObject, McpError.McpError> =>
  isEncodedResult(result) ? wireOf(result, client()) : encode(result)
