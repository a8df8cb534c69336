/**
 * What differs between the two sides of a gateway: little, since both sides work with the same model.
 *
 * Declarations, progress tokens and request states belong to one side and are not passed on. Errors keep code, message and data,
 * except the one code whose number depends on the revision.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as Declaration from "@effect-mcp/client/internal/Declaration"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"

/** The upstream server's capabilities, without tasks and extensions, whose methods are unknown here. */
export const capabilities = (upstream: ServerCapabilities, { rules }: Revision): ServerCapabilities => {
  const { completions, experimental, logging, prompts, resources, tools } = upstream
  // 2024-11-05 has completion without declaring it.
  const undeclared = !rules.completionsDeclared && (prompts !== undefined || resources !== undefined)
  return {
    ...(logging === undefined ? undefined : { logging }),
    ...(tools === undefined ? undefined : { tools }),
    ...(resources === undefined ? undefined : { resources }),
    ...(prompts === undefined ? undefined : { prompts }),
    ...(completions === undefined && !undeclared ? undefined : { completions: completions ?? {} }),
    ...(experimental === undefined ? undefined : { experimental })
  }
}

/** What `initialize` and `server/discover` tell the gateway's clients of the upstream server. */
export const identity = (client: McpClient["Service"]) => ({
  capabilities: capabilities(client.serverCapabilities, client.revision),
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

const notFoundCodes: ReadonlySet<number> = new Set([McpError.ResourceNotFound, McpError.InvalidParams])

/** The downstream error for a failure of an upstream request. `uri` is the resource to read. */
export const toMcpError =
  (method: string, { rules }: Revision, uri?: string) =>
  (error: ClientError): McpError.McpError => {
    if (error._tag === "CapabilityMissing") return McpError.methodNotFound(method)
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
