/** Requests in the eyes of the operator: a span for each where there is a tracer, and a log line for each defect of a handler. */
import { attempt, exitOf } from "@effect-mcp/core/internal/eager"
import * as Spans from "@effect-mcp/core/internal/Spans"
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

/** In a span where there is a tracer: `traced` says what surrounds it. Else an effect that has ended stays an Exit. */
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

/** The revision that a message of the stateless era names. */
const declaredIn = (message: JsonRpc.Request | JsonRpc.Notification): string | undefined => {
  const { [Meta.protocolVersion]: revision } = metaOf(message)
  return typeof revision === "string" ? beginning(revision) : undefined
}

/** What a span says of a message of a session. A message that names its revision belongs to no session. */
export const surroundingsOf =
  (session: Session, message: JsonRpc.Request | JsonRpc.Notification, { headers }: Envelope) =>
  (): Spans.Surroundings => {
    const revision = declaredIn(message)
    return revision === undefined
      ? { ...session.surroundings, headers }
      : { revision, transport: session.kind, headers }
  }

/** The same for a request without a session. */
export const surroundingsOfStateless =
  ({ envelope: { headers }, kind, request }: StatelessRequest) =>
  (): Spans.Surroundings => ({ revision: declaredIn(request), transport: kind, headers })
