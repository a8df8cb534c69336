/**
 * What the row of a task keeps of the request that made it, so that the task runs again in another process: no header, and no token.
 *
 * Every run of a task gets these facts, the first one too: a handler sees no claim that a later run would lack.
 */
import type { Recorded } from "@effect-mcp/core/ClientInput"
import { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Facts } from "@effect-mcp/server/Detached"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Values = Schema.Record(Schema.String, Schema.Unknown)

const Stored = Schema.Struct({
  revision: Schema.String,
  capabilities: verbatim(ClientCapabilities),
  clientInfo: Schema.optional(verbatim(Implementation)),
  id: Schema.Union([Schema.String, Schema.Finite]),
  sessionId: Schema.optional(Schema.String),
  subject: Schema.optional(Schema.String),
  scopes: Schema.Array(Schema.String),
  claims: Values,
  before: Schema.Struct({ answers: Values, steps: Values }),
  trace: Schema.optional(Schema.String)
})

/** What a run of a task knows of its request. */
export interface ClientFacts {
  readonly facts: Facts
  /** What the request recorded before it became a task. */
  readonly before: Recorded
  /** The span of the request, as `traceparent`; undefined where it has none. */
  readonly trace: string | undefined
}

/** The facts of a request without what its task does not keep; `claims` are the names of those that it does, beside the issuer. */
export const kept = (facts: Facts, claims: ReadonlyArray<string>): Facts => {
  const { claims: all, scopes, subject } = facts.principal
  const own: Record<string, unknown> = {}
  for (const name of Object.keys(all)) if (name === "iss" || claims.includes(name)) own[name] = all[name]
  // Member by member: the facts may be those of a request that has more, and runs.
  const { clientCapabilities, clientInfo, id, method, revision, sessionId } = facts
  const principal = { subject, scopes, claims: own }
  return { clientCapabilities, clientInfo, id, meta: {}, method, revision, sessionId, principal }
}

/** As the row of the task has them. */
export const write = ({ before, facts, trace }: ClientFacts): JsonObject => {
  const { clientCapabilities: capabilities, clientInfo, id, principal, revision, sessionId } = facts
  const { claims, scopes, subject } = principal
  return { revision: revision.version, capabilities, clientInfo, id, sessionId, subject, scopes, claims, before, trace }
}

/** Fails where the row was written by another version that wrote more than this one can read. */
export const read = (row: JsonObject): Effect.Effect<ClientFacts, McpError.McpError> =>
  Effect.flatMap(
    Effect.mapError(Schema.decodeUnknownEffect(Stored)(row), ({ message }) =>
      McpError.internalError(`The task cannot be continued here: ${message}`)
    ),
    ({ before, capabilities, claims, clientInfo, id, revision: version, scopes, sessionId, subject, trace }) => {
      const revision = Revision.get(version)
      if (revision === undefined) {
        return Effect.fail(
          McpError.internalError(`The task cannot be continued here: the revision ${version} is unknown`)
        )
      }
      const principal = { subject, scopes, claims }
      const client = { clientCapabilities: capabilities, clientInfo, revision, sessionId }
      return Effect.succeed({ before, trace, facts: { ...client, id, meta: {}, method: "tools/call", principal } })
    }
  )
