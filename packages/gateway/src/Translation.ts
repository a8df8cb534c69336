/**
 * Translates between the two sides of a gateway. Few differences remain, because both sides use the same model.
 *
 * Declarations, progress tokens and request states belong to one side and are not forwarded. Errors keep their code, message and data,
 * except for the one code whose number depends on the revision.
 */
import type { ClientError, InvalidResult } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import { Declaration } from "@effect-mcp/client/internal/relaying"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import { listKinds } from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"

type Declared = Pick<ServerCapabilities, "experimental" | "extensions">
type Members = { readonly [M in keyof Declared]: Declared[M] | undefined }

/** MCP's own extensions whose messages are the same in both eras. Sessions also declare them in `extensions`. */
const sameInBothEras: ReadonlySet<string> = new Set(["io.modelcontextprotocol/skills", "io.modelcontextprotocol/ui"])

/**
 * Returns one side's declared extensions and experiments, for the other side. Within an era they are unchanged. Between eras, an extension
 * moves to the member that declares it there. Other extensions of MCP itself (`io.modelcontextprotocol/...`) are left out, because their
 * messages may differ by era.
 */
export const declared = ({ experimental, extensions }: Members, from: Revision, to: Revision): Declared => {
  if (from.era === to.era) return withoutEmpty({ experimental, extensions })
  const all = Object.entries({ ...experimental, ...extensions })
  const moved = Object.fromEntries(all.filter(([id]) => Meta.isExtensionId(id) && !Meta.isReserved(id)))
  const experiments = Object.fromEntries(all.filter(([id]) => !Meta.isExtensionId(id)))
  const same = Object.fromEntries(all.filter(([id]) => sameInBothEras.has(id)))
  return to.rules.extensions === "extensions"
    ? withoutEmpty({ experimental: experiments, extensions: { ...moved, ...same } })
    : withoutEmpty({ experimental: { ...experiments, ...moved }, extensions: same })
}

const isFilled = (member: JsonObject | undefined): boolean => member !== undefined && Object.keys(member).length > 0

const withoutEmpty = ({ experimental, extensions }: Members): Declared => ({
  ...(experimental !== undefined && isFilled(experimental) ? { experimental } : undefined),
  ...(extensions !== undefined && isFilled(extensions) ? { extensions } : undefined)
})

/** Returns the upstream server's capabilities without its tasks: callers see the gateway's own tasks (`Tasks`). */
const capabilities = (upstream: ServerCapabilities, revision: Revision, downstream: Revision): ServerCapabilities => {
  const { experimental, extensions, tasks: _tasks, ...own } = upstream
  const { rules } = revision
  // 2024-11-05 has completion without a declaration.
  const undeclared = !rules.completionsDeclared && (own.prompts !== undefined || own.resources !== undefined)
  return {
    ...own,
    ...(undeclared ? { completions: own.completions ?? {} } : undefined),
    ...declared({ experimental, extensions }, revision, downstream)
  }
}

/** Returns the declarations for an upstream server that may be replaced by a server with other lists. */
export const withChangingLists = (declared: ServerCapabilities): ServerCapabilities => ({
  ...declared,
  ...Object.fromEntries(listKinds.map((kind) => [kind, { ...declared[kind], listChanged: true }]))
})

/** Returns the upstream server's description, which `initialize` and `server/discover` send to the gateway's clients. */
export const identity = (client: McpClient["Service"], downstream: Revision, changingLists: boolean) => ({
  capabilities: capabilities(
    changingLists ? withChangingLists(client.serverCapabilities) : client.serverCapabilities,
    client.revision,
    downstream
  ),
  ...(client.instructions === undefined ? undefined : { instructions: client.instructions })
})

