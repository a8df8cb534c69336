/**
 * The public keys of authorization servers: fetched when first needed, kept for a while, and fetched again when a token names a key
 * that is not there (a rotation).
 *
 * Owns how often is asked: however many tokens wait, one fetch runs; tokens with made-up key ids cannot cause more than one per
 * cool-down; while the authorization server is down, the last keys serve on for a bounded time.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as Jose from "jose"
import * as Documents from "./Documents.ts"
import { VerifierUnavailable } from "./TokenVerifier.ts"

/** Where keys are, and for how long. */
export interface Options {
  /** Where the keys of an issuer are. Default: `jwks_uri` of its metadata. */
  readonly jwksUri?: ((issuer: string) => string | undefined) | undefined
  /** How long keys are used before they are fetched again. Default 10 minutes. */
  readonly timeToLive?: Duration.Input | undefined
  /** The least time between fetches. Default 30 seconds. */
  readonly coolDown?: Duration.Input | undefined
  /** How long keys are used beyond their time while none can be fetched. Default 1 hour. */
  readonly staleFor?: Duration.Input | undefined
}

/** Keys by issuer. */
export interface Jwks {
  /** The keys of an issuer; `unknownKey` says that those given before lacked one. */
  readonly get: (
    issuer: string,
    options?: { readonly unknownKey?: Jose.LocalJWKSet }
  ) => Effect.Effect<Jose.LocalJWKSet, VerifierUnavailable>
}

interface Cached {
  readonly lock: Semaphore.Semaphore
  keys: Jose.LocalJWKSet | undefined
  /** When they were fetched, and when that was last tried. */
  fetched: number
  tried: number
  failure: VerifierUnavailable | undefined
}

const step = "Fetching the authorization server's keys"
const remedy = "See that the authorization server runs and publishes its keys."

/** No keys at first; each issuer's are fetched when they are needed. */
export const make = (http: HttpClient.HttpClient, options: Options = {}): Jwks => {
  const timeToLive = Duration.toMillis(options.timeToLive ?? "10 minutes")
  const coolDown = Duration.toMillis(options.coolDown ?? "30 seconds")
  const staleFor = Duration.toMillis(options.staleFor ?? "1 hour")
  const issuers = new Map<string, Cached>()

  const fetch = Effect.fnUntraced(function* (issuer: string): Effect.fn.Return<Jose.LocalJWKSet, VerifierUnavailable> {
    const configured = options.jwksUri?.(issuer)
    const uri =
      configured ?? (yield* Documents.endpoint(step, issuer, yield* Documents.metadata(http, issuer), "jwks_uri"))
    const fail = (expected: string, found: string) =>
      new VerifierUnavailable({ step, url: uri, expected, found, remedy })
    const { json, status } = yield* Documents.send(step, http, HttpClientRequest.get(uri))
    if (status !== 200 || json === undefined) return yield* fail("a key set", `status ${status}`)
    const { keys } = json
    if (!Array.isArray(keys)) return yield* fail("a key set", "no list of keys")
    return yield* Effect.try({
      try: () => Jose.createLocalJWKSet({ keys: keys.filter(isJsonObject) }),
      catch: () => fail("a key set", "something malformed")
    })
  })

  const refresh = Effect.fnUntraced(function* (
    issuer: string,
    cached: Cached
  ): Effect.fn.Return<Jose.LocalJWKSet, VerifierUnavailable> {
    const fetched = yield* Effect.result(fetch(issuer))
    // Only what has ended counts as tried: whoever comes meanwhile waits for it.
    const now = yield* Clock.currentTimeMillis
    cached.tried = now
    if (Result.isSuccess(fetched)) {
      cached.keys = fetched.success
      cached.fetched = now
      cached.failure = undefined
      return fetched.success
    }
    const { failure } = fetched
    cached.failure = failure
    if (cached.keys === undefined || now >= cached.fetched + timeToLive + staleFor) return yield* failure
    yield* Effect.logWarning("Using older keys", failure.message)
    return cached.keys
  })

  const get: Jwks["get"] = Effect.fnUntraced(function* (issuer, { unknownKey } = {}) {
    const cached = issuers.get(issuer) ?? {
      lock: Semaphore.makeUnsafe(1),
      keys: undefined,
      fetched: -Infinity,
      tried: -Infinity,
      failure: undefined
    }
    issuers.set(issuer, cached)
    const usable = Effect.map(Clock.currentTimeMillis, (now) => {
      const { failure, fetched, keys, tried } = cached
      const fresh = now < fetched + timeToLive && (unknownKey === undefined || keys !== unknownKey)
      if (keys !== undefined && fresh) return Effect.succeed(keys)
      if (now >= tried + coolDown) return undefined
      if (keys !== undefined && now < fetched + timeToLive + staleFor) return Effect.succeed(keys)
      return failure === undefined ? undefined : Effect.fail(failure)
    })
    const answer = yield* usable
    if (answer !== undefined) return yield* answer
    return yield* cached.lock.withPermit(
      // Whoever waited for the lock may find the work done.
      Effect.flatMap(usable, (answer) => answer ?? refresh(issuer, cached))
    )
  })
  return { get }
}
