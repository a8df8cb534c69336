/**
 * What must be said in other words on the other side of a gateway: little, since both sides work with the same model.
 *
 * Each side's declarations, tokens and states are its own and are not passed on. Errors keep code, message and data, but for the one
 * code whose number depends on the revision.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { McpClient } from "@effect-mcp/client/McpClient"
import * as Declaration from "@effect-mcp/client/internal/Declaration"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"

/** `tasks` are not relayed, nor extensions: their methods are not known here. What is experimental passes as it is. */
export const capabilities = (behind: ServerCapabilities, { rules }: Revision): ServerCapabilities => {
  const { completions, experimental, logging, prompts, resources, tools } = behind
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

/** As whom a gateway speaks to its clients. */
export const identity = (client: McpClient["Service"]) => ({
  capabilities: capabilities(client.serverCapabilities, client.revision),
  ...(client.instructions === undefined ? undefined : { instructions: client.instructions })
})

/** The params of a request as they are passed on, and its `_meta` where anything of it is. */
export const outgoing = <P extends object>(given: P): { readonly params: P; readonly meta: JsonObject | undefined } => {
  const { _meta, inputResponses: _responses, requestState: _state, task: _task, ...rest } = given as JsonObject
  const { progressToken: _token, ...entries } = isJsonObject(_meta) ? _meta : { progressToken: undefined }
  const meta = Declaration.without(entries)
  // Only what is optional in every request was taken away.
  return { params: rest as P, meta: Object.keys(meta).length === 0 ? undefined : meta }
}

const notFoundCodes: ReadonlySet<number> = new Set([McpError.ResourceNotFound, McpError.InvalidParams])

/** How a failure of the server behind is told. `uri` is what was to be read. */
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
