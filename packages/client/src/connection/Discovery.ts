/**
 * Probes for a server's era (spec 2026-07-28: basic/versioning, stdio: backward compatibility): the first request is `server/discover`,
 * which has no side effects.
 *
 * A server that answers it, or rejects it with a code of the stateless era, is stateless. Any other error, or no answer at all, means the
 * stateful era, because no single error code proves it.
 */
import type { Closed, Peer, Timeout } from "@effect-mcp/core/Peer"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import { Implementation } from "@effect-mcp/protocol/model/Implementation"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { InvalidResult, UnsupportedRevision } from "../ClientError.ts"
import { allowed, allowedStateless } from "./allowed.ts"
import * as Declaration from "./Declaration.ts"
import * as statuses from "../transport/http/statuses.ts"
import type { Negotiated, NegotiationError } from "./Negotiation.ts"

export interface Options {
  readonly clientInfo: Implementation
  /** Capabilities that the client declares in a revision. */
  readonly capabilities: (revision: Revision.Revision) => ClientCapabilities
  /** Revisions that the client may use, of both eras. Default: all. */
  readonly revisions: ReadonlyArray<Revision.Version> | undefined
  /** Entries to add to the probe's `_meta`. */
  readonly openingMeta: JsonObject | undefined
  /** How long the server may take to answer before it counts as stateful. */
  readonly timeout: Duration.Input
}

const isImplementation = Schema.is(Implementation)

/** Returns the versions listed in a stateless server's rejection. */
const namedBy = (error: McpError.McpError): ReadonlyArray<string> | undefined => {
  const supported = isJsonObject(error.data) ? error.data.supported : undefined
  return error.code === McpError.UnsupportedProtocolVersion && Array.isArray(supported)
    ? supported.filter((version) => typeof version === "string")
    : undefined
}

/**
 * Error codes, besides `UnsupportedProtocolVersion`, that prove that the server is stateless, and the code for a loop detected by a
 * gateway.
 */
const modernCodes: ReadonlySet<number> = new Set([
  McpError.HeaderMismatch,
  McpError.MissingClientCapability,
  McpError.LoopDetected
])

/** True if the request was rejected with an HTTP status that only a stateful server sends. */
export const isForeign = ({ cause }: Closed): boolean =>
  cause?.reason === "Status" && statuses.isForeign(cause.status ?? 0)

/** Returns the server's name and version from a result's `_meta`, or "unknown" if they are missing. */
const serverInfoOf = (wire: unknown): Implementation => {
  const meta = isJsonObject(wire) ? wire._meta : undefined
  const info = isJsonObject(meta) ? meta[Meta.serverInfo] : undefined
  return isImplementation(info) ? info : { name: "unknown", version: "" }
}

/**
 * Returns what was negotiated with a stateless server, or `undefined` for a stateful server and for a client that may not use a stateless
 * revision.
 */
