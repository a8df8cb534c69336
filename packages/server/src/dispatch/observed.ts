/** Requests in the eyes of the operator: a span for each where there is a tracer, and a log line for each defect of a handler. */
import { attempt, exitOf } from "@effect-mcp/core/internal/eager"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** In a span where there is a tracer; else an effect that has ended stays an Exit. */
export const observed = (
  handle: () => Effect.Effect<unknown, McpError.McpError>,
  request: JsonRpc.Request,
  traced: boolean
): Effect.Effect<unknown, McpError.McpError> => {
  if (traced) return TraceContext.serverSpan(Effect.tapCause(Effect.suspend(handle), reportDefect(request)), request)
  const effect = attempt(handle)
  const done = exitOf(effect)
  return done !== undefined && Exit.isSuccess(done) ? done : Effect.tapCause(effect, reportDefect(request))
}

/** Logs a defect of a handler; the client sees only -32603. */
const reportDefect =
  ({ method, params }: JsonRpc.Request) =>
  (cause: Cause.Cause<McpError.McpError>): Effect.Effect<void> => {
    if (!Cause.hasDies(cause)) return Effect.void
    const target = params?.name ?? params?.uri
    // The name is text of the client: quoted, and cut.
    const named = typeof target === "string" ? ` ${JSON.stringify(target.slice(0, 128))}` : ""
    return Effect.logError(`The handler of ${method}${named} died`, cause)
  }
