/**
 * The entries of a client in its `TokenStore`, as JSON: the tokens of a resource at an issuer, the registration at an issuer, and the
 * issuer and resource that a server's URL last led to.
 *
 * An entry that cannot be read counts as absent: an entry of a newer version costs a login, and is no lasting error.
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

/** The authentication method of a client at the token endpoint (RFC 8414 section 2). */
export const AuthMethod = Schema.Literals(["none", "client_secret_basic", "client_secret_post", "private_key_jwt"])
export type AuthMethod = typeof AuthMethod.Type

/** A client as an authorization server registered it. */
export const Registration = Schema.Struct({
  clientId: Schema.String,
  clientSecret: Schema.optionalKey(Secret),
  /** When the secret expires, in milliseconds since 1970. */
  expiresAt: Schema.optionalKey(Millis),
  method: Schema.optionalKey(AuthMethod),
  redirectUris: Schema.Array(Schema.String)
})
export type Registration = typeof Registration.Type

/** Tokens as they were issued. */
export const Tokens = Schema.Struct({
  accessToken: Secret,
  tokenType: Schema.Literals(["Bearer", "DPoP"]),
  /** When the access token expires, in milliseconds since 1970; unknown where absent. */
  expiresAt: Schema.optionalKey(Millis),
  /** When it should be renewed: early enough that it does not expire before it arrives. */
  renewAt: Schema.optionalKey(Millis),
  refreshToken: Schema.optionalKey(Secret),
  /** The requested scopes: asking again for no more than these does not help. */
  requested: Schema.Array(Schema.String),
  /** The granted scopes, where the authorization server named them. */
  granted: Schema.optionalKey(Schema.Array(Schema.String)),
  clientId: Schema.optionalKey(Schema.String),
  /** The registration of that client: the issuer may have another one by now. */
  registration: Schema.optionalKey(Registration),
  /** The private key that the tokens are bound to (RFC 9449), as a JWK in JSON. */
  key: Schema.optionalKey(Secret)
})
export type Tokens = typeof Tokens.Type

/** Tokens, and the lease of the process that gets new ones. */
export const StoredAccount = Schema.Struct({
  tokens: Schema.optionalKey(Tokens),
  lease: Schema.optionalKey(Schema.Struct({ owner: Schema.String, until: Millis }))
})
export type StoredAccount = typeof StoredAccount.Type

/** The authorization server and resource of a server's URL, by the last discovery. */
export const AuthorizationTarget = Schema.Struct({
  issuer: Schema.String,
  /** The resource indicator; a server of 2025-03-26 has none. */
  resource: Schema.optionalKey(Schema.String),
  /** The URL of the resource metadata, where a challenge named it. */
  metadataUrl: Schema.optionalKey(Schema.String)
})
export type AuthorizationTarget = typeof AuthorizationTarget.Type

/** One entry of a store, typed. */
export interface Slot<A> {
  readonly read: Effect.Effect<{ readonly version: number; readonly value: A | undefined }, OAuthError>
  readonly swap: (version: number, value: A | undefined) => Effect.Effect<boolean, OAuthError>
  /** Replaces the entry, whatever its version. */
  readonly write: (value: A | undefined) => Effect.Effect<void, OAuthError>
}

/** How often in a row a store may refuse to replace an entry. Other processes write the same entry a few times at most. */
const mostConflicts = 100

/** Fails once a store has refused to replace an entry this many times: it would refuse for ever. */
export const conflict = (refusals: number): Effect.Effect<void, OAuthError> =>
  refusals < mostConflicts
    ? Effect.void
    : Effect.fail(
        new OAuthError({
          step: "storage",
          problem: `the token store refused to replace an entry ${refusals} times`,
          expected: "`swap` returns true if the entry has the version that `read` returned",
          advice: "Check the token store of the program."
        })
      )

/** How long a store may take. */
const storeTimeout = "30 seconds"

const broken = (problem: string, cause?: unknown) =>
  new OAuthError({ step: "storage", problem, advice: "Check the token store of the program.", cause })

/** Calls a store of the program, which may throw, hang or return a value of another type: each becomes an error. */
const guarded = <A>(
  name: string,
  call: () => Effect.Effect<A, OAuthError>,
  isExpected: (value: A) => boolean
): Effect.Effect<A, OAuthError> =>
  Effect.suspend(call).pipe(
    Effect.timeoutOrElse({
      duration: storeTimeout,
      orElse: () => Effect.fail(broken(`\`${name}\` of the token store did not return within ${storeTimeout}`))
    }),
    Effect.catchDefect((cause) => Effect.fail(broken(`\`${name}\` of the token store threw`, cause))),
    Effect.filterOrFail(isExpected, () => broken(`\`${name}\` of the token store returned a value of another type`))
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

/** Tokens for a resource, by issuer and resource. */
export const account = slot("account", StoredAccount)
/** The client's registration, by issuer. */
export const registration = slot("registration", Registration)
/** The authorization target of a server, by its URL. The key is that of existing stores: another one would cost each user a login. */
export const target = slot("place", AuthorizationTarget)

/** The account of a resource at its issuer. */
export const accountOf = (
  store: TokenStore["Service"],
  { issuer, resource }: AuthorizationTarget
): Slot<StoredAccount> => account(store, issuer, resource ?? "")

/** Whether two secrets have the same value. */
export const isSame = (one: Redacted.Redacted | undefined, other: Redacted.Redacted | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && Redacted.value(one) === Redacted.value(other))
