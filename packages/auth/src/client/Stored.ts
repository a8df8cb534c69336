/**
 * What a client keeps in its `TokenStore`, as JSON: the tokens of a resource at an issuer, the registration at an issuer, and which
 * issuer and resource a server's URL last led to.
 *
 * A text that cannot be read counts as nothing: what was stored by a newer version costs a login, not an error for ever.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { TokenStore } from "./TokenStore.ts"

const Secret = Schema.RedactedFromValue(Schema.String)
const Millis = Schema.Finite

/** How a client proves itself at a token endpoint. */
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
  /** When the access token expires, in milliseconds since 1970; not known without. */
  expiresAt: Schema.optionalKey(Millis),
  /** When it should be renewed: early enough that it does not expire before it arrives. */
  renewAt: Schema.optionalKey(Millis),
  refreshToken: Schema.optionalKey(Secret),
  /** What was asked for: a challenge for no more than this cannot be met by asking again. */
  requested: Schema.Array(Schema.String),
  /** What was granted, where the authorization server said so. */
  granted: Schema.optionalKey(Schema.Array(Schema.String)),
  clientId: Schema.optionalKey(Schema.String),
  /** That client, if it was registered: by now there may be another one at the same issuer. */
  registration: Schema.optionalKey(Registration),
  /** The private key that the tokens are bound to (RFC 9449), as a JWK in JSON. */
  key: Schema.optionalKey(Secret)
})
export type Tokens = typeof Tokens.Type

/** Tokens, and who is getting new ones. */
export const Account = Schema.Struct({
  tokens: Schema.optionalKey(Tokens),
  lease: Schema.optionalKey(Schema.Struct({ owner: Schema.String, until: Millis }))
})
export type Account = typeof Account.Type

/** Where a server's URL led when it was last found out. */
export const AuthorizationTarget = Schema.Struct({
  issuer: Schema.String,
  /** The resource indicator; a server of 2025-03-26 has none. */
  resource: Schema.optionalKey(Schema.String)
})
export type AuthorizationTarget = typeof AuthorizationTarget.Type

/** One entry of a store, typed. */
export interface Slot<A> {
  readonly read: Effect.Effect<{ readonly version: number; readonly value: A | undefined }, OAuthError>
  readonly swap: (version: number, value: A | undefined) => Effect.Effect<boolean, OAuthError>
  /** Replaces whatever is there. */
  readonly write: (value: A | undefined) => Effect.Effect<void, OAuthError>
}

const slot =
  <A, I>(kind: string, schema: Schema.Codec<A, I>) =>
  (store: TokenStore["Service"], ...names: ReadonlyArray<string>): Slot<A> => {
    const json = Schema.fromJsonString(schema)
    const decode = Schema.decodeUnknownOption(json)
    const encode = Schema.encodeSync(json)
    const key = JSON.stringify([kind, ...names])
    const read = Effect.map(store.read(key), ({ version, text }) => ({
      version,
      value: text === undefined ? undefined : Option.getOrUndefined(decode(text))
    }))
    const swap = (version: number, value: A | undefined) =>
      store.swap(key, version, value === undefined ? undefined : encode(value))
    const write = (value: A | undefined): Effect.Effect<void, OAuthError> =>
      Effect.flatMap(read, ({ version }) =>
        Effect.flatMap(swap(version, value), (done) => (done ? Effect.void : write(value)))
      )
    return { read, swap, write }
  }

/** Tokens for a resource, by issuer and resource. */
export const account = slot("account", Account)
/** The client's registration, by issuer. */
export const registration = slot("registration", Registration)
/** Where a server leads, by its URL. */
export const target = slot("target", AuthorizationTarget)

/** The account of a resource at its issuer. */
export const accountOf = (store: TokenStore["Service"], { issuer, resource }: AuthorizationTarget): Slot<Account> =>
  account(store, issuer, resource ?? "")

/** Whether two secrets have the same value. */
export const isSame = (one: Redacted.Redacted | undefined, other: Redacted.Redacted | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && Redacted.value(one) === Redacted.value(other))
