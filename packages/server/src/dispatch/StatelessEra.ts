/**
 * The stateless era (2026-07-28): every request says itself what it speaks, who asks and what may be asked back.
 *
 * Nothing is remembered between requests, and no session is needed. Same features, same dispatcher and same handlers as the stateful
 * era; a handler that asks is replayed (`mrtr/Replay`). Where a request came with headers, they must agree with it.
 */
import { follow, orElse } from "@effect-mcp/core/Done"
import type { Now } from "@effect-mcp/core/internal/Now"
import type { Asked } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import type { Connection, RequestServices } from "@effect-mcp/core/RequestContext"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as Headers from "@effect-mcp/protocol/Headers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Declaration } from "@effect-mcp/protocol/model/Declaration"
import type { DiscoverResult } from "@effect-mcp/protocol/model/Discover"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import { declaration } from "@effect-mcp/protocol/internal/v2026_07_28"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Announcer } from "../session/ChangeNotifier.ts"
import * as Caching from "../features/Caching.ts"
import { codecOf } from "./Codec.ts"
import * as Dispatcher from "./Dispatcher.ts"
import * as Features from "../features/Features.ts"
import type { Identity } from "./Initialize.ts"
import { listen } from "./SubscriptionsListen.ts"
import type { Holder, Limits } from "../Limits.ts"
import * as ListText from "../features/EncodedLists.ts"
import type { Logging } from "./Logging.ts"
import * as Middleware from "../features/Middleware.ts"
import type { Request, Result } from "../features/Middleware.ts"
import * as InputRounds from "../mrtr/InputRounds.ts"
import type * as RateLimit from "../features/RateLimit.ts"
import * as Services from "../request/RequestServices.ts"

export interface Options {
  readonly identity: Identity
  readonly features: Features.Features
  readonly handlers: Dispatcher.Handlers
  readonly limits: Limits
  readonly rateLimit: RateLimit.RateLimit
  readonly logging: Logging
  readonly rounds: InputRounds.InputRounds
  readonly caching: Caching.Hints
  readonly listeners: Set<Announcer>
}

/** What a request of this era came by: a session's wire, or a POST of its own. */
export interface Origin extends Holder, RateLimit.Caller {
  /** The address it came from, where that is known. */
  readonly address?: string | undefined
  /** Completes when the server is about to end by itself: subscriptions then end with their result. */
  readonly closing: Effect.Effect<void>
  /** Undefined for a POST of its own. */
  readonly connection?: Connection | undefined
  /** Called once a request is let in: from then on it is answered by its handler, no longer by the edge. */
  readonly admitted?: (() => void) | undefined
}

/** Whether a request belongs to this era: by its `_meta`, never by its method. */
export const isModern = (request: JsonRpc.Request): boolean =>
  Services.metaOf(request)[Meta.protocolVersion] !== undefined

const declarations = Codecs.coder(declaration)

/** The methods that may be answered with questions. */
const asking: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"])

/** The methods that are answered here, not by the features. */
const own: ReadonlySet<string> = new Set(["server/discover", "subscriptions/listen"])

/** Codes of older revisions must not be seen here, and those that the specification keeps for itself only as they are meant. */
const meant = ({ code, data }: McpError.McpError): boolean =>
  isJsonObject(data) &&
  (code === McpError.MissingClientCapability
    ? isJsonObject(data.requiredCapabilities)
    : // A gateway finds out late which arguments of a tool travel in headers.
      code === McpError.HeaderMismatch && typeof data.tool === "string")
const permitted = (error: McpError.McpError): McpError.McpError =>
  error.code <= -32000 && error.code >= -32099 && !meant(error) ? McpError.internalError(error.message) : error

