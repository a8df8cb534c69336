/**
 * The handshake for stateful revisions (spec: basic/lifecycle): `initialize` and `notifications/initialized`.
 *
 * Offers the newest allowed revision and accepts the server's choice. Fails if the client doesn't allow that revision.
 */
import type { Closed, Peer, Timeout } from "@effect-mcp/core/Peer"
import type { ClientCapabilities, ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Forbidden, InvalidResult, type Unauthorized, UnsupportedRevision } from "../ClientError.ts"
import { allowed } from "./allowed.ts"

export { stateful } from "./allowed.ts"

export interface Options {
  readonly clientInfo: Implementation
  readonly capabilities: ClientCapabilities
  /** Revisions the client may use, in any order. Stateless ones are ignored. Default: all. */
  readonly revisions: ReadonlyArray<Revision.Version> | undefined
  readonly timeout: Duration.Input
  /** Entries to add to `_meta` in the `initialize` request. */
  readonly openingMeta: JsonObject | undefined
}

/** The result of negotiating with the server. */
export interface Negotiated {
  readonly revision: Revision.Revision
  readonly serverInfo: Implementation
  readonly serverCapabilities: ServerCapabilities
  readonly instructions: string | undefined
}

export type NegotiationError =
  | Closed
  | Forbidden
  | InvalidResult
  | McpError.McpError
  | Timeout
  | Unauthorized
  | UnsupportedRevision

const invalid = (message: string, result: unknown): InvalidResult =>
  new InvalidResult({ method: "initialize", message, result })

const unsupported = (offered: string, server: ReadonlyArray<string>): UnsupportedRevision =>
  new UnsupportedRevision({
    offered,
    server,
    message: `No common protocol revision: the client supports ${offered}, the server ${excerpt(server.join(", ")) || "another one"}`
  })

/** Returns the versions listed in an error response to `initialize`. */
const named = (error: McpError.McpError): ReadonlyArray<string> | undefined => {
  const supported = isJsonObject(error.data) ? error.data.supported : undefined
  return Array.isArray(supported) ? supported.filter((version) => typeof version === "string") : undefined
}

const attempt = Effect.fnUntraced(function* (
  peer: Peer,
  offered: Revision.Revision,
  options: Options
): Effect.fn.Return<unknown, NegotiationError> {
  const codec = offered.clientRequests.initialize
  if (codec === undefined) return yield* unsupported(offered.version, [])
  const params = yield* Effect.mapError(
    Codecs.coders(codec).params.encode({
      protocolVersion: offered.version,
      capabilities: options.capabilities,
      clientInfo: options.clientInfo,
      ...(options.openingMeta === undefined ? undefined : { _meta: options.openingMeta })
    }),
    (message) => McpError.invalidParams(message)
  )
  return yield* peer.request("initialize", isJsonObject(params) ? params : undefined, {
    timeout: options.timeout,
    cancellable: false
  })
})

/** Opens the session. When this returns, `notifications/initialized` has been sent. */
export const initialize = Effect.fnUntraced(function* (
  peer: Peer,
  options: Options
): Effect.fn.Return<Negotiated, NegotiationError> {
  const versions = allowed(options.revisions)
  const revisions = Revision.stateful.filter(({ version }) => versions.includes(version))
  const newest = revisions.at(-1)
  if (newest === undefined) return yield* unsupported("none", [])
  let offered = newest
  const answer = yield* Effect.catchTag(attempt(peer, newest, options), "McpError", (error) => {
    // A server may reject the offer and name its revisions instead of picking one.
    const versions = named(error)
    if (versions === undefined) return Effect.fail(error)
    const common = revisions.findLast((revision) => revision !== newest && versions.includes(revision.version))
    if (common === undefined) return Effect.fail(unsupported(newest.version, versions))
    offered = common
    return attempt(peer, common, options)
  })
  const picked = isJsonObject(answer) ? answer.protocolVersion : undefined
  if (typeof picked !== "string") return yield* invalid("The response to initialize has no protocolVersion", answer)
  const revision = revisions.find(({ version }) => version === picked)
  const codec = revision?.clientRequests.initialize
  if (revision === undefined || codec === undefined) return yield* unsupported(offered.version, [picked])
  const { capabilities, instructions, serverInfo } = yield* Effect.mapError(
    Codecs.coders(codec).result.decode(answer),
    (message) => invalid(message, answer)
  )
  peer.notify("notifications/initialized")
  return { revision, serverInfo, serverCapabilities: capabilities, instructions }
})
