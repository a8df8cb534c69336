/** The test server's token endpoint, with one function per grant. */
import * as Effect from "effect/Effect"
import * as Jose from "jose"
import * as Clients from "./Clients.ts"
import type * as Model from "./Model.ts"
import { invalidGrant, invalidRequest, OAuthRefusal } from "./OAuthError.ts"
import * as Proof from "./Proof.ts"
import { accessToken, digest, endFamily, now, random, sign, type AuthorizationState } from "./State.ts"

export const grants = {
  authorization_code: "authorization_code",
  refresh_token: "refresh_token",
  client_credentials: "client_credentials",
  "urn:ietf:params:oauth:grant-type:token-exchange": "token_exchange",
  "urn:ietf:params:oauth:grant-type:jwt-bearer": "jwt_bearer"
} as const
const tokenTypes = "urn:ietf:params:oauth:token-type"

export const kindOf = (grantType: string | null): Model.RequestKind =>
  Object.entries(grants).find(([name]) => name === grantType)?.[1] ?? "unknown_grant"

interface TokenRequest {
  readonly state: AuthorizationState
  readonly form: URLSearchParams
  readonly client: Model.RegisteredClient
  readonly jkt: string | undefined
}

const words = (text: string | null): ReadonlyArray<string> | undefined =>
  text === null ? undefined : text.split(" ").filter((word) => word !== "")

/** Checks that the requested scopes are among the granted ones. */
const narrowed = (
  asked: ReadonlyArray<string> | undefined,
  granted: ReadonlyArray<string>,
  error: string
): Effect.Effect<ReadonlyArray<string>, OAuthRefusal> => {
  if (asked === undefined || asked.length === 0) return Effect.succeed(granted)
  const more = asked.filter((item) => !granted.includes(item))
  return more.length === 0
    ? Effect.succeed(asked)
    : Effect.fail(new OAuthRefusal({ error, description: `Not granted: ${more.join(" ")}` }))
}

/** Builds the response, with a refresh token if the client may have one. */
const issue = Effect.fnUntraced(function* (
  { client, state }: TokenRequest,
  grant: Model.IssuedGrant,
  options: { readonly refreshable: boolean }
): Effect.fn.Return<{ readonly [name: string]: unknown }> {
  const token = yield* accessToken(state, grant)
  const { refreshTokens } = state.options
  const refreshes =
    options.refreshable &&
    client.grantTypes.includes("refresh_token") &&
    (refreshTokens === "always" || (refreshTokens === "offline_access" && grant.scopes.includes("offline_access")))
  const refresh = refreshes ? random() : undefined
  if (refresh !== undefined) state.refreshTokens.set(refresh, { ...grant, rotated: false })
  return {
    access_token: token,
    token_type: grant.jkt === undefined ? "Bearer" : "DPoP",
    expires_in: state.script.lifetime,
    ...(grant.scopes.length === 0 ? undefined : { scope: grant.scopes.join(" ") }),
    ...(refresh === undefined ? undefined : { refresh_token: refresh })
  }
})

const authorizationCode = Effect.fnUntraced(function* (asked: TokenRequest): Effect.fn.Return<object, OAuthRefusal> {
  const { client, form, jkt, state } = asked
  const code = state.codes.get(form.get("code") ?? "")
  if (code === undefined || code.clientId !== client.clientId) return yield* invalidGrant("The code is not known")
  if (code.used) {
    endFamily(state, code.family)
    return yield* invalidGrant("The code was used before")
  }
  code.used = true
  if (code.expires < (yield* now)) return yield* invalidGrant("The code has expired")
  if (form.get("redirect_uri") !== code.redirectUri) return yield* invalidGrant("redirect_uri is not that of the code")
  if ((yield* digest(form.get("code_verifier") ?? "")) !== code.challenge) {
    return yield* invalidGrant("code_verifier does not fit the code_challenge")
  }
  if (code.jkt !== undefined && code.jkt !== jkt) return yield* invalidGrant("The code is bound to another key")
  const resources = yield* narrowed(form.getAll("resource"), code.resources, "invalid_target")
  return yield* issue(asked, { ...grantOf(code), resources, jkt }, { refreshable: true })
})

