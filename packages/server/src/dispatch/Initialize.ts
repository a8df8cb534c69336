/** The handshake for stateful revisions (spec: basic/lifecycle), which negotiates a revision and records the client. */
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { InitializeResult } from "@effect-mcp/protocol/model/Lifecycle"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type { Principal } from "@effect-mcp/core/Principal"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { withoutSession } from "../features/Features.ts"
import type { Limits } from "../Limits.ts"
import type { NegotiatedSession, Session } from "../session/Session.ts"
import type { ServerInfo } from "./ServerInfo.ts"

/** Returns the requested revision if it is supported, or else the newest supported one. */
const negotiate = (revisions: ReadonlyArray<Revision>, requested: unknown): Revision | undefined =>
  revisions.find((revision) => revision.version === requested) ?? revisions.at(-1)

const versionOf = (params: unknown): unknown =>
  typeof params === "object" && params !== null && "protocolVersion" in params ? params.protocolVersion : undefined

const sessionless = (answer: InitializeResult): InitializeResult => ({
  ...answer,
  capabilities: withoutSession(answer.capabilities)
})

/** The caller and connection for an `initialize`. */
interface InitializeCaller extends NegotiatedSession {
  readonly principal: Principal["Service"]
  readonly connection: RequestConnection
  /** The client's network address, or `undefined` if unknown. */
  readonly address: string | undefined
  /** The request's `_meta`. */
  readonly meta: JsonObject
}

/** Changes the `initialize` result for a caller. If it fails, the client receives the error, and the session is not initialized. */
export type OnInitialize = (
  answer: InitializeResult,
  caller: InitializeCaller
) => Effect.Effect<InitializeResult, McpError.McpError>

/** Handles `initialize`. A second `initialize` in the same session fails with -32600 and changes nothing. */
export const initialize = (
  info: ServerInfo,
  session: Session,
  params: unknown,
  principal: Principal["Service"],
  limits: Limits,
  onInitialize:
    | ((answer: InitializeResult, negotiated: NegotiatedSession, meta: JsonObject) => ReturnType<OnInitialize>)
    | undefined
): Effect.Effect<unknown, McpError.McpError> =>
  Effect.suspend(() => {
    if (session.negotiated !== undefined || session.opening)
      return Effect.fail(McpError.invalidRequest("This session is already initialized"))
    const requested = versionOf(params)
    const revision = negotiate(
      info.revisions.filter(({ era }) => era === "stateful"),
      requested
    )
    const codec = revision?.clientRequests.initialize
    if (revision === undefined || codec === undefined) {
      // A client may show its user only this error, so the error lists the supported versions.
      const supported = info.revisions.map(({ version }) => version)
      return Effect.fail(McpError.unsupportedProtocolVersion(supported, String(requested)))
    }
    const coders = Codecs.coders(codec)
    return Effect.mapError(coders.params.decode(params), (message) => McpError.invalidParams(message)).pipe(
      Effect.flatMap(({ _meta = {}, capabilities, clientInfo }) => {
        const kept = limits.client(session, clientInfo, capabilities)
        if (kept instanceof McpError.McpError) return Effect.fail(kept)
        const { implementation, instructions } = info
        const answered = Effect.map(
          info.capabilitiesOf({ principal, revision, duplex: session.duplex }),
          (capabilities): InitializeResult => ({
            protocolVersion: revision.version,
            capabilities,
            serverInfo: implementation,
            ...(instructions === undefined ? undefined : { instructions })
          })
        )
        const negotiated: NegotiatedSession = { revision, clientInfo: kept, clientCapabilities: capabilities }
        session.opening = true
        const isBare = session.sessionless && info.sessionMethods === "refused"
        const changed =
          onInitialize === undefined
            ? answered
            : Effect.flatMap(answered, (result) => onInitialize(result, negotiated, _meta))
        return Effect.flatMap(changed, (answer) =>
          Effect.mapError(coders.result.encode(isBare ? sessionless(answer) : answer), (message) =>
            McpError.internalError(message)
          )
        ).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              session.opening = false
              if (Exit.isSuccess(exit)) session.negotiated = negotiated
              else limits.release(session)
            })
          )
        )
      })
    )
  })
