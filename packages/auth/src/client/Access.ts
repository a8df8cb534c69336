/**
 * The tokens for one MCP server: where they come from, which are current, and getting new ones.
 *
 * Fibers that need new tokens at the same time share one attempt, which outlives the request that began it: a user who is typing a
 * password is not interrupted by a timeout of a call. Processes take turns by `TokenLock`.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Demand } from "@effect-mcp/protocol/Challenge"
import * as MetadataDiscovery from "../shared/MetadataDiscovery.ts"
import * as Dpop from "./Dpop.ts"
import type { Grant, Request } from "./Grant.ts"
import * as TokenLock from "./TokenLock.ts"
import type * as Metadata from "../shared/Metadata.ts"
import { OAuthError, listed, shown } from "../shared/OAuthError.ts"
import * as Scopes from "./Scopes.ts"
import * as Stored from "./Stored.ts"
import * as TokenEndpoint from "./TokenEndpoint.ts"
import { TokenStore } from "./TokenStore.ts"

export interface Options<R> extends Omit<MetadataDiscovery.Options, "server"> {
  readonly grant: Grant<R>
  /** Scopes to ask for in any case. */
  readonly scopes: Scopes.Scopes
  readonly dpop: "auto" | "prefer" | "require" | "never"
  readonly nonces: Dpop.Nonces
}

/** Tokens in use, and whether the user has just granted them. */
export interface Current {
  readonly target: Stored.AuthorizationTarget
  readonly tokens: Stored.Tokens
  /** Issued for this attempt, and not merely found or refreshed: when the server refuses these, asking again does not help. */
  readonly granted: boolean
}

/** Metadata of an authorization server are read again after this long. */
const freshFor = 300_000

const isExpired = (tokens: Stored.Tokens, now: number): boolean =>
  tokens.expiresAt !== undefined && tokens.expiresAt <= now

export interface Access {
  /** The tokens to send; undefined if there are none. */
  readonly current: Effect.Effect<Current | undefined, OAuthError>
  /** Gets others than `used`, which the server refused with this demand; without one, they merely expire. */
  readonly renew: (used: Current | undefined, demand: Demand | undefined) => Effect.Effect<Current, OAuthError>
  /** Where the server leads, by what is stored. */
  readonly target: Effect.Effect<Stored.AuthorizationTarget | undefined, OAuthError>
  /** Forgets the tokens, here and in the store. */
  readonly forget: Effect.Effect<void, OAuthError>
  /** The authorization server's metadata. */
  readonly metadata: (target: Stored.AuthorizationTarget) => Effect.Effect<Metadata.AuthorizationServer, OAuthError>
}

