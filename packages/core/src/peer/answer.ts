/** Converts a handler's exit to the response for its request. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Sink } from "../transport/Transport.ts"

/** Sends the response. If the result cannot be serialized (a cycle, a BigInt), sends -32603 instead. */
export const answer = (sink: Sink, message: JsonRpc.Success | JsonRpc.Failure): void => {
  try {
    sink.send(message, "control", message.id ?? undefined)
  } catch {
    sink.send(JsonRpc.failure(message.id, McpError.internalError()), "control", message.id ?? undefined)
  }
}

/** `interrupted` is the reason if this peer interrupted the handler. */
export const response = (
  id: JsonRpc.Id,
  interrupted: string | undefined,
  exit: Exit.Exit<unknown, McpError.McpError>
): JsonRpc.Response => {
  if (Exit.isSuccess(exit)) return JsonRpc.success(id, exit.value)
  const failure = exit.cause.reasons.find(Cause.isFailReason)?.error
  if (failure !== undefined) return JsonRpc.failure(id, failure)
  if (interrupted !== undefined) return JsonRpc.failure(id, McpError.interrupted(interrupted))
  return JsonRpc.failure(
    id,
    Cause.hasInterruptsOnly(exit.cause)
      ? McpError.interrupted("The handler interrupted itself")
      : McpError.internalError()
  )
}
