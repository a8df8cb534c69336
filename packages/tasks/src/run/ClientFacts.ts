/**
 * Facts about the original request that are stored with a task, so that it can run again in another process. They contain no header and no
 * token.
 *
 * Every run of a task receives these facts, including the first: a handler never sees a claim that a later run would lack.
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

/** Facts about the request that a task's run receives. */
export interface ClientFacts {
  readonly facts: Facts
  /** Steps and answers that the request recorded before it became a task. */
  readonly before: Recorded
  /** The request's span as a `traceparent`, or `undefined` if it has none. */
  readonly trace: string | undefined
}

/** Drops facts about a request that its task does not keep. `claims` lists the claims to keep, besides the issuer. */
export const kept = (facts: Facts, claims: ReadonlyArray<string>): Facts => {
  const { claims: all, scopes, subject } = facts.principal
  const own: Record<string, unknown> = {}
  for (const name of Object.keys(all)) if (name === "iss" || claims.includes(name)) own[name] = all[name]
  // Copies each member, because the facts may belong to a running request that has more.
  const { clientCapabilities, clientInfo, id, method, revision, sessionId } = facts
  const principal = { subject, scopes, claims: own }
  return { clientCapabilities, clientInfo, id, meta: {}, method, revision, sessionId, principal }
}

/** Encodes the facts for the task's row. */
export const write = ({ before, facts, trace }: ClientFacts): JsonObject => {
  const { clientCapabilities: capabilities, clientInfo, id, principal, revision, sessionId } = facts
  const { claims, scopes, subject } = principal
  return { revision: revision.version, capabilities, clientInfo, id, sessionId, subject, scopes, claims, before, trace }
}

/** Decodes the facts. Fails if a newer version wrote something that this one cannot read. */
export const read = (row: JsonObject): Effect.Effect<ClientFacts, McpError.McpError> =>
  Effect.flatMap(
    Effect.mapError(Schema.decodeUnknownEffect(Stored)(row), ({ message }) =>
      McpError.internalError(`This server cannot resume the task: ${message}`)
    ),
    ({ before, capabilities, claims, clientInfo, id, revision: version, scopes, sessionId, subject, trace }) => {
      const revision = Revision.get(version)
      if (revision === undefined) {
        return Effect.fail(
          McpError.internalError(`This server cannot resume the task: unknown protocol revision ${version}`)
        )
      }
      const principal = { subject, scopes, claims }
      const client = { clientCapabilities: capabilities, clientInfo, revision, sessionId }
      return Effect.succeed({ before, trace, facts: { ...client, id, meta: {}, method: "tools/call", principal } })
    }
  )
