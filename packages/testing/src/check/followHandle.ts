/** A client without tasks that follows a task through the server's tools, as a model does. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"

/** Returns the call that a handle asks for, or `undefined` if the result is not a handle. */
const nextOf = ({
  structuredContent
}: CallToolResult): { readonly tool: string; readonly args: JsonObject } | undefined => {
  const next = isJsonObject(structuredContent) ? structuredContent["next"] : undefined
  if (!isJsonObject(next)) return undefined
  const { arguments: args, tool } = next
  return typeof tool === "string" && isJsonObject(args) ? { tool, args } : undefined
}

/** A task that has not changed would be read again at once. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Calls the tool, then every tool that a result asks for. Cancels the task if it is interrupted. */
export const followHandle = (client: McpClient.Client, name: string): Effect.Effect<unknown, McpClient.ClientError> => {
  const follow = (result: CallToolResult): Effect.Effect<unknown, McpClient.ClientError> => {
    const next = nextOf(result)
    if (next === undefined) return Effect.void
    const { args, tool } = next
    const cancel = Effect.ignore(client.callToolByName(tool.replace(/[a-z]+$/, "cancel"), args))
    const following = Effect.tap(client.callToolByName(tool, args), turn)
    return Effect.flatMap(
      Effect.onInterrupt(following, () => cancel),
      follow
    )
  }
  return Effect.flatMap(client.callToolByName(name, {}), follow)
}
