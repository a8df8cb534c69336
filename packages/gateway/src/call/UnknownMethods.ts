/**
 * Questions and notifications from the upstream server whose methods the gateway does not know. Params and answers are in wire form.
 */
import type * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import type { AskError } from "@effect-mcp/core/ClientInput"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { relatedTask } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Effect from "effect/Effect"
import type { PutRelated, UpstreamCall } from "./UpstreamCall.ts"

const noMeta: JsonObject = {}

/** Answers the upstream server's questions with unknown methods by asking the client. */
export const questions =
  (put: PutRelated): NonNullable<ClientMiddleware.Middleware["question"]> =>
  ({ method, params = {} }, next) => {
    if (Object.hasOwn(MethodInfo.serverRequests, method)) return next
    const { _meta, ...rest } = params
    const { progressToken: _token, [relatedTask]: _task, ...meta } = isJsonObject(_meta) ? _meta : noMeta
    const asked = Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta }
    const answered = put<unknown>(method, (input, options) =>
      input.askExtension({ method, params: asked, decode: Effect.succeed }, options)
    )
    return Effect.mapError(answered, (error) => toMcpError(method, error))
  }

const toMcpError = (method: string, error: AskError | McpError.McpError): McpError.McpError => {
  if (error._tag === "McpError") return error
  if (error._tag === "CapabilityMissing") return McpError.methodNotFound(method)
  return error._tag === "Declined"
    ? new McpError.McpError({ code: McpError.UserRejected, message: error.message })
    : McpError.internalError(error.message)
}

/** Forwards a notification from the upstream server with the call that it belongs to, or else to the client's session. */
export const announce = (
  call: UpstreamCall<unknown> | undefined,
  session: RequestConnection | undefined,
  { method, params }: Pick<JsonRpc.Notification, "method" | "params">
): void => {
  // The subscription forwards what arrives on its own stream.
  if (isJsonObject(params?._meta) && params._meta[Meta.subscriptionId] !== undefined) return
  if (call === undefined) session?.notify(method, params)
  else call.notify(method, params)
}
