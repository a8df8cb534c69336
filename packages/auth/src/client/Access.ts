/**
 * Holds the tokens for one MCP server and obtains new ones.
 *
 * Fibers that need new tokens at the same time share a single attempt. The attempt outlives the request that started it, so that a call's
 * timeout doesn't interrupt a user who is typing a password. Processes that share a store take turns through `TokenLock`.
 *
 * Outline: `current` loads and refreshes tokens; `renew` shares one `attempt`, which finds the authorization server and calls `obtain` to
 * refresh (`refreshed`) or to ask the grant (`granted`).
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { Demand } from "@effect-mcp/protocol/Challenge"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import type * as Metadata from "../shared/Metadata.ts"
import * as MetadataDiscovery from "../shared/MetadataDiscovery.ts"
import { OAuthError, listed, shown } from "../shared/OAuthError.ts"
import type { Grant, GrantRequest } from "./Grant.ts"
import * as KeyBinding from "./KeyBinding.ts"
import { refresh } from "./Refresh.ts"
import * as Scopes from "./Scopes.ts"
import * as Stored from "./Stored.ts"
import type * as TokenEndpoint from "./TokenEndpoint.ts"
import * as TokenLock from "./TokenLock.ts"
import { TokenStore } from "./TokenStore.ts"

export interface Options<R> extends Omit<MetadataDiscovery.Options, "server">, KeyBinding.Options {
  readonly grant: Grant<R>
  /** Scopes to include in every token request. */
  readonly scopes: Scopes.Scopes
}

/** The tokens in use, marked if the user has just granted them. */
export interface Current {
  readonly target: Stored.AuthorizationTarget
  readonly tokens: Stored.Tokens
  /** True if a grant issued the tokens during this attempt. If the server rejects them, asking again won't help. */
  readonly granted: boolean
}

export interface Access {
  /** The tokens to send, or `undefined` if there are none. */
  readonly current: Effect.Effect<Current | undefined, OAuthError>
  /** Obtains tokens to replace `used`, which the server rejected with this demand. */
  readonly renew: (used: Current | undefined, demand: Demand) => Effect.Effect<Current, OAuthError>
  /** The authorization server and resource that discovery last found for this server, from the store. */
  readonly target: Effect.Effect<Stored.AuthorizationTarget | undefined, OAuthError>
  /** Deletes the tokens from memory and from the store. */
  readonly forget: Effect.Effect<void, OAuthError>
  /** The authorization server's metadata, at most five minutes old. */
  readonly metadata: (target: Stored.AuthorizationTarget) => Effect.Effect<Metadata.AuthorizationServer, OAuthError>
}

/** Time limit for a grant. All of the client's requests wait for it, as do other processes that share the store. */
const grantTimeout = "15 minutes"

/** Milliseconds until an authorization server's metadata is read again. */
const freshFor = 300_000

const isExpired = (tokens: Stored.Tokens, now: number): boolean =>
  tokens.expiresAt !== undefined && tokens.expiresAt <= now

/** Options and mutable state for the access to one server. */
interface State<R> {
  readonly server: URL
  readonly options: Options<R>
  readonly discovery: MetadataDiscovery.Options
  readonly store: TokenStore["Service"]
  readonly slot: Stored.Slot<Stored.AuthorizationTarget>
  /** Runs attempts, so that they outlive the request that started them. */
  readonly scope: Scope.Scope
  readonly cached: Map<string, { readonly metadata: Metadata.AuthorizationServer; readonly until: number }>
  current: Current | undefined
  /** True once the store has been read. */
  loaded: boolean
  /** The running attempt, with the scopes that its demand named. */
  flight: { readonly needed: Scopes.Scopes; readonly fiber: Fiber.Fiber<Current | undefined, OAuthError> } | undefined
}

const metadataOf = Effect.fnUntraced(function* <R>(
  { cached, discovery }: State<R>,
  { issuer, resource }: Stored.AuthorizationTarget
): Effect.fn.Return<Metadata.AuthorizationServer, OAuthError> {
  const now = yield* Clock.currentTimeMillis
  const known = cached.get(issuer)
  if (known !== undefined && known.until > now) return known.metadata
  const found = yield* MetadataDiscovery.server(discovery, issuer, resource === undefined)
  cached.set(issuer, { metadata: found, until: now + freshFor })
  return found
})

/** Discovery results, collected before an attempt asks for tokens. */
interface Found {
  readonly resource: MetadataDiscovery.ProtectedServer
  readonly metadata: Metadata.AuthorizationServer
  readonly demand: Demand | undefined
  /** Scopes requested from this issuer earlier. */
  readonly before: Scopes.Scopes
}

const requestFor = <R>(
  { discovery }: State<R>,
  { metadata, resource }: Found,
  scopes: Scopes.Scopes | undefined,
  binding: TokenEndpoint.Binding | undefined
): GrantRequest => ({ ...discovery, metadata, resource: resource.indicator, scopes, binding })

