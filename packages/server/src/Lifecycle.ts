/**
 * The handshake of the stateful revisions (spec: basic/lifecycle): which revision is spoken, and who is on the other side.
 */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { InitializeResult } from "@effect-mcp/protocol/model/Lifecycle"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Session } from "./Session.ts"

export interface Identity {
  readonly info: Implementation
  readonly instructions: string | undefined
  readonly capabilities: () => ServerCapabilities
  /** The revisions served, of both eras, oldest first. */
  readonly revisions: ReadonlyArray<Revision>
}

/** The revision asked for if it is served, else the newest that is. */
const negotiate = (revisions: ReadonlyArray<Revision>, requested: unknown): Revision | undefined =>
  revisions.find((revision) => revision.version === requested) ?? revisions.at(-1)

const versionOf = (params: unknown): unknown =>
  typeof params === "object" && params !== null && "protocolVersion" in params ? params.protocolVersion : undefined

/** Answers `initialize`. A second one in the same session is refused: nothing of the first is touched. */
export const initialize = (
  identity: Identity,
  session: Session,
  params: unknown
): Effect.Effect<unknown, McpError.McpError> =>
  Effect.suspend(() => {
    if (session.negotiated !== undefined)
      return Effect.fail(McpError.invalidRequest("This session is already initialized"))
    const requested = versionOf(params)
    const revision = negotiate(
      identity.revisions.filter(({ era }) => era === "stateful"),
      requested
    )
    const codec = revision?.requests.initialize
    if (revision === undefined || codec === undefined) {
      // All that a client without another era can show its user is this error: it names what is spoken here.
      const supported = identity.revisions.map(({ version }) => version)
      return Effect.fail(McpError.unsupportedProtocolVersion(supported, String(requested)))
    }
    const coders = Codecs.coders(codec)
    return Effect.mapError(coders.params.decode(params), (message) => McpError.invalidParams(message)).pipe(
      Effect.flatMap(({ capabilities, clientInfo }) => {
        const { info, instructions } = identity
        const result: InitializeResult = {
          protocolVersion: revision.version,
          capabilities: identity.capabilities(),
          serverInfo: info,
          ...(instructions === undefined ? undefined : { instructions })
        }
        return Effect.matchEffect(coders.result.encode(result), {
          onFailure: (message) => Effect.fail(McpError.internalError(message)),
          onSuccess: (answer) => {
            session.negotiated = { revision, clientInfo, clientCapabilities: capabilities }
            return Effect.succeed(answer)
          }
        })
      })
    )
  })
