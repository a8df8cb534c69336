/** Reopens another node's session: restores the outcome of its `initialize` and restarts its subscriptions. */
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Features } from "../features/Features.ts"
import * as Subscriptions from "../features/Subscriptions.ts"
import type { Limits } from "../Limits.ts"
import type { Session } from "../session/Session.ts"
import type { SessionRecord } from "../session/SessionDirectory.ts"

/** Returns the data that another node needs to reopen the session, or `undefined` until `initialize` has been answered. */
export const recordOf = (server: string, owner: string, session: Session): SessionRecord | undefined => {
  const { logLevel, negotiated } = session
  if (negotiated === undefined) return undefined
  const { clientCapabilities, clientInfo, revision } = negotiated
  const subscriptions = session.hasSubscriptions ? [...session.subscriptions.keys()] : []
  return { server, owner, version: revision.version, clientInfo, clientCapabilities, logLevel, subscriptions }
}

export type Restore = (session: Session, record: SessionRecord) => Effect.Effect<void, McpError.McpError>

/**
 * Creates a function that reopens a session. It fails if the revision is not supported, or if the client already holds too many bytes.
 * Subscriptions to resources that no longer exist are dropped. The client counts as initialized, because it has received the response to
 * its `initialize`.
 */
export const make =
  ({ resources }: Features, limits: Limits, served: ReadonlyArray<Revision.Revision>): Restore =>
  (session, { clientCapabilities, clientInfo, logLevel, subscriptions, version }) =>
    Effect.suspend(() => {
      const revision = served.find((one) => one.era === "stateful" && one.version === version)
      if (revision === undefined)
        return Effect.fail(McpError.invalidRequest(`Unsupported protocol version: ${version}`))
      const kept = clientInfo && limits.client(session, clientInfo, clientCapabilities)
      if (kept instanceof McpError.McpError) return Effect.fail(kept)
      session.negotiated = { revision, clientInfo: kept, clientCapabilities }
      session.logLevel = logLevel
      session.begin()
      const { principal } = session
      if (subscriptions.length === 0) return Effect.void
      const there = subscriptions.filter((uri) => resources.has(uri, principal))
      return Effect.forEach(there, (uri) => Subscriptions.start(resources, limits, session, uri, principal), {
        discard: true
      })
    })
