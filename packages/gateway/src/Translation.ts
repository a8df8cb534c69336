/**
 * What differs between the two sides of a gateway: little, since both sides work with the same model.
 *
 * Declarations, progress tokens and request states belong to one side and are not passed on. Errors keep code, message and data,
 * except the one code whose number depends on the revision.
 */
import type { ClientError, InvalidResult } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as Declaration from "@effect-mcp/client/internal/Declaration"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"

type Declared = Pick<ServerCapabilities, "experimental" | "extensions">

/**
 * What one side declares of extensions and experiments, for the other side. Within an era it stays as it is. Between eras an extension moves
 * to the member that declares it there; one of MCP itself (`io.modelcontextprotocol/...`) is left out, since its messages differ by era.
 */
export const declared = ({ experimental, extensions }: Declared, from: Revision, to: Revision): Declared => {
  if (from.era === to.era) return withoutEmpty({ experimental, extensions })
  const all = Object.entries({ ...experimental, ...extensions })
  const moved = Object.fromEntries(all.filter(([id]) => Meta.isExtensionId(id) && !Meta.isReserved(id)))
  const experiments = Object.fromEntries(all.filter(([id]) => !Meta.isExtensionId(id)))
  return to.rules.extensions === "extensions"
    ? withoutEmpty({ experimental: experiments, extensions: moved })
    : withoutEmpty({ experimental: { ...experiments, ...moved } })
}

const isFilled = (member: JsonObject | undefined): boolean => member !== undefined && Object.keys(member).length > 0

const withoutEmpty = ({
  experimental,
  extensions
}: { readonly [M in keyof Declared]: Declared[M] | undefined }): Declared => ({
  ...(experimental !== undefined && isFilled(experimental) ? { experimental } : undefined),
  ...(extensions !== undefined && isFilled(extensions) ? { extensions } : undefined)
})

/** The upstream server's capabilities, without its tasks: those that callers get are the gateway's (`Tasks`). */
const capabilities = (upstream: ServerCapabilities, revision: Revision, downstream: Revision): ServerCapabilities => {
  const { completions, logging, prompts, resources, tools } = upstream
  const { rules } = revision
  // 2024-11-05 has completion without declaring it.
  const undeclared = !rules.completionsDeclared && (prompts !== undefined || resources !== undefined)
  return {
    ...(logging === undefined ? undefined : { logging }),
    ...(tools === undefined ? undefined : { tools }),
    ...(resources === undefined ? undefined : { resources }),
    ...(prompts === undefined ? undefined : { prompts }),
    ...(completions === undefined && !undeclared ? undefined : { completions: completions ?? {} }),
    ...declared(upstream, revision, downstream)
  }
}

/** The declarations of an upstream server that may be replaced by one with other lists. */
export const withChangingLists = (declared: ServerCapabilities): ServerCapabilities => ({
  ...declared,
  tools: { ...declared.tools, listChanged: true },
  resources: { ...declared.resources, listChanged: true },
  prompts: { ...declared.prompts, listChanged: true }
})

/** What `initialize` and `server/discover` tell the gateway's clients of the upstream server. */
export const identity = (client: McpClient["Service"], downstream: Revision, changingLists: boolean) => ({
  capabilities: capabilities(
    changingLists ? withChangingLists(client.serverCapabilities) : client.serverCapabilities,
    client.revision,
    downstream
  ),
  ...(client.instructions === undefined ? undefined : { instructions: client.instructions })
})

/** The params of a request as they are passed on; its `_meta` apart, undefined where none of it is passed on. */
export const outgoing = <P extends object>(given: P): { readonly params: P; readonly meta: JsonObject | undefined } => {
  const { _meta, inputResponses: _responses, requestState: _state, task: _task, ...rest } = given as JsonObject
  const { progressToken: _token, ...entries } = isJsonObject(_meta) ? _meta : { progressToken: undefined }
  const meta = Declaration.without(entries)
  // Only fields that are optional in every request were taken away.
  return { params: rest as P, meta: Object.keys(meta).length === 0 ? undefined : meta }
}

/** The params of an unknown method as they are passed on: only what belongs to one side of the gateway is taken out. */
export const unknownParams = (given: JsonObject, { era }: Revision): JsonObject => {
  const { _meta, ...params } = given
  const { progressToken: _token, ...entries } = isJsonObject(_meta) ? _meta : { progressToken: undefined }
  const meta = Declaration.without(entries)
  const { inputResponses: _responses, requestState: state, ...rest } = params
  // Without a state it is no later round, and what is named so belongs to the method.
  const sent = era === "stateless" && typeof state === "string" ? rest : params
  return Object.keys(meta).length === 0 ? sent : { ...sent, _meta: meta }
}

/** A result on the wire of the upstream server. Kinds of results (`resultType`) exist in 2026-07-28 only. */
export const result = (
  method: string,
  wire: unknown,
  upstream: Revision,
  downstream: Revision
): Effect.Effect<EncodedResult, McpError.McpError> => {
  const type = upstream.era === "stateless" ? ResultType.of(wire) : "complete"
  if (!isJsonObject(wire) || typeof type !== "string") {
    return Effect.fail(McpError.internalError(`The upstream server's result of ${excerpt(method)} is malformed`))
  }
  if (downstream.era === "stateful" && type !== "complete") {
    const message = `The upstream server's result of ${excerpt(method)} is of the type ${excerpt(type)}`
    return Effect.fail(McpError.internalError(`${message}, which ${downstream.version} does not have`))
  }
  const unmarked = upstream.era === "stateless" ? ResultType.unmarked(wire) : wire
  return Effect.succeed(EncodedResult.relayed(type, isJsonObject(unmarked) ? unmarked : {}))
}

/** Whether a result that was refused is one of a kind that an extension adds. */
export const isOtherKind = (error: ClientError, { era }: Revision): error is InvalidResult =>
  error._tag === "InvalidResult" &&
  era === "stateless" &&
  !["complete", "input_required"].some((known) => known === ResultType.of(error.result))

const notFoundCodes: ReadonlySet<number> = new Set([McpError.ResourceNotFound, McpError.InvalidParams])

/** The downstream error for a failure of an upstream request. `uri` is the resource to read. */
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