export const probe = Effect.fnUntraced(function* (
  peer: Peer,
  options: Options
): Effect.fn.Return<Negotiated | undefined, NegotiationError> {
  const stateless = allowedStateless(options.revisions)
  const stateful = allowed(options.revisions)
  const newest = stateless.at(-1)
  if (newest === undefined) return undefined

  const unsupported = (offered: string, server: ReadonlyArray<string>, why = ""): UnsupportedRevision =>
    new UnsupportedRevision({
      offered,
      server,
      message: `No common protocol revision: the client supports ${offered}, the server ${excerpt(server.join(", ")) || "another one"}${why}`
    })
  /** Returns `undefined` for the stateful era. Fails if the client may not use it. */
  const older = (offered: string, error?: McpError.McpError | Timeout | Closed) => {
    if (stateful.length > 0) return Effect.succeed(undefined)
    if (error?._tag === "Timeout" || error?._tag === "Closed") return Effect.fail(error)
    return Effect.fail(
      unsupported(offered, [], error === undefined ? "" : ` (it responded: ${excerpt(error.message)})`)
    )
  }

  const refusals: Array<Revision.Revision> = []
  const ask = (revision: Revision.Revision): Effect.Effect<Negotiated | undefined, NegotiationError> => {
    const codec = revision.clientRequests["server/discover"]
    if (codec === undefined) return older(revision.version)
    const declared = { clientInfo: options.clientInfo, capabilities: options.capabilities(revision) }
    return Effect.flatMap(Declaration.entries(revision.version, declared), (meta) =>
      peer.request("server/discover", { _meta: { ...options.openingMeta, ...meta } }, { timeout: options.timeout })
    ).pipe(
      Effect.matchEffect({
        onSuccess: (wire) => accept(revision, codec, wire),
        onFailure: (error) => {
          if (error._tag === "Closed") return isForeign(error) ? older(revision.version, error) : Effect.fail(error)
          const versions = error._tag === "Timeout" ? undefined : namedBy(error)
          if (versions !== undefined) return choose(revision, versions)
          return error._tag === "McpError" && modernCodes.has(error.code)
            ? Effect.fail(error)
            : older(revision.version, error)
        }
      })
    )
  }

  /** Tries another revision that the server listed, or falls back to the stateful era. */
  const choose = (
    last: Revision.Revision,
    versions: ReadonlyArray<string>
  ): Effect.Effect<Negotiated | undefined, NegotiationError> => {
    refusals.push(last)
    // Offers each revision at most twice, because a server may name one that it has rejected.
    const other = stateless.findLast(
      (revision) => versions.includes(revision.version) && refusals.filter((refused) => refused === revision).length < 2
    )
    if (other !== undefined) return ask(other)
    return stateful.some((version) => versions.includes(version))
      ? Effect.succeed(undefined)
      : Effect.fail(unsupported(last.version, versions))
  }

  const accept = (
    revision: Revision.Revision,
    codec: NonNullable<Revision.Revision["clientRequests"]["server/discover"]>,
    wire: unknown
  ): Effect.Effect<Negotiated | undefined, NegotiationError> =>
    Effect.matchEffect(Codecs.coders(codec).result.decode(wire), {
      // A stateful server may answer an unknown method with any result.
      onFailure: (message) =>
        stateful.length > 0
          ? Effect.succeed(undefined)
          : Effect.fail(new InvalidResult({ method: "server/discover", message, result: wire })),
      onSuccess: ({ supportedVersions, capabilities, instructions }) =>
        supportedVersions.includes(revision.version)
          ? Effect.succeed({ revision, serverInfo: serverInfoOf(wire), serverCapabilities: capabilities, instructions })
          : choose(revision, supportedVersions)
    })

  return yield* ask(newest)
})

/**
 * Runs the handshake if the probe finds a stateful server. After `timeout` without an answer, the handshake runs at the same time as the
 * probe, for servers that start slowly, and the first answer decides; the probe's answer wins if both arrive at about the same time.
 * Without `timeout` only the probe decides.
 */
export const orElse =
  (handshake: Effect.Effect<Negotiated, NegotiationError>, timeout: Duration.Duration | undefined) =>
  (probing: Effect.Effect<Negotiated | undefined, NegotiationError>): Effect.Effect<Negotiated, NegotiationError> =>
    timeout === undefined
      ? Effect.flatMap(probing, (found) => (found === undefined ? handshake : Effect.succeed(found)))
      : Effect.flatMap(Effect.forkChild(probing, { startImmediately: true }), (probe) =>
          Effect.timeoutOption(Fiber.join(probe), timeout).pipe(
            Effect.flatMap((early) => {
              if (Option.isNone(early)) return race(probe, handshake, timeout)
              return early.value === undefined ? handshake : Effect.succeed(early.value)
            }),
            Effect.ensuring(Fiber.interrupt(probe))
          )
        )

const race = (
  probe: Fiber.Fiber<Negotiated | undefined, NegotiationError>,
  handshake: Effect.Effect<Negotiated, NegotiationError>,
  timeout: Duration.Duration
): Effect.Effect<Negotiated, NegotiationError> => {
  const found = Fiber.join(probe)
  const modern = Effect.flatMap(found, (answer) => (answer === undefined ? Effect.never : Effect.succeed(answer)))
  // A stateless server rejects the handshake, and may do so before it answers the probe.
  const refused = (error: NegotiationError) =>
    Effect.timeoutOrElse(modern, { duration: timeout, orElse: () => Effect.fail(error) })
  // Once it has started, a server that supports both eras answers both, in any order.
  const agreed = (older: Negotiated) =>
    Effect.timeoutOption(found, Duration.divideUnsafe(timeout, 10)).pipe(
      Effect.map((answer) => Option.getOrUndefined(answer) ?? older),
      Effect.orElseSucceed(() => older)
    )
  return Effect.raceFirst(modern, Effect.matchEffect(handshake, { onFailure: refused, onSuccess: agreed }))
}
