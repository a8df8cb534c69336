/**
 * Guards HTTP routes. Only requests with an acceptable token reach the route, which receives their `Principal`.
 *
 * Performs the checks in order: header, token, claims, proof, scopes. `Refusals` writes the 400, 401, 403 and 503 responses. The guard
 * removes the token from the request, so that no handler can read, log or forward it.
 *
 * Outline: `middleware` calls `admit` before the route (`possession` checks DPoP) and `respond` after it.
 */
import { checkedBoolean, effectOf } from "@effect-mcp/core/internal/calling"
import * as Principal from "@effect-mcp/core/Principal"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import * as ClaimRules from "./ClaimRules.ts"
import { InsufficientScope, named, type Satisfies, Unauthorized } from "./Caller.ts"
import type * as Challenge from "./Challenge.ts"
import * as Credentials from "./Credentials.ts"
import * as Dpop from "./Dpop.ts"
import * as ChallengeNotes from "./ChallengeNotes.ts"
import * as Refusals from "./Refusals.ts"
import * as ResourceMetadata from "./ResourceMetadata.ts"
import * as StreamExpiry from "./StreamExpiry.ts"
import { type Claims, InvalidToken, TokenVerifier } from "./TokenVerifier.ts"

/** Options for a protected resource: its authorization servers and the tokens it accepts. */
export interface Options extends ResourceMetadata.Options {
  /** Scopes required for every request. Default: none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Decides whether the granted scopes satisfy a required one, for hierarchical scopes. By default, the names must be equal. */
  readonly satisfies?: Satisfies | undefined
  /** Accepted audiences, if the authorization server uses another name for this server. Defaults to `resource`. */
  readonly audiences?: readonly [string, ...ReadonlyArray<string>] | undefined
  /** Maximum difference between the authorization server's clock and this server's. Default 30 seconds. */
  readonly clockSkew?: Duration.Input | undefined
  /** Accepts key-bound tokens (DPoP, RFC 9449). By default they are rejected. */
  readonly dpop?: Dpop.Options | undefined
  /**
   * Whether to admit requests without a token as anonymous. Operations that need a caller still respond with a challenge. An anonymous
   * session stays anonymous, so a client that obtains a token must open a new one. Default false.
   */
  readonly anonymous?: boolean | undefined
}

/** An admitted request. */
export interface Admitted {
  readonly principal: Principal.Principal["Service"]
  /** The nonce in the request's proof, or `undefined` if it had none. */
  readonly nonce: unknown
  readonly scheme: "Bearer" | "DPoP" | undefined
  /** When the response must end, in milliseconds since 1970, or `undefined` if it may outlive the token. */
  readonly until: number | undefined
}

/** Admits a request anonymously. Each request needs a new principal, because challenge notes are keyed by identity. */
export const anonymous = (): Admitted => ({
  principal: { ...Principal.anonymous },
  nonce: undefined,
  scheme: undefined,
  until: undefined
})

type Gate = Effect.Effect<Admitted, HttpServerResponse.HttpServerResponse>

