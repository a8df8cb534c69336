/** The end of a handler as the response to its request. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Sink } from "../transport/Transport.ts"

/** Sends the response. A result that is no JSON (a cycle, a BigInt) is answered by -32603. */
export const answer = (sink: Sink, message: JsonRpc.Success | JsonRpc.Failure): void => {
  try {
    sink.send(message, "control", message.id ?? undefined)
  } catch {
    sink.send(JsonRpc.failure(message.id, McpError.internalError()), "control", message.id ?? undefined)
  }
}

/** `interrupted`: why this side interrupted the handler, if it did. */
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