/** Splits a request's params into the params to forward and their `_meta`, which is `undefined` if nothing in it is forwarded. */
export const outgoing = <P extends object>(given: P): { readonly params: P; readonly meta: JsonObject | undefined } => {
  const { _meta, inputResponses: _responses, requestState: _state, task: _task, ...rest } = given as JsonObject
  const { progressToken: _token, ...entries } = isJsonObject(_meta) ? _meta : { progressToken: undefined }
  const meta = Declaration.without(entries)
  // Only fields that are optional in every request were removed.
  return { params: rest as P, meta: Object.keys(meta).length === 0 ? undefined : meta }
}

/** Returns the params to forward for an unknown method. Removes only the fields that belong to one side of the gateway. */
export const unknownParams = (given: JsonObject, { era }: Revision): JsonObject => {
  const { _meta, ...params } = given
  const { progressToken: _token, ...entries } = isJsonObject(_meta) ? _meta : { progressToken: undefined }
  const meta = Declaration.without(entries)
  const { inputResponses: _responses, requestState: state, ...rest } = params
  // Without a state this is not a later round, and fields with these names belong to the method.
  const sent = era === "stateless" && typeof state === "string" ? rest : params
  return Object.keys(meta).length === 0 ? sent : { ...sent, _meta: meta }
}

/** Methods of `sameInBothEras` whose results must say how fresh they are, in 2026-07-28 only. */
const cacheable: ReadonlySet<string> = new Set(["skills/list", "skills/get", "resources/directory/read"])

/** Adds or removes the hint, as the downstream era expects. Without a hint from the server, a result is private and immediately stale. */
const hinted = (method: string, result: JsonObject, upstream: Revision, downstream: Revision): JsonObject => {
  if (upstream.era === downstream.era || !cacheable.has(method)) return result
  if (downstream.era === "stateless") return { ttlMs: 0, cacheScope: "private", ...result }
  const { cacheScope: _scope, ttlMs: _ttl, ...rest } = result
  return rest
}

/** Converts a result in the upstream server's wire form. Only 2026-07-28 has result types (`resultType`). */
export const result = (
  method: string,
  wire: unknown,
  upstream: Revision,
  downstream: Revision
): Effect.Effect<EncodedResult, McpError.McpError> => {
  const type = upstream.era === "stateless" ? ResultType.of(wire) : "complete"
  if (!isJsonObject(wire) || typeof type !== "string") {
    return Effect.fail(McpError.internalError(`The upstream server returned an invalid result for ${excerpt(method)}`))
  }
  if (downstream.era === "stateful" && type !== "complete") {
    const message = `The upstream server returned a result of type ${excerpt(type)} for ${excerpt(method)}`
    return Effect.fail(McpError.internalError(`${message}, which ${downstream.version} does not have`))
  }
  const unmarked = upstream.era === "stateless" ? ResultType.unmarked(wire) : wire
  const sent = hinted(method, isJsonObject(unmarked) ? unmarked : {}, upstream, downstream)
  return Effect.succeed(EncodedResult.relayed(type, sent))
}

/** True if an invalid result has a type that an extension adds. */
export const isOtherKind = (error: ClientError, { era }: Revision): error is InvalidResult =>
  error._tag === "InvalidResult" &&
  era === "stateless" &&
  !["complete", "input_required"].some((known) => known === ResultType.of(error.result))

const notFoundCodes: ReadonlySet<number> = new Set([McpError.ResourceNotFound, McpError.InvalidParams])

/** Converts an upstream request's failure to the downstream error. `uri` is the resource that was read. */
export const toMcpError =
  (method: string, { rules }: Revision, uri?: string) =>
  (error: ClientError): McpError.McpError => {
    if (error._tag === "CapabilityMissing") return McpError.methodNotFound(method)
    if (error._tag === "TaskCancelled") return McpError.interrupted(error.message)
    if (error._tag !== "McpError") return McpError.internalError(error.message)
    const { code, data, message } = error
    const notFound =
      uri !== undefined &&
      notFoundCodes.has(code) &&
      (code === McpError.ResourceNotFound || (isJsonObject(data) && data.uri === uri))
    return notFound && code !== rules.resourceNotFound
      ? new McpError.McpError({ code: rules.resourceNotFound, message, data: data ?? { uri } })
      : error
  }