/** The guard for a resource. Used by `middleware`, and provided by `Auth.layer` and `Auth.layerTokens`. */
export class Guard extends Context.Service<
  Guard,
  {
    /** The resource's options, or `undefined` if there is no authorization server. */
    readonly options: Options | undefined
    readonly dpop: Dpop.Dpop | undefined
    /** Credential headers, which are removed before the route runs. */
    readonly headers: ReadonlyArray<string>
    /** Admits a request, or fails with the response that rejects it. */
    readonly admit: (request: HttpServerRequest) => Gate
    /** Completes the response to an admitted request. Turns it into a challenge if the handler needed more than the token grants. */
    readonly respond: (
      admitted: Admitted,
      response: HttpServerResponse.HttpServerResponse
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
  }
>()("@effect-mcp/auth/Guard") {}

/** True for a CORS preflight, which browsers send without a token. The route handles it. */
export const isPreflight = ({ headers, method }: HttpServerRequest): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Describes what is wrong with the options, or returns `undefined` if they are valid. */
const problemOf = ({
  authorizationServers,
  resource,
  scopes = [],
  scopesSupported = []
}: Options): string | undefined => {
  const url = URL.canParse(resource) ? new URL(resource) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return `\`resource\` must be the http or https URL of the endpoint, not ${resource}`
  if (url.hash !== "") return `\`resource\` must not have a fragment: ${resource}`
  const issuer = authorizationServers.find((issuer) => !URL.canParse(issuer))
  if (issuer !== undefined) return `\`authorizationServers\` must be URLs: ${issuer}`
  const refresh = [...scopes, ...scopesSupported].includes("offline_access")
  return refresh
    ? "Remove the scope offline_access. Clients request it from the authorization server, and resources never require it"
    : undefined
}

/** The options, prepared for request checks. */
interface Policy extends Refusals.ChallengePolicy {
  readonly options: Options
  readonly rules: ClaimRules.ExpectedClaims
  readonly satisfies: Satisfies
  readonly verifier: TokenVerifier["Service"]
  readonly proofs: (typeof Dpop.ProofMemory)["Service"]
}

/** Checks that the request carries a proof signed with its token's key. Returns the proof's nonce. */
const possession = Effect.fnUntraced(function* (
  policy: Policy,
  request: HttpServerRequest,
  { proof, scheme, token }: Extract<Credentials.PresentedCredentials, { readonly _tag: "Token" }>,
  { cnf }: Claims
): Effect.fn.Return<unknown, HttpServerResponse.HttpServerResponse> {
  const { dpop, options, proofs } = policy
  const refuse = (error: Challenge.ErrorCode, description: string, named?: "DPoP") =>
    Refusals.refuse(policy, 401, error, description, { scheme: named })
  const bound = cnf !== undefined && cnf !== null
  if (scheme === "Bearer") {
    if (bound)
      return yield* refuse(
        "invalid_token",
        "The token is bound to a key. Send it with the DPoP scheme and a proof",
        "DPoP"
      )
    if (dpop?.required === true)
      return yield* refuse("invalid_token", "This server requires tokens that are bound to a key (DPoP)")
    return undefined
  }
  if (dpop === undefined) return yield* refuse("invalid_token", "This server does not accept DPoP tokens")
  const thumbprint = typeof cnf === "object" && cnf !== null && "jkt" in cnf ? cnf.jkt : undefined
  if (typeof thumbprint !== "string") return yield* refuse("invalid_token", "The token is not bound to a key", scheme)
  if (proof === undefined) return yield* refuse("invalid_dpop_proof", "The DPoP header is missing", scheme)
  const { resource } = options
  const { pathname } = new URL(request.originalUrl, resource)
  const urls = [resource, new URL(pathname, resource).href]
  return yield* dpop.check({ proof, token, thumbprint, method: request.method, urls }).pipe(
    Effect.provideService(Dpop.ProofMemory, proofs),
    Effect.catch(({ error, message }) => refuse(error, message, scheme))
  )
})

/** Admits a request as its token's principal, or anonymously. Fails with the response that rejects it. */
const admit = Effect.fnUntraced(function* (
  policy: Policy,
  request: HttpServerRequest
): Effect.fn.Return<Admitted, HttpServerResponse.HttpServerResponse> {
  const { options, resourceMetadata, rules, satisfies, scopes, verifier } = policy
  if (isPreflight(request)) return anonymous()
  const credentials = Credentials.parse(request)
  if (credentials._tag === "Malformed")
    return yield* Refusals.refuse(policy, 400, "invalid_request", credentials.problem)
  if (credentials._tag === "None") {
    if (options.anonymous === true) return anonymous()
    const description = `This server requires an access token. See ${resourceMetadata} for its authorization server`
    return yield* Refusals.refuse(policy, 401, undefined, description)
  }
  const { scheme } = credentials
  const { issuers } = rules
  const verified = effectOf("TokenVerifier.verify", () =>
    verifier.verify(credentials.token, { issuers, resource: options.resource })
  )
  const claims = yield* Effect.catch(verified, (error) =>
    error instanceof InvalidToken
      ? Refusals.refuse(policy, 401, "invalid_token", error.message, { scheme })
      : Effect.andThen(Effect.logError("Failed to verify a token", error.message), Effect.fail(Refusals.unavailable))
  )
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const principal = ClaimRules.admit(claims, rules, now)
  if (principal instanceof InvalidToken)
    return yield* Refusals.refuse(policy, 401, "invalid_token", principal.message, { scheme })
  const nonce = yield* possession(policy, request, credentials, claims)
  const lacking = scopes.filter((scope) => !checkedBoolean("satisfies", satisfies(principal.scopes, scope)))
  if (lacking.length > 0) {
    const description = `The token is missing required scopes: ${lacking.join(" ")}`
    return yield* Refusals.refuse(policy, 403, "insufficient_scope", description, { scheme })
  }
  const { exp } = claims
  const until = typeof exp === "number" && StreamExpiry.isLongLived(request) ? (exp + rules.skew) * 1000 : undefined
  return { principal, nonce, scheme, until }
})

/** Ends the response when its token expires, turns it into a challenge if the handler noted a need, and adds the latest nonce. */
export const respond = Effect.fnUntraced(function* (
  policy: Refusals.ChallengePolicy,
  { nonce, principal, scheme, until }: Admitted,
  response: HttpServerResponse.HttpServerResponse
): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
  const need = ChallengeNotes.noted(principal)
  let answer = until === undefined ? response : yield* StreamExpiry.endAt(response, until)
  if (need !== undefined && isRefusal(response)) {
    const status = need.authentication ? 401 : 403
    const details = need.authentication
      ? {}
      : {
          error: "insufficient_scope" as const,
          description: `This request requires the scopes: ${need.scopes.join(" ")}`
        }
    answer = HttpServerResponse.setHeader(
      HttpServerResponse.setStatus(answer, status),
      "www-authenticate",
      Refusals.challenges(policy, details, need.scopes, scheme)
    )
  }
  const newest = yield* policy.dpop?.nonce ?? Effect.undefined
  return newest === undefined || newest === nonce ? answer : HttpServerResponse.setHeader(answer, "dpop-nonce", newest)
})

