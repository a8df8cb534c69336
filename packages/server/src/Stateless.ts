/**
 * The stateless era (2026-07-28): every request says itself what it speaks, who asks and what may be asked back.
 *
 * Nothing is remembered between requests. Same features, same dispatcher and same handlers as the stateful era; a handler that asks
 * is replayed (`mrtr/Replay`).
 */
import type { Exchange } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Declaration } from "@effect-mcp/protocol/model/Declaration"
import type { DiscoverResult } from "@effect-mcp/protocol/model/Discover"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import { declaration } from "@effect-mcp/protocol/revision/v2026_07_28"
import * as Effect from "effect/Effect"
import type { Announcer } from "./Announcer.ts"
import * as Caching from "./Caching.ts"
import { codecOf } from "./Codec.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as Features from "./Features.ts"
import type { Identity } from "./Lifecycle.ts"
import { listen } from "./Listen.ts"
import type { Logging } from "./Logging.ts"
import type { Request, Result } from "./Middleware.ts"
import * as InputRounds from "./mrtr/InputRounds.ts"
import * as Services from "./RequestServices.ts"
import type { Session } from "./Session.ts"

export interface Options {
  readonly identity: Identity
  readonly features: Features.Features
  readonly handlers: Dispatcher.Handlers
  readonly logging: Logging
  readonly rounds: InputRounds.InputRounds
  readonly caching: Caching.Hints
  readonly listeners: Set<Announcer>
}

/** Whether a request belongs to this era: by its `_meta`, never by its method. */
export const isModern = (request: JsonRpc.Request): boolean =>
  Services.metaOf(request)[Meta.protocolVersion] !== undefined

const declarations = Codecs.coder(declaration)

/** The methods that may be answered with questions. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

/** Codes of older revisions must not be seen here, nor ones that the specification keeps for itself. */
const kept: ReadonlySet<number> = new Set([
  McpError.HeaderMismatch,
  McpError.MissingClientCapability,
  McpError.UnsupportedProtocolVersion
])
const permitted = (error: McpError.McpError): McpError.McpError =>
  error.code <= -32000 && error.code >= -32099 && !kept.has(error.code) ? McpError.internalError(error.message) : error

/** Answers requests of this era. The session is only the wire they came by. */
export const make = (options: Options) => {
  const { identity, features, handlers, logging, rounds, caching, listeners } = options
  const served = new Map(
    identity.revisions
      .filter((revision) => revision.era === "stateless")
      .map((revision) => [revision.version, revision])
  )
  const hints: { readonly [method: string]: Caching.CacheHint | undefined } = {
    "tools/list": caching.tools,
    "prompts/list": caching.prompts,
    "resources/list": caching.resources,
    "resources/templates/list": caching.resourceTemplates,
    "server/discover": caching.discover
  }
  const supported = identity.revisions.map(({ version }) => version).toReversed()

  const revisionOf = (request: JsonRpc.Request): Revision | McpError.McpError => {
    const version = Services.metaOf(request)[Meta.protocolVersion]
    const revision = [...served.values()].find((candidate) => candidate.version === version)
    if (revision !== undefined) return revision
    return typeof version === "string"
      ? McpError.unsupportedProtocolVersion(supported, version)
      : McpError.invalidParams(`_meta: ${Meta.protocolVersion} must be a string`)
  }

  const discover = (): DiscoverResult => ({
    supportedVersions: supported,
    capabilities: identity.capabilities(),
    ...(identity.instructions === undefined ? undefined : { instructions: identity.instructions })
  })

  /** The effect that answers a decoded request, with questions where the method may ask. */
  const answer = (
    request: Request,
    declared: Declaration,
    revision: Revision,
    session: Session,
    exchange: Exchange
  ): Effect.Effect<Result | InputRounds.Asked, McpError.McpError> => {
    const facts: Omit<Services.Facts, "input"> = {
      context: {
        revision,
        sessionId: undefined,
        clientInfo: declared[Meta.clientInfo],
        clientCapabilities: declared[Meta.clientCapabilities]
      },
      principal: exchange.envelope.principal ?? session.principal,
      log: logging.forRequest(session, exchange, () => declared[Meta.logLevel]),
      rootsChanges: undefined
    }
    const run: InputRounds.Handler<Result> = (enter) =>
      features.middleware(
        request,
        Effect.suspend((): Effect.Effect<Result, McpError.McpError, RequestServices> => {
          if (request.method === "server/discover") return Effect.succeed(discover())
          if (request.method !== "subscriptions/listen") {
            return Effect.andThen(enter, Dispatcher.run(handlers, request, session))
          }
          const { resources } = features
          const listening = { resources, capabilities: identity.capabilities(), listeners, closing: session.closing }
          return Effect.flatMap(Principal, (principal) => listen(listening, exchange, principal, request.params))
        })
      )
    return asking.has(request.method)
      ? rounds.run(run, { exchange, facts, request })
      : Services.provide(run(Effect.void), exchange, { ...facts, input: InputRounds.none })
  }

  const handle = (session: Session, exchange: Exchange): Effect.Effect<unknown, McpError.McpError> => {
    const { request } = exchange
    const revision = revisionOf(request)
    if (revision instanceof McpError.McpError) return Effect.fail(revision)
    const { method, params } = request
    if (method === "initialize") {
      // All that such a client can show its user is this error.
      const message = `Method not found: initialize. Versions that need none: ${[...served.keys()].join(", ")}`
      return Effect.fail(new McpError.McpError({ code: McpError.MethodNotFound, message, data: { supported } }))
    }
    const codec = codecOf(revision, method)
    if (codec === undefined || !Features.offers(identity.capabilities(), method, revision)) {
      return Effect.fail(McpError.methodNotFound(method))
    }
    return declarations.decode(Services.metaOf(request)).pipe(
      Effect.mapError((message) => McpError.invalidParams(`Invalid _meta: ${message}`)),
      Effect.flatMap((declared) =>
        codec.params.decode(params).pipe(
          Effect.mapError((message) => McpError.invalidParams(`Invalid params for ${method}: ${message}`)),
          Effect.flatMap((decoded) =>
            // The codec of this very method decoded it.
            answer({ method, params: decoded } as Request, declared, revision, session, exchange)
          )
        )
      ),
      Effect.flatMap((result) => {
        if (InputRounds.isAsked(result)) return Effect.succeed(result.wire)
        const hint = hints[method]
        const canonical = hint === undefined ? result : { ...Caching.fields(hint), ...result }
        return Effect.mapError(codec.result.encode(canonical), (message) =>
          McpError.internalError(`The result of ${method} cannot be said in this revision: ${message}`)
        )
      }),
      Effect.map((wire) => (isJsonObject(wire) ? Meta.withMeta(wire, { [Meta.serverInfo]: identity.info }) : wire)),
      Effect.mapError(permitted)
    )
  }
  return { handle, supported }
}
