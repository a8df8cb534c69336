/**
 * Fetches and caches authorization servers' public keys (RFC 7517).
 *
 * Decides how often to fetch keys: on first use, when they are too old, and when a token names an unknown key (rotation). Waiting requests
 * share one fetch, and made-up key IDs cause at most one fetch per cool-down. While the authorization server is down, the last known keys
 * stay in use for a limited time.
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

/** Options for fetching keys. */
export interface Options {
  /** Returns the URL of an issuer's keys, or `undefined` to use `jwks_uri` from the issuer's metadata. */
  readonly jwksUri?: ((issuer: string) => string | undefined) | undefined
  /** How old keys may be before they are fetched again. Default 10 minutes. */
  readonly timeToLive?: Duration.Input | undefined
  /** Minimum time between fetches for the same issuer. Default 30 seconds. */
  readonly coolDown?: Duration.Input | undefined
  /** How long to keep using keys after `timeToLive` if they cannot be fetched. Default 1 hour. */
  readonly staleFor?: Duration.Input | undefined
}

/** The keys of all issuers. */
export interface Jwks {
  /** Returns an issuer's keys. Pass the key set that lacked a token's key as `unknownKey` to request a newer one. */
  readonly get: (
    issuer: string,
    options?: { readonly unknownKey?: Jose.LocalJWKSet }
  ) => Effect.Effect<Jose.LocalJWKSet, VerifierUnavailable>
}

interface Cached {
  readonly lock: Semaphore.Semaphore
  keys: Jose.LocalJWKSet | undefined
  /** Time of the last successful fetch, in milliseconds since 1970. */
  fetched: number
  /** Time of the last fetch, successful or not, in milliseconds since 1970. */
  tried: number
  failure: VerifierUnavailable | undefined
}

const step = "Cannot fetch the authorization server's keys"
const remedy = "Check that the authorization server is running and publishes its keys."

/** Creates an empty key cache. */
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
    if (!Array.isArray(keys)) return yield* fail("a key set", "JSON without a list of `keys`")
    return yield* Effect.try({
      try: () => Jose.createLocalJWKSet({ keys: keys.filter(isJsonObject) }),
      catch: () => fail("a key set", "malformed keys")
    })
  })

  const refresh = Effect.fnUntraced(function* (
    issuer: string,
    cached: Cached
  ): Effect.fn.Return<Jose.LocalJWKSet, VerifierUnavailable> {
    const fetched = yield* Effect.result(fetch(issuer))
    // The cool-down starts after the fetch, because requests that arrive during it wait for the lock.
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
    yield* Effect.logWarning(
      "Failed to refresh the authorization server's keys. Using the previous ones",
      failure.message
    )
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
      // Another fiber may have fetched while this one waited for the lock.
      Effect.flatMap(usable, (answer) => answer ?? refresh(issuer, cached))
    )
  })
  return { get }
}