export const make = Effect.fnUntraced(function* <R>(
  server: URL,
  options: Options<R>,
  scope: Scope.Scope
): Effect.fn.Return<Access, never, R | TokenStore> {
  const store = yield* TokenStore
  const context = yield* Effect.context<R | TokenStore>()
  const discovery: MetadataDiscovery.Options = { ...options, server }
  const slot = Stored.target(store, server.href)
  const cached = new Map<string, { readonly metadata: Metadata.AuthorizationServer; readonly until: number }>()

  /** Whether tokens have to be bound to a key. */
  const needsKey = (resource: Metadata.ProtectedResource | undefined): boolean =>
    options.dpop === "require" || (options.dpop !== "never" && resource?.dpop_bound_access_tokens_required === true)
  /** Whether stored tokens may be used at all. */
  const isAcceptable = ({ tokenType }: Stored.Tokens, resource?: Metadata.ProtectedResource): boolean =>
    tokenType === "DPoP" || !needsKey(resource)

  let current: Current | undefined
  let loaded = false
  let flight: { readonly needed: Scopes.Scopes; readonly fiber: Fiber.Fiber<Current, OAuthError> } | undefined

  const metadata = Effect.fnUntraced(function* ({ issuer, resource }: Stored.AuthorizationTarget) {
    const now = yield* Clock.currentTimeMillis
    const known = cached.get(issuer)
    if (known !== undefined && known.until > now) return known.metadata
    const found = yield* MetadataDiscovery.server(discovery, issuer, resource === undefined)
    cached.set(issuer, { metadata: found, until: now + freshFor })
    return found
  })

  /** The key that new tokens are bound to, if they are. */
  const bindingFor = Effect.fnUntraced(function* (
    issuer: Metadata.AuthorizationServer,
    resource: Metadata.ProtectedResource | undefined,
    stored: Redacted.Redacted<string> | undefined
  ): Effect.fn.Return<TokenEndpoint.Binding | undefined, OAuthError> {
    const { nonces, dpop } = options
    const required = needsKey(resource)
    if (stored !== undefined) return { key: yield* Dpop.restore(stored), nonces, required }
    const accepted = resource?.dpop_signing_alg_values_supported
    if (dpop === "never" || (!required && dpop === "auto" && accepted === undefined)) return undefined
    const offered = issuer.dpop_signing_alg_values_supported
    const algorithm = Dpop.choose(offered?.filter((name) => accepted === undefined || accepted.includes(name)))
    if (algorithm !== undefined) return { key: yield* Dpop.generate(algorithm), nonces, required }
    if (!required) return undefined
    return yield* new OAuthError({
      step: "server-metadata",
      problem: "tokens have to be bound to a key (DPoP), and the authorization server cannot do that",
      url: excerpt(issuer.issuer),
      expected: "`dpop_signing_alg_values_supported` with ES256",
      found: listed(offered)
    })
  })

  /** New tokens by the refresh token; undefined when there is none, or it is not taken any more. */
  const refresh = Effect.fnUntraced(function* (request: Request, stored: Stored.Tokens) {
    if (stored.refreshToken === undefined) return undefined
    const credentials = yield* options.grant.credentials(request, stored)
    if (credentials === undefined) return undefined
    const parameters = {
      grant_type: "refresh_token",
      refresh_token: Redacted.value(stored.refreshToken),
      resource: request.resource
    }
    const fresh = yield* TokenEndpoint.tokens(request, credentials, parameters, stored.requested).pipe(
      Effect.catchIf(
        // An answer of the authorization server's, and not merely none.
        ({ code, status }) => code !== undefined && (status === 400 || status === 401),
        ({ code }) =>
          Effect.as(code === "invalid_client" ? options.grant.forget(request.metadata.issuer) : Effect.void, undefined)
      )
    )
    // Without rotation the old refresh token stays good; without a word on scopes they are those of before.
    return fresh === undefined ? undefined : { ...pick(stored, "refreshToken"), ...pick(stored, "granted"), ...fresh }
  })

  const choose = (issuers: MetadataDiscovery.Resource["issuers"]): string =>
    issuers.find((issuer) => issuer === current?.target.issuer || options.grant.prefers(issuer)) ?? issuers[0]

  const work = Effect.fnUntraced(function* (used: Current | undefined, demand: Demand | undefined, now: number) {
    // A refusal may mean that the server has another authorization server now; that a token grows old does not.
    const resource: MetadataDiscovery.Resource =
      demand === undefined && used !== undefined
        ? { indicator: used.target.resource, issuers: [used.target.issuer], scopes: undefined, metadata: undefined }
        : yield* MetadataDiscovery.resource(discovery, demand?.resourceMetadata)
    const issuer = choose(resource.issuers)
    const target: Stored.AuthorizationTarget = {
      issuer,
      ...(resource.indicator === undefined ? undefined : { resource: resource.indicator })
    }
    const issuerMetadata = yield* metadata(target)
    const needed = demand?.scopes ?? []
    const stepUp = demand?.error === "insufficient_scope"
    let granted = false
    let dead = false
    const tokens = yield* TokenLock.obtain({
      slot: Stored.accountOf(store, target),
      good: (found) =>
        !Stored.isSame(found.accessToken, used?.tokens.accessToken) &&
        isAcceptable(found, resource.metadata) &&
        Scopes.covers(found.requested, needed) &&
        !isExpired(found, now),
      keep: () => !dead,
      work: Effect.fnUntraced(function* (stored) {
        const base = { ...discovery, metadata: issuerMetadata, resource: resource.indicator, scopes: undefined }
        if (
          stored !== undefined &&
          isAcceptable(stored, resource.metadata) &&
          !stepUp &&
          Scopes.covers(stored.requested, needed)
        ) {
          const binding = stored.key && (yield* bindingFor(issuerMetadata, resource.metadata, stored.key))
          const refreshed = yield* refresh({ ...base, binding }, stored)
          if (refreshed !== undefined) return refreshed
          dead = true
        }
        granted = true
        const binding = yield* bindingFor(issuerMetadata, resource.metadata, undefined)
        const scopes = Scopes.select({
          before: stored?.requested ?? [],
          challenged: demand?.scopes,
          supported: resource.scopes,
          wanted: options.scopes
        })
        if (stepUp && stored !== undefined && Scopes.covers(stored.requested, scopes ?? []))
          return yield* new OAuthError({
            step: "access",
            problem: "the server demands scopes that were asked for already",
            url: shown(server),
            expected: listed(needed),
            found: stored.granted === undefined ? undefined : `granted: ${listed(stored.granted)}`,
            advice: "The user or the authorization server did not grant them; asking again would not help."
          })
        return yield* options.grant.obtain({ ...base, binding, scopes })
      })
    })
    yield* slot.write(target)
    loaded = true
    return (current = { target, tokens, granted })
  })

  /** Runs one attempt for all fibers that need no more than it gets. */
  const share = Effect.fnUntraced(function* (used: Current | undefined, demand: Demand | undefined) {
    const needed = demand?.scopes ?? []
    while (true) {
      if (current !== undefined && current !== used && Scopes.covers(current.tokens.requested, needed)) return current
      if (flight === undefined) {
        const now = yield* Clock.currentTimeMillis
        const fiber = yield* Effect.forkIn(
          Effect.ensuring(
            work(used, demand, now),
            Effect.sync(() => (flight = undefined))
          ),
          scope
        )
        flight = { needed, fiber }
        return yield* Fiber.join(fiber)
      }
      if (Scopes.covers(flight.needed, needed)) return yield* Fiber.join(flight.fiber)
      yield* Fiber.await(flight.fiber)
    }
  })

  const load = Effect.gen(function* () {
    const { value: target } = yield* slot.read
    const { value } = target === undefined ? {} : yield* Stored.accountOf(store, target).read
    if (!loaded && target !== undefined && value?.tokens !== undefined && isAcceptable(value.tokens))
      current = { target, tokens: value.tokens, granted: false }
    loaded = true
  })

  const renew = (used: Current | undefined, demand: Demand | undefined) =>
    Effect.provideContext(share(used, demand), context)

  return {
    renew,
    metadata,
    target: Effect.map(slot.read, ({ value }) => value),
    current: Effect.gen(function* () {
      if (!loaded) yield* load
      const now = yield* Clock.currentTimeMillis
      if (current?.tokens.refreshToken === undefined || (current.tokens.renewAt ?? Infinity) > now) return current
      const attempt = renew(current, undefined)
      // Still good for a moment: a refresh that fails now may succeed the next time.
      return isExpired(current.tokens, now) ? yield* attempt : yield* Effect.orElseSucceed(attempt, () => current)
    }),
    forget: Effect.gen(function* () {
      const { value: target } = yield* slot.read
      if (target !== undefined) yield* Stored.accountOf(store, target).write(undefined)
      yield* slot.write(undefined)
      current = undefined
    })
  }
})

/** One optional field of tokens, if it is there. */
const pick = (tokens: Stored.Tokens, name: "refreshToken" | "granted") =>
  tokens[name] === undefined ? undefined : { [name]: tokens[name] }
