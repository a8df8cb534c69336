/** The test server's authorization endpoint. The script plays the user, so the redirect happens immediately, without a browser. */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Clients from "./Clients.ts"
import type * as Model from "./Model.ts"
import { invalidRequest, OAuthRefusal } from "./OAuthError.ts"
import { now, random, type AuthorizationState } from "./State.ts"

const words = (text: string | null): ReadonlyArray<string> => (text ?? "").split(" ").filter((word) => word !== "")

/** True if the redirect URI is registered. Only the port of a loopback address may differ (RFC 8252 section 7.3). */
const sameRedirect = (registered: string, asked: string): boolean => {
  if (registered === asked) return true
  if (!URL.canParse(asked)) return false
  const [a, b] = [new URL(registered), new URL(asked)]
  const loopback = a.protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(a.hostname)
  a.port = ""
  b.port = ""
  return loopback && a.href === b.href
}

const redirectTo = (
  state: AuthorizationState,
  uri: string,
  asked: URLSearchParams,
  params: { readonly [name: string]: string }
) => {
  const query = new URLSearchParams(params)
  const given = asked.get("state")
  if (given !== null) query.set("state", given)
  query.set("iss", state.issuer)
  state.script.redirect(query)
  const target = new URL(uri)
  for (const [name, value] of query) target.searchParams.append(name, value)
  return HttpServerResponse.empty({ status: 302, headers: { location: target.href, "cache-control": "no-store" } })
}

/** An error in the client's request, with the error code for the redirect. */
const objection = (asked: URLSearchParams): readonly [error: string, description: string] | undefined => {
  if (asked.get("response_type") !== "code") return ["unsupported_response_type", "response_type must be code"]
  if (asked.get("code_challenge_method") !== "S256") return ["invalid_request", "code_challenge_method must be S256"]
  if (!/^[A-Za-z0-9_-]{43}$/.test(asked.get("code_challenge") ?? "")) {
    return ["invalid_request", "code_challenge must be the base64url of a SHA-256"]
  }
  const resource = asked.getAll("resource").find((uri) => !URL.canParse(uri) || uri.includes("#"))
  return resource === undefined ? undefined : ["invalid_target", "resource must be an absolute URI without a fragment"]
}

/** Answers an authorization request. Fails with errors that must not be sent to the client: a browser shows them to the user. */
export const authorize = Effect.fnUntraced(function* (
  state: AuthorizationState,
  asked: URLSearchParams
): Effect.fn.Return<HttpServerResponse.HttpServerResponse, OAuthRefusal> {
  const client = yield* Effect.mapError(
    Clients.find(state, asked.get("client_id") ?? ""),
    ({ description, error }) => new OAuthRefusal({ error, description, status: 400 })
  )
  const redirectUri =
    asked.get("redirect_uri") ?? (client.redirectUris.length === 1 ? client.redirectUris[0] : undefined)
  if (redirectUri === undefined || !client.redirectUris.some((registered) => sameRedirect(registered, redirectUri))) {
    return yield* invalidRequest("redirect_uri is not registered for this client")
  }
  const wrong = objection(asked)
  if (wrong !== undefined)
    return redirectTo(state, redirectUri, asked, { error: wrong[0], error_description: wrong[1] })
  const asks = words(asked.get("scope"))
  const request: Model.AuthorizationRequest = {
    client,
    redirectUri,
    scopes: asks.length === 0 ? state.options.scopes : asks,
    resources: asked.getAll("resource")
  }
  const approval = state.script.approve(request)
  if ("error" in approval) {
    const { description, error } = approval
    return redirectTo(state, redirectUri, asked, {
      error,
      ...(description === undefined ? undefined : { error_description: description })
    })
  }
  const code = random()
  state.codes.set(code, {
    subject: approval.subject,
    clientId: client.clientId,
    scopes: approval.scopes ?? request.scopes,
    resources: request.resources,
    jkt: asked.get("dpop_jkt") ?? undefined,
    family: random(),
    redirectUri,
    challenge: asked.get("code_challenge") ?? "",
    expires: (yield* now) + 60,
    used: false
  })
  return redirectTo(state, redirectUri, asked, { code })
})
