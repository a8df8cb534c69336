/**
 * The guard of an HTTP route: a request without an acceptable token never reaches the route, any other has its `Principal` there.
 *
 * Owns the checks and their order: header, token, claims, proof, scopes. `Refusals` writes the responses 400, 401, 403 and 503. The token
 * ends here: no handler can read, log or pass it on.
 *
 * Outline: `middleware` asks `admit` before the route (`possession` is its check of DPoP) and `respond` after it.
 */
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

/** The protected resource, its authorization servers, and what tokens must grant. */
export interface Options extends ResourceMetadata.Options {
  /** Scopes that every request needs. Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Whether the granted scopes satisfy a needed one, for hierarchical scopes. Default: they contain its name. */
  readonly satisfies?: Satisfies | undefined
  /** Accepted audiences, for authorization servers that know this server by another name. Default: `resource`. */
  readonly audiences?: readonly [string, ...ReadonlyArray<string>] | undefined
  /** How far the clocks of the authorization server and of this server may differ. Default 30 seconds. */
  readonly clockSkew?: Duration.Input | undefined
  /** Accepts tokens that are bound to a key (RFC 9449). Default: such tokens are refused. */
  readonly dpop?: Dpop.Options | undefined
  /**
   * Admits requests without a token as anonymous ones; what needs a caller challenges them. Default false. A session that was opened
   * anonymously stays anonymous: a request with a token has to open another.
   */
  readonly anonymous?: boolean | undefined
}

export interface Admitted {
  readonly principal: Principal.Principal["Service"]
  /** Of the proof, if there was one. */
  readonly nonce: unknown
  readonly scheme: "Bearer" | "DPoP" | undefined
  /** When the response must have ended, in milliseconds since 1970. */
  readonly until: number | undefined
}

/** An anonymous principal, a new one for each request: notes are kept by identity. */
export const anonymous = (): Admitted => ({
  principal: { ...Principal.anonymous },
  nonce: undefined,
  scheme: undefined,
  until: undefined
})

type Gate = Effect.Effect<Admitted, HttpServerResponse.HttpServerResponse>

/** The guard of one resource, as `middleware` uses it. `Auth.layer` provides it. */
export class Guard extends Context.Service<
  Guard,
  {
    /** Undefined where there is no authorization server. */
    readonly options: Options | undefined
    readonly dpop: Dpop.Dpop | undefined
    /** The headers with credentials, which the route does not see. */
    readonly headers: ReadonlyArray<string>
    readonly admit: (request: HttpServerRequest) => Gate
    /** The response to an admitted request; a challenge where the request turned out to need more. */
    readonly respond: (
      admitted: Admitted,
      response: HttpServerResponse.HttpServerResponse
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
  }
>()("@effect-mcp/auth/Guard") {}

/** Whether it is a CORS preflight, which a browser sends without a token. The route answers it. */
export const isPreflight = ({ headers, method }: HttpServerRequest): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** What is wrong with the options; undefined if nothing is. */
const problemOf = ({
  authorizationServers,
  resource,
  scopes = [],
  scopesSupported = []
}: Options): string | undefined => {
  const url = URL.canParse(resource) ? new URL(resource) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return `resource must be the URL of the endpoint: ${resource}`
  if (url.hash !== "") return `resource must not have a fragment: ${resource}`
  const issuer = authorizationServers.find((issuer) => !URL.canParse(issuer))
  if (issuer !== undefined) return `authorizationServers must be URLs: ${issuer}`
  const refresh = [...scopes, ...scopesSupported].includes("offline_access")
  return refresh ? "offline_access is for the client to ask for; no resource needs it" : undefined
}

/** The options in the form in which every request is checked against them. */
interface Policy extends Refusals.ChallengePolicy {
  readonly options: Options
  readonly rules: ClaimRules.ExpectedClaims
  readonly satisfies: Satisfies
  readonly verifier: TokenVerifier["Service"]
  readonly proofs: (typeof Dpop.ProofMemory)["Service"]
}

/** Checks that the key of a bound token made a proof for this request; gives the nonce of the proof. */
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
    if (bound) return yield* refuse("invalid_token", "The token is bound to a key: it needs a proof", "DPoP")
    if (dpop?.required === true) return yield* refuse("invalid_token", "The token must be bound to a key")
    return undefined
  }
  if (dpop === undefined) return yield* refuse("invalid_token", "This server takes no DPoP tokens")
  const thumbprint = typeof cnf === "object" && cnf !== null && "jkt" in cnf ? cnf.jkt : undefined
  if (typeof thumbprint !== "string") return yield* refuse("invalid_token", "The token is bound to no key", scheme)
  if (proof === undefined) return yield* refuse("invalid_dpop_proof", "The DPoP header is missing", scheme)
  const { resource } = options
  const { pathname } = new URL(request.originalUrl, resource)
  const urls = [resource, new URL(pathname, resource).href]
  return yield* dpop.check({ proof, token, thumbprint, method: request.method, urls }).pipe(
    Effect.provideService(Dpop.ProofMemory, proofs),
    Effect.catch(({ error, message }) => refuse(error, message, scheme))
  )
})