/** Answers requests of this era. */
export const make = (options: Options) => {
  const { identity, features, handlers, limits, logging, rateLimit, rounds, caching, listeners } = options
  const served = new Map<string, Revision>(
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
    const revision = typeof version === "string" ? served.get(version) : undefined
    if (revision !== undefined) return revision
    return typeof version === "string"
      ? McpError.unsupportedProtocolVersion(supported, version)
      : McpError.invalidParams(`_meta: ${Meta.protocolVersion} must be a string`)
  }

  /** How the headers of a request disagree with it. Tools that were mounted keep their headers for whoever serves them. */
  const mismatch = (request: JsonRpc.Request, headers: Headers.Headers, { principal }: Origin): string | undefined => {
    const standard = Headers.mismatch(headers, request)
    if (standard !== undefined || request.method !== "tools/call") return standard
    const params = features.tools.headerParams(request.params?.name, principal)
    return Headers.paramMismatch(headers, params, request.params?.arguments)
  }

  /** Who answered; a gateway's results say so already. */
  const signed = (wire: unknown): unknown =>
    !isJsonObject(wire) || (isJsonObject(wire._meta) && wire._meta[Meta.serverInfo] !== undefined)
      ? wire
      : Meta.withMeta(wire, { [Meta.serverInfo]: identity.info })

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
    origin: Origin,
    exchange: Asked,
    now: Context.Context<never> | undefined
  ): Effect.Effect<Result | InputRounds.Asked, McpError.McpError> => {
    const principal = exchange.envelope.principal ?? origin.principal
    const factsOf = (input: Services.Facts["input"]): Services.Facts => ({
      context: {
        revision,
        sessionId: undefined,
        clientInfo: declared[Meta.clientInfo],
        clientCapabilities: declared[Meta.clientCapabilities]
      },
      input,
      log: logging.forRequest(origin, exchange, () => declared[Meta.logLevel]),
      rootsChanges: undefined,
      connection: origin.connection,
      closing: origin.closing
    })
    const capabilities = declared[Meta.clientCapabilities]
    const asked: InputRounds.Run = { exchange, principal, revision, capabilities, factsOf, request }
    const mayAsk = asking.has(request.method)
    if (now !== undefined && !features.wrapped() && !Middleware.isResumed(request) && !own.has(request.method)) {
      const answer = (one: Now) => Dispatcher.answer(features, handlers, request, undefined, one)
      if (mayAsk) return rounds.runNow(answer, asked, now)
      const one = new Services.One(exchange, principal, () => factsOf(InputRounds.none), now)
      return Services.provide(answer(one), one)
    }
    const run: InputRounds.Handler<Result> = (enter) =>
      features.middleware(request, (request) =>
        Effect.suspend((): Effect.Effect<Result, McpError.McpError, RequestServices> => {
          if (request.method === "server/discover") return Effect.succeed(discover())
          if (request.method !== "subscriptions/listen") {
            return Effect.andThen(enter, Dispatcher.run(handlers, request, undefined))
          }
          const { resources } = features
          const capabilities = identity.capabilities()
          const listening = { resources, capabilities, listeners, closing: origin.closing, limits, holder: origin }
          return Effect.flatMap(Principal, (principal) => listen(listening, exchange, principal, request.params))
        })
      )
    if (mayAsk) return rounds.run(run, asked)
    const one = new Services.One(exchange, principal, () => factsOf(InputRounds.none))
    return Services.provide(run(Effect.void), one)
  }

  /** `now`: the effect runs at once, in a context like this. */
  const handle = (
    origin: Origin,
    exchange: Asked,
    now: Context.Context<never> | undefined
  ): Effect.Effect<unknown, McpError.McpError> => {
    const { envelope, request } = exchange
    const different = envelope.headers === undefined ? undefined : mismatch(request, envelope.headers, origin)
    if (different !== undefined) {
      const { code, message } = McpError.headerMismatch(different)
      // An older client learns what it would have to speak.
      const more = request.method === "initialize" ? { data: { supported } } : undefined
      return Effect.fail(new McpError.McpError({ code, message, ...more }))
    }
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
    const principal = envelope.principal ?? origin.principal
    const excess = rateLimit(method, typeof params?.requestState === "string", origin, principal, origin.address)
    if (excess !== undefined) return Effect.fail(excess)
    const encode = (result: Result | InputRounds.Asked): Effect.Effect<unknown, McpError.McpError> => {
      if (InputRounds.isAsked(result)) return Effect.succeed(signed(result.wire))
      return ListText.encoded(result, revision.version, () => {
        const hint = hints[method]
        const canonical = hint === undefined ? result : { ...Caching.fields(hint), ...result }
        return follow(orElse(codec.result.encode(canonical), unsayable, method), (wire) => Effect.succeed(signed(wire)))
      })
    }
    const declared = orElse(declarations.decode(Services.metaOf(request)), malformed, method)
    const answered = follow(declared, (declared) => {
      origin.admitted?.()
      return follow(orElse(codec.params.decode(params), unreadable, method), (decoded) =>
        // The codec of this very method decoded it.
        answer({ method, params: decoded } as Request, declared, revision, origin, exchange, now)
      )
    })
    return follow(orElse(answered, permitted, method), encode)
  }
  return { handle, supported }
}

const malformed = (message: string): McpError.McpError => McpError.invalidParams(`Invalid _meta: ${message}`)
const unreadable = (message: string, method: string): McpError.McpError =>
  McpError.invalidParams(`Invalid params for ${method}: ${message}`)
const unsayable = (message: string, method: string): McpError.McpError =>
  McpError.internalError(`The result of ${method} cannot be said in this revision: ${message}`)