const grantOf = ({ clientId, family, jkt, resources, scopes, subject }: Model.IssuedGrant): Model.IssuedGrant => ({
  clientId,
  family,
  jkt,
  resources,
  scopes,
  subject
})

const refresh = Effect.fnUntraced(function* (asked: TokenRequest): Effect.fn.Return<object, OAuthRefusal> {
  const { client, form, jkt, state } = asked
  const token = state.refreshTokens.get(form.get("refresh_token") ?? "")
  if (token === undefined || token.clientId !== client.clientId) {
    return yield* invalidGrant("The refresh token is not known")
  }
  if (token.rotated) {
    endFamily(state, token.family)
    return yield* invalidGrant("The refresh token was used before: its family is revoked")
  }
  if (token.jkt !== undefined && token.jkt !== jkt) return yield* invalidGrant("The token is bound to another key")
  const scopes = yield* narrowed(words(form.get("scope")), token.scopes, "invalid_scope")
  const resources = yield* narrowed(form.getAll("resource"), token.resources, "invalid_target")
  token.rotated = true
  // The new refresh token keeps all granted scopes. Only the access token is narrower.
  const answer = yield* issue(asked, { ...grantOf(token), resources, scopes, jkt }, { refreshable: false })
  const next = random()
  state.refreshTokens.set(next, { ...grantOf(token), rotated: false })
  return { ...answer, refresh_token: next }
})

const clientCredentials = Effect.fnUntraced(function* (asked: TokenRequest): Effect.fn.Return<object, OAuthRefusal> {
  const { client, form, jkt, state } = asked
  if (client.authMethod === "none") {
    return yield* new OAuthRefusal({ error: "unauthorized_client", description: "A public client has no credentials" })
  }
  const scopes = words(form.get("scope")) ?? state.options.scopes
  const { clientId } = client
  const resources = form.getAll("resource")
  return yield* issue(
    asked,
    { subject: clientId, clientId, scopes, resources, jkt, family: random() },
    { refreshable: false }
  )
})

/** Exchanges a token for an ID-JAG (RFC 8693), the only type that enterprise-managed authorization needs. */
const tokenExchange = Effect.fnUntraced(function* ({
  client,
  form,
  state
}: TokenRequest): Effect.fn.Return<object, OAuthRefusal> {
  if (form.get("requested_token_type") !== `${tokenTypes}:id-jag`) {
    return yield* invalidRequest("requested_token_type must be that of an ID-JAG")
  }
  if (form.get("subject_token_type") !== `${tokenTypes}:id_token`) {
    return yield* invalidRequest("subject_token_type must be id_token")
  }
  const audience = form.get("audience")
  if (audience === null) return yield* invalidRequest("audience is missing")
  const issued = yield* now
  const { payload } = yield* Effect.tryPromise({
    try: () =>
      Jose.jwtVerify(form.get("subject_token") ?? "", Jose.createLocalJWKSet(state.keys.published()), {
        issuer: state.issuer,
        audience: client.clientId,
        currentDate: new Date(issued * 1000)
      }),
    catch: () => invalidGrant("The subject token does not verify")
  })
  const [resource, ...more] = form.getAll("resource")
  const scope = form.get("scope")
  const claims = {
    iss: state.issuer,
    sub: payload.sub ?? "",
    aud: audience,
    client_id: client.clientId,
    jti: random(),
    iat: issued,
    exp: issued + 300,
    ...(resource === undefined ? undefined : { resource: more.length === 0 ? resource : [resource, ...more] }),
    ...(scope === null ? undefined : { scope })
  }
  return {
    issued_token_type: `${tokenTypes}:id-jag`,
    access_token: yield* sign(state, "id_jag", claims, { typ: "oauth-id-jag+jwt" }),
    token_type: "N_A",
    expires_in: 300,
    ...(scope === null ? undefined : { scope })
  }
})