/** True if refreshing the stored tokens is enough, because they are for this resource and cover the demand without stepping up. */
const isRefreshable = <R>({ options }: State<R>, { demand, resource }: Found, stored: Stored.Tokens): boolean =>
  KeyBinding.isAcceptable(options, stored, resource.metadata) &&
  demand?.error !== "insufficient_scope" &&
  Scopes.covers(stored.requested, demand?.scopes ?? [])

/** Uses the stored refresh token. Returns `undefined` if the authorization server rejects it. */
const refreshed = Effect.fnUntraced(function* <R>(
  state: State<R>,
  found: Found,
  stored: Stored.Tokens
): Effect.fn.Return<Stored.Tokens | undefined, OAuthError, R | TokenStore> {
  const { options } = state
  const binding =
    stored.key && (yield* KeyBinding.bindingFor(options, found.metadata, found.resource.metadata, stored.key))
  return yield* refresh(options.grant, requestFor(state, found, undefined, binding), stored)
})

/** Asks the grant for tokens with the earlier scopes and the demanded ones. */
const granted = Effect.fnUntraced(function* <R>(
  state: State<R>,
  found: Found,
  stored: Stored.Tokens | undefined
): Effect.fn.Return<Stored.Tokens, OAuthError, R | TokenStore> {
  const { options, server } = state
  const { before, demand, metadata, resource } = found
  const binding = yield* KeyBinding.bindingFor(options, metadata, resource.metadata, undefined)
  const scopes = Scopes.select({
    before: stored?.requested ?? before,
    challenged: demand?.scopes,
    supported: resource.scopes,
    wanted: options.scopes
  })
  const stepUp = demand?.error === "insufficient_scope"
  if (stepUp && stored !== undefined && Scopes.covers(stored.requested, scopes ?? []))
    return yield* new OAuthError({
      step: "access",
      problem: "the server still requires scopes that were already requested",
      url: shown(server),
      expected: listed(demand.scopes ?? []),
      found: stored.granted === undefined ? undefined : `granted: ${listed(stored.granted)}`,
      advice: "The user or the authorization server did not grant them, so asking again would not help."
    })
  return yield* Effect.timeoutOrElse(
    effectOf("The grant's obtain function", () => options.grant.obtain(requestFor(state, found, scopes, binding))),
    {
      duration: grantTimeout,
      orElse: () =>
        Effect.fail(
          new OAuthError({
            step: "authorization",
            problem: `the grant did not return within ${grantTimeout}`,
            url: shown(server),
            advice: "Check that the user was prompted, and that the grant's obtain function returns."
          })
        )
    }
  )
})

/** Fails the first half of an attempt if the stored tokens cannot be refreshed: only the second half may ask the grant. */
class NotRefreshed extends Data.TaggedError("NotRefreshed") {}

/** Obtains tokens for a resource: from another process, by refreshing, or from the grant if `mayGrant` is true. */
const obtain = Effect.fnUntraced(function* <R>(
  state: State<R>,
  resource: MetadataDiscovery.ProtectedServer,
  used: Current | undefined,
  demand: Demand | undefined,
  mayGrant: boolean
): Effect.fn.Return<Current, OAuthError | NotRefreshed, R | TokenStore> {
  const { options, slot, store } = state
  const now = yield* Clock.currentTimeMillis
  const issuer =
    resource.issuers.find((issuer) => issuer === state.current?.target.issuer || options.grant.prefers(issuer)) ??
    resource.issuers[0]
  const metadataUrl = demand === undefined ? used?.target.metadataUrl : demand.resourceMetadata
  const target: Stored.AuthorizationTarget = {
    issuer,
    ...(resource.indicator === undefined ? undefined : { resource: resource.indicator }),
    ...(metadataUrl === undefined ? undefined : { metadataUrl })
  }
  const before = used?.target.issuer === issuer ? used.tokens.requested : []
  const found: Found = { resource, metadata: yield* metadataOf(state, target), demand, before }
  const needed = demand?.scopes ?? []
  let isGranted = false
  let refreshFailed = false
  const tokens = yield* TokenLock.obtain({
    slot: Stored.accountOf(store, target),
    good: (stored) =>
      !Stored.isSame(stored.accessToken, used?.tokens.accessToken) &&
      KeyBinding.isAcceptable(options, stored, resource.metadata) &&
      Scopes.covers(stored.requested, needed) &&
      !isExpired(stored, now),
    keep: () => !refreshFailed,
    work: Effect.fnUntraced(function* (stored) {
      if (stored !== undefined && isRefreshable(state, found, stored)) {
        const fresh = yield* refreshed(state, found, stored)
        if (fresh !== undefined) return fresh
        refreshFailed = true
      }
      if (!mayGrant) return yield* new NotRefreshed()
      isGranted = true
      return yield* granted(state, found, stored)
    })
  })
  yield* slot.write(target)
  state.loaded = true
  return (state.current = { target, tokens, granted: isGranted })
})