/** Admits a request, as the principal of its token or anonymously, or fails with the response that refuses it. */
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
    const description = `Authorization is needed: ${resourceMetadata} names the authorization server`
    return yield* Refusals.refuse(policy, 401, undefined, description)
  }
  const { scheme } = credentials
  const { issuers } = rules
  const verified = verifier.verify(credentials.token, { issuers, resource: options.resource })
  const claims = yield* Effect.catch(verified, (error) =>
    error instanceof InvalidToken
      ? Refusals.refuse(policy, 401, "invalid_token", error.message, { scheme })
      : Effect.andThen(
          Effect.logError("A token could not be verified", error.message),
          Effect.fail(Refusals.unavailable)
        )
  )
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const principal = ClaimRules.admit(claims, rules, now)
  if (principal instanceof InvalidToken)
    return yield* Refusals.refuse(policy, 401, "invalid_token", principal.message, { scheme })
  const nonce = yield* possession(policy, request, credentials, claims)
  const lacking = scopes.filter((scope) => !satisfies(principal.scopes, scope))
  if (lacking.length > 0) {
    const description = `The token lacks: ${lacking.join(" ")}`
    return yield* Refusals.refuse(policy, 403, "insufficient_scope", description, { scheme })
  }
  const { exp } = claims
  const until = typeof exp === "number" && StreamExpiry.isLongLived(request) ? (exp + rules.skew) * 1000 : undefined
  return { principal, nonce, scheme, until }
})

/** The response to an admitted request: bounded by its token, a challenge if a note says so, with the newest nonce. */
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
      : { error: "insufficient_scope" as const, description: `This needs: ${need.scopes.join(" ")}` }
    answer = HttpServerResponse.setHeader(
      HttpServerResponse.setStatus(answer, status),
      "www-authenticate",
      Refusals.challenges(policy, details, need.scopes, scheme)
    )
  }
  const newest = yield* policy.dpop?.nonce ?? Effect.undefined
  return newest === undefined || newest === nonce ? answer : HttpServerResponse.setHeader(answer, "dpop-nonce", newest)
})

/** The guard of one resource; dies on options that contradict themselves. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Guard["Service"], never, TokenVerifier> {
  const problem = problemOf(options)
  if (problem !== undefined) return yield* Effect.die(new Error(problem))
  for (const issuer of options.authorizationServers.filter((issuer) => !TrustedUrl.isSecure(new URL(issuer)))) {
    yield* Effect.logWarning(
      `${issuer} is not https: an attacker on the network can make tokens that this server takes`
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

/** Whether an answer is the error of `Caller` for missing authentication or scopes. */
const isOurs = (answer: unknown): boolean =>
  isJsonObject(answer) &&
  isJsonObject(answer.error) &&
  (answer.error.code === Unauthorized || answer.error.code === InsufficientScope)

/**
 * Whether every request of the body was refused. Else the client must see the results of those that took effect, and not send them again.
 * A response without a body (202) is never a challenge: over HTTP with SSE the answer travels on the stream.
 */
const isRefusal = ({ body }: HttpServerResponse.HttpServerResponse): boolean => {
  if (body._tag !== "Uint8Array" || !body.contentType.startsWith("application/json")) return false
  const said: unknown = JSON.parse(new TextDecoder().decode(body.body))
  return Array.isArray(said) ? said.every(isOurs) : isOurs(said)
}

/** The time for a verifier, a finder of tokens and a memory of proofs. Requests that wait for them are in no limit of the endpoint. */
const patience = "30 seconds"

const bounded = (gate: Gate): Gate =>
  Effect.timeoutOrElse(gate, {
    duration: patience,
    orElse: () =>
      Effect.andThen(Effect.logError(`A token was not verified within ${patience}`), Effect.fail(Refusals.unavailable))
  })

/** Middleware for routes. Each call makes another one, so that one router can guard several resources. */
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