/** Accepts an assertion from a trusted issuer (RFC 7523): an ID-JAG or a workload identity. */
const jwtBearer = Effect.fnUntraced(function* (asked: TokenRequest): Effect.fn.Return<object, OAuthRefusal> {
  const { client, form, jkt, state } = asked
  const assertion = form.get("assertion") ?? ""
  const issuer = yield* Effect.try({
    try: () => Jose.decodeJwt(assertion).iss ?? "",
    catch: () => invalidGrant("The assertion is no JWT")
  })
  const keys = state.trusted.get(issuer)
  if (keys === undefined) return yield* invalidGrant("The issuer of the assertion is not trusted")
  const currentDate = new Date((yield* now) * 1000)
  const { payload, protectedHeader } = yield* Effect.tryPromise({
    try: () =>
      Jose.jwtVerify(assertion, Jose.createLocalJWKSet(keys), {
        audience: [state.issuer, `${state.issuer}/token`],
        requiredClaims: ["sub", "exp"],
        currentDate
      }),
    catch: () => invalidGrant("The assertion does not verify")
  })
  if (payload.jti !== undefined) {
    if (state.seen.has(`${issuer} ${payload.jti}`)) return yield* invalidGrant("The assertion was used before")
    state.seen.add(`${issuer} ${payload.jti}`)
  }
  const isIdJag = protectedHeader.typ === "oauth-id-jag+jwt"
  if (isIdJag && payload.client_id !== client.clientId) {
    return yield* invalidGrant("The assertion is for another client")
  }
  const named = payload.resource
  const resources = Array.isArray(named) ? named.map(String) : typeof named === "string" ? [named] : []
  const allowed = typeof payload.scope === "string" ? words(payload.scope) : undefined
  const scopes = allowed ?? words(form.get("scope")) ?? state.options.scopes
  const grant: Model.IssuedGrant = {
    subject: payload.sub ?? "",
    clientId: client.clientId,
    scopes: yield* narrowed(words(form.get("scope")), scopes, "invalid_scope"),
    resources: isIdJag
      ? yield* narrowed(form.getAll("resource"), resources, "invalid_target")
      : form.getAll("resource"),
    jkt,
    family: random()
  }
  return yield* issue(asked, grant, { refreshable: false })
})

const handlers: { readonly [kind: string]: (asked: TokenRequest) => Effect.Effect<object, OAuthRefusal> } = {
  authorization_code: authorizationCode,
  refresh_token: refresh,
  client_credentials: clientCredentials,
  token_exchange: tokenExchange,
  jwt_bearer: jwtBearer
}

/** Answers a token request. `url` is the endpoint's URL. */
export const token = Effect.fnUntraced(function* (
  state: AuthorizationState,
  form: URLSearchParams,
  headers: { readonly [name: string]: string | undefined },
  url: string
): Effect.fn.Return<object, OAuthRefusal> {
  const repeated = [...form.keys()].find((name) => name !== "resource" && form.getAll(name).length > 1)
  if (repeated !== undefined) return yield* invalidRequest(`${repeated} is given twice`)
  const grantType = form.get("grant_type")
  const kind = kindOf(grantType)
  const handler = handlers[kind]
  if (handler === undefined) {
    return yield* new OAuthRefusal({ error: "unsupported_grant_type", description: "The grant type is not known" })
  }
  const client = yield* Clients.authenticate(state, form, headers)
  if (!client.grantTypes.includes(grantType ?? "")) {
    return yield* new OAuthRefusal({ error: "unauthorized_client", description: "The client may not use this grant" })
  }
  return yield* handler({ state, form, client, jkt: yield* Proof.check(state, headers, url) })
})
