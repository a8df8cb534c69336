/**
 * Makes requests visible to the operator, with a span for each request if there is a tracer and a log line for each
 * handler defect.
 */
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import { Spans } from "@effect-mcp/core/internal/peers"
import type { Envelope } from "@effect-mcp/core/Transport"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { metaOf } from "../request/RequestServices.ts"
import type { Session } from "../session/Session.ts"
import type { StatelessRequest } from "../view/StatelessRequest.ts"

/**
 * Runs the request in a span if there is a tracer; `traced` returns the attributes around it. Without a tracer, an effect that has already
 * ended stays an Exit.
 */
export const observed = (
  handle: () => Effect.Effect<unknown, McpError.McpError>,
  request: JsonRpc.Request,
  traced: (() => Spans.Surroundings) | undefined
): Effect.Effect<unknown, McpError.McpError> => {
  if (traced !== undefined) {
    return Spans.server(Effect.tapCause(Effect.suspend(handle), reportDefect(request)), request, traced)
  }
  const effect = attempt(handle)
  const done = exitOf(effect)
  return done !== undefined && Exit.isSuccess(done) ? done : Effect.tapCause(effect, reportDefect(request))
}

/** Logs a handler defect. The client only sees -32603. */
const reportDefect =
  ({ method, params }: JsonRpc.Request) =>
  (cause: Cause.Cause<McpError.McpError>): Effect.Effect<void> => {
    if (!Cause.hasDies(cause)) return Effect.void
    const target = params?.name ?? params?.uri
    // The client chose the name, so it is quoted and truncated.
    const named = typeof target === "string" ? ` ${JSON.stringify(target.slice(0, 128))}` : ""
    return Effect.logError(`The handler for ${method}${named} threw an unexpected error`, cause)
  }

/** Returns the revision that a stateless message names. */
const declaredIn = (message: JsonRpc.Request | JsonRpc.Notification): string | undefined => {
  const { [Meta.protocolVersion]: revision } = metaOf(message)
  return typeof revision === "string" ? beginning(revision) : undefined
}

/** Returns the span attributes for a session's message. A message that names its revision belongs to no session. */
export const surroundingsOf =
  (session: Session, message: JsonRpc.Request | JsonRpc.Notification, { headers }: Envelope) =>
  (): Spans.Surroundings => {
    const revision = declaredIn(message)
    return revision === undefined
      ? { ...session.surroundings, headers }
      : { revision, transport: session.kind, headers }
  }

/** Same as above, for a request without a session. */
export const surroundingsOfStateless =
  ({ envelope: { headers }, kind, request }: StatelessRequest) =>
  (): Spans.Surroundings => ({ revision: declaredIn(request), transport: kind, headers })