/**
 * Runs one attempt. Tokens that have merely expired are refreshed by their issuer. After a rejection, discovery runs again before the user
 * is asked, because the resource may have moved to another authorization server.
 *
 * Returns `undefined` if there was no demand and the resource's metadata was not found. The caller then sends a request without a token, to
 * receive the challenge that names the metadata. The server's own origin is never treated as the authorization server for another issuer's
 * tokens.
 */
const attempt = Effect.fnUntraced(function* <R>(
  state: State<R>,
  used: Current | undefined,
  demand: Demand | undefined
): Effect.fn.Return<Current | undefined, OAuthError, R | TokenStore> {
  const { discovery } = state
  const anew = (resource: MetadataDiscovery.ProtectedServer) =>
    Effect.catchTag(obtain(state, resource, used, demand, true), "NotRefreshed", Effect.die)
  if (demand !== undefined || used === undefined)
    return yield* anew(yield* MetadataDiscovery.resource(discovery, demand?.resourceMetadata))
  const { issuer, metadataUrl, resource: indicator } = used.target
  const known: MetadataDiscovery.ProtectedServer = {
    indicator,
    issuers: [issuer],
    scopes: undefined,
    metadata: undefined
  }
  const find = indicator === undefined ? MetadataDiscovery.resource : MetadataDiscovery.find
  return yield* obtain(state, known, used, demand, false).pipe(
    Effect.catchTag("NotRefreshed", () => Effect.flatMap(find(discovery, metadataUrl), anew)),
    Effect.catchTag("Absent", () => Effect.sync(() => (state.current = undefined)))
  )
})

/** Shares one attempt among all fibers whose scopes it covers. Like `attempt`, returns `undefined` only if there was no demand. */
const share = Effect.fnUntraced(function* <R>(
  state: State<R>,
  used: Current | undefined,
  demand: Demand | undefined
): Effect.fn.Return<Current | undefined, OAuthError, R | TokenStore> {
  const needed = demand?.scopes ?? []
  while (true) {
    const { current, flight } = state
    if (current !== undefined && current !== used && Scopes.covers(current.tokens.requested, needed)) return current
    if (flight === undefined) {
      const fiber = yield* Effect.forkIn(
        Effect.ensuring(
          attempt(state, used, demand),
          Effect.sync(() => (state.flight = undefined))
        ),
        state.scope
      )
      state.flight = { needed, fiber }
      return yield* Fiber.join(fiber)
    }
    if (Scopes.covers(flight.needed, needed)) {
      const found = yield* Fiber.join(flight.fiber)
      if (found !== undefined || demand === undefined) return found
    } else yield* Fiber.await(flight.fiber)
  }
})

/** Reads the store once. If an attempt completed in the meantime, its tokens are newer and take precedence. */
const load = Effect.fnUntraced(function* <R>(state: State<R>): Effect.fn.Return<void, OAuthError> {
  const { options, slot, store } = state
  const { value: target } = yield* slot.read
  const { value } = target === undefined ? {} : yield* Stored.accountOf(store, target).read
  if (
    !state.loaded &&
    target !== undefined &&
    value?.tokens !== undefined &&
    KeyBinding.isAcceptable(options, value.tokens)
  )
    state.current = { target, tokens: value.tokens, granted: false }
  state.loaded = true
})

const forget = Effect.fnUntraced(function* <R>(state: State<R>): Effect.fn.Return<void, OAuthError> {
  const { value: target } = yield* state.slot.read
  if (target !== undefined) yield* Stored.accountOf(state.store, target).write(undefined)
  yield* state.slot.write(undefined)
  state.current = undefined
})

/** Creates the access to one server. It has no tokens until it has read the store. Attempts run in `scope`. */
export const make = Effect.fnUntraced(function* <R>(
  server: URL,
  options: Options<R>,
  scope: Scope.Scope
): Effect.fn.Return<Access, never, R | TokenStore> {
  const store = yield* TokenStore
  const context = yield* Effect.context<R | TokenStore>()
  const state: State<R> = {
    server,
    options,
    discovery: { ...options, server },
    store,
    slot: Stored.target(store, server.href),
    scope,
    cached: new Map(),
    current: undefined,
    loaded: false,
    flight: undefined
  }
  const renew = (used: Current | undefined, demand: Demand | undefined) =>
    Effect.provideContext(share(state, used, demand), context)
  return {
    // A demand always ends in tokens or an error.
    renew: (used, demand) => Effect.filterOrElse(renew(used, demand), Predicate.isNotUndefined, Effect.die),
    metadata: (target) => metadataOf(state, target),
    target: Effect.map(state.slot.read, ({ value }) => value),
    current: Effect.gen(function* () {
      if (!state.loaded) yield* load(state)
      const now = yield* Clock.currentTimeMillis
      const { current } = state
      if (current?.tokens.refreshToken === undefined || (current.tokens.renewAt ?? Infinity) > now) return current
      const renewed = renew(current, undefined)
      // Valid tokens stay in use if refreshing them fails: the next refresh may succeed.
      return isExpired(current.tokens, now) ? yield* renewed : yield* Effect.orElseSucceed(renewed, () => current)
    }),
    forget: forget(state)
  }
})
