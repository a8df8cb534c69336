/**
 * The JSON entries that a client keeps in its `TokenStore`: the tokens for a resource at an issuer, the registration at an issuer, and the
 * issuer and resource that discovery last found for a server's URL.
 *
 * An unreadable entry counts as absent, so an entry written by a newer version costs one login instead of failing forever.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { OAuthError } from "../shared/OAuthError.ts"
import type { TokenStore } from "./TokenStore.ts"

const Secret = Schema.RedactedFromValue(Schema.String)
const Millis = Schema.Finite

/** A client's authentication method at the token endpoint (RFC 8414 section 2). */
export const AuthMethod = Schema.Literals(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"])
export type AuthMethod = typeof AuthMethod.Type

/** A client's registration at an authorization server. */
export const Registration = Schema.Struct({
  clientId: Schema.String,
  clientSecret: Schema.optionalKey(Secret),
  /** When the secret expires, in milliseconds since 1970. */
  expiresAt: Schema.optionalKey(Millis),
  method: Schema.optionalKey(AuthMethod),
  redirectUris: Schema.Array(Schema.String)
})
export type Registration = typeof Registration.Type

/** Tokens as issued. */
export const Tokens = Schema.Struct({
  accessToken: Secret,
  tokenType: Schema.Literals(["Bearer", "DPoP"]),
  /** When the access token expires, in milliseconds since 1970. Absent if unknown. */
  expiresAt: Schema.optionalKey(Millis),
  /** When to refresh it, early enough that it does not expire on its way to the server. */
  renewAt: Schema.optionalKey(Millis),
  refreshToken: Schema.optionalKey(Secret),
  /** The requested scopes. Asking again for no more than these does not help. */
  requested: Schema.Array(Schema.String),
  /** The granted scopes, if the authorization server named them. */
  granted: Schema.optionalKey(Schema.Array(Schema.String)),
  clientId: Schema.optionalKey(Schema.String),
  /** The registration that the tokens were issued to. The issuer may have a newer one. */
  registration: Schema.optionalKey(Registration),
  /** Private key that the tokens are bound to (RFC 9449), as a JWK in JSON. */
  key: Schema.optionalKey(Secret)
})
export type Tokens = typeof Tokens.Type

/** Tokens, and the lease of the process that is getting new ones. */
export const StoredAccount = Schema.Struct({
  tokens: Schema.optionalKey(Tokens),
  lease: Schema.optionalKey(Schema.Struct({ owner: Schema.String, until: Millis }))
})
export type StoredAccount = typeof StoredAccount.Type

/** Authorization server and resource that the last discovery found for a server's URL. */
export const AuthorizationTarget = Schema.Struct({
  issuer: Schema.String,
  /** The resource indicator. Absent for a server of 2025-03-26. */
  resource: Schema.optionalKey(Schema.String),
  /** URL of the resource metadata, if a challenge named it. */
  metadataUrl: Schema.optionalKey(Schema.String)
})
export type AuthorizationTarget = typeof AuthorizationTarget.Type

/** A typed entry of a store. */
export interface Slot<A> {
  readonly read: Effect.Effect<{ readonly version: number; readonly value: A | undefined }, OAuthError>
  readonly swap: (version: number, value: A | undefined) => Effect.Effect<boolean, OAuthError>
  /** Replaces the entry regardless of its version. */
  readonly write: (value: A | undefined) => Effect.Effect<void, OAuthError>
}

/** Number of consecutive conflicts after which a write gives up. Other processes write the same entry a few times at most. */
const mostConflicts = 100

/** Fails once a store has rejected a write too often in a row, because it would do so forever. */
export const conflict = (refusals: number): Effect.Effect<void, OAuthError> =>
  refusals < mostConflicts
    ? Effect.void
    : Effect.fail(
        new OAuthError({
          step: "storage",
          problem: `the token store rejected ${refusals} attempts to replace an entry`,
          expected: "`swap` returns true if the entry has the version that `read` returned",
          advice: "Check the application's token store."
        })
      )

/** Time limit for one store operation. */
const storeTimeout = "30 seconds"

const broken = (problem: string, cause?: unknown) =>
  new OAuthError({ step: "storage", problem, advice: "Check the application's token store.", cause })

/** Calls the application's store, and fails if it throws, hangs or returns a value of the wrong type. */
const guarded = <A>(
  name: string,
  call: () => Effect.Effect<A, OAuthError>,
  isExpected: (value: A) => boolean
): Effect.Effect<A, OAuthError> =>
  Effect.suspend(call).pipe(
    Effect.timeoutOrElse({
      duration: storeTimeout,
      orElse: () => Effect.fail(broken(`the token store's \`${name}\` did not return within ${storeTimeout}`))
    }),
    Effect.catchDefect((cause) => Effect.fail(broken(`the token store's \`${name}\` threw`, cause))),
    Effect.filterOrFail(isExpected, () => broken(`the token store's \`${name}\` returned a value of the wrong type`))
  )

const isEntry = (entry: { readonly version: number; readonly text: string | undefined }): boolean =>
  Predicate.isObject(entry) &&
  Number.isFinite(entry.version) &&
  (entry.text === undefined || typeof entry.text === "string")

const slot =
  <A, I>(kind: string, schema: Schema.Codec<A, I>) =>
  (store: TokenStore["Service"], ...names: ReadonlyArray<string>): Slot<A> => {
    const json = Schema.fromJsonString(schema)
    const decode = Schema.decodeUnknownOption(json)
    const encode = Schema.encodeSync(json)
    const key = JSON.stringify([kind, ...names])
    const stored = guarded("read", () => store.read(key), isEntry)
    const read = Effect.map(stored, ({ version, text }) => ({
      version,
      value: text === undefined ? undefined : Option.getOrUndefined(decode(text))
    }))
    const swap = (version: number, value: A | undefined) =>
      guarded(
        "swap",
        () => store.swap(key, version, value === undefined ? undefined : encode(value)),
        (done) => typeof done === "boolean"
      )
    const write = (value: A | undefined, refusals = 0): Effect.Effect<void, OAuthError> =>
      Effect.flatMap(read, ({ version }) =>
        Effect.flatMap(swap(version, value), (done) =>
          done ? Effect.void : Effect.andThen(conflict(refusals + 1), write(value, refusals + 1))
        )
      )
    return { read, swap, write: (value) => write(value) }
  }

/** The tokens for a resource, by issuer and resource. */
export const account = slot("account", StoredAccount)
/** The client's registration, by issuer. */
export const registration = slot("registration", Registration)
/** The authorization target of a server, by its URL. Existing stores use this key: changing it would cost every user a login. */
export const target = slot("place", AuthorizationTarget)

/** Returns the entry for a resource at its issuer. */
export const accountOf = (
  store: TokenStore["Service"],
  { issuer, resource }: AuthorizationTarget
): Slot<StoredAccount> => account(store, issuer, resource ?? "")

/** True if two secrets have the same value. */
export const isSame = (one: Redacted.Redacted | undefined, other: Redacted.Redacted | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && Redacted.value(one) === Redacted.value(other))