/** Creates a resource's guard. Dies if the options are invalid. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Guard["Service"], never, TokenVerifier> {
  const problem = problemOf(options)
  if (problem !== undefined) return yield* Effect.die(new Error(problem))
  for (const issuer of options.authorizationServers.filter((issuer) => !TrustedUrl.isSecure(new URL(issuer)))) {
    yield* Effect.logWarning(
      `${issuer} does not use https. An attacker on the network could forge tokens that this server accepts`
    )
  }
  const { authorizationServers: issuers, resource, satisfies = named, scopes = [] } = options
  const skew = Duration.toSeconds(options.clockSkew ?? "30 seconds")
  const policy: Policy = {
    options,
    scopes,
    satisfies,
    rules: { issuers, audiences: options.audiences ?? [resource], skew },
    dpop: options.dpop === undefined ? undefined : Dpop.make(options.dpop, skew),
    resourceMetadata: ResourceMetadata.url(resource),
    verifier: yield* TokenVerifier,
    proofs: yield* Dpop.ProofMemory
  }
  return {
    options,
    dpop: policy.dpop,
    headers: ["authorization", "dpop"],
    admit: (request) => admit(policy, request),
    respond: (admitted, response) => respond(policy, admitted, response)
  }
})

/** True if the response is a `Caller` error about missing authentication or scopes. */
const isOurs = (answer: unknown): boolean =>
  isJsonObject(answer) &&
  isJsonObject(answer.error) &&
  (answer.error.code === Unauthorized || answer.error.code === InsufficientScope)

/**
 * True if every request in the body was rejected. Otherwise the client needs to see the results of the requests that ran, so that it
 * doesn't send them again. A response without a body (202) is never a challenge, because HTTP+SSE responds on the stream.
 */
const isRefusal = ({ body }: HttpServerResponse.HttpServerResponse): boolean => {
  if (body._tag !== "Uint8Array" || !body.contentType.startsWith("application/json")) return false
  const said: unknown = JSON.parse(new TextDecoder().decode(body.body))
  return Array.isArray(said) ? said.every(isOurs) : isOurs(said)
}

/**
 * Time limit for the verifier, the token lookup and the proof memory. The endpoint's own limits do not count requests that are waiting
 * here.
 */
const patience = "30 seconds"

const bounded = (gate: Gate): Gate =>
  Effect.timeoutOrElse(gate, {
    duration: patience,
    orElse: () =>
      Effect.andThen(
        Effect.logError(`Verifying a token took longer than ${patience}`),
        Effect.fail(Refusals.unavailable)
      )
  })

/** Creates middleware that guards routes. Each call creates a new one, so a single router can guard several resources. */
export const middleware = () =>
  HttpRouter.middleware<{ provides: Principal.Principal }>()(
    Effect.map(
      Guard,
      ({ admit, headers: credentials, respond }) =>
        (route) =>
          Effect.flatMap(HttpServerRequest, (request) =>
            Effect.matchEffect(bounded(admit(request)), {
              onFailure: (refusal) => Effect.succeed(refusal),
              onSuccess: (admitted) => {
                const headers = Headers.removeMany(request.headers, credentials)
                const services = Context.add(
                  Context.make(Principal.Principal, admitted.principal),
                  HttpServerRequest,
                  request.modify({ headers })
                )
                return Effect.flatMap(Effect.provideContext(route, services), (response) => respond(admitted, response))
              }
            })
          )
    )
  )
