/**
 * The gate in front of an HTTP route: who does not present a good token never gets to it, and who does becomes its `Principal`.
 *
 * Owns the answers 400, 401, 403 and 503 and their challenges. The token ends here: behind the gate nobody can read, log or pass it on.
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
import * as Challenge from "./Challenge.ts"
import * as Credentials from "./Credentials.ts"
import * as Dpop from "./Dpop.ts"
import * as ChallengeNotes from "./ChallengeNotes.ts"
import * as ResourceMetadata from "./ResourceMetadata.ts"
import * as StreamExpiry from "./StreamExpiry.ts"
import { InvalidToken, TokenVerifier } from "./TokenVerifier.ts"

/** The resource, whose tokens count for it, and what they must grant. */
export interface Options extends ResourceMetadata.Options {
  /** Scopes that every request needs. Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Scopes may be hierarchical: whether those granted are enough for one that is needed. Default: they name it. */
  readonly satisfies?: Satisfies | undefined
  /** Audiences that count, for authorization servers that know this server by another name. Default: the resource. */
  readonly audiences?: readonly [string, ...ReadonlyArray<string>] | undefined
  /** How far the clocks of the authorization server and of this one may differ. Default 30 seconds. */
  readonly clockSkew?: Duration.Input | undefined
  /** Takes tokens that are bound to a key (RFC 9449). Default: such tokens are refused. */
  readonly dpop?: Dpop.Options | undefined
  /**
   * Lets requests without any token through, as anonymous ones; what needs a caller challenges them. Default false. A session that was
   * opened anonymously stays so: with a token the client is sent to open another.
   */
  readonly anonymous?: boolean | undefined
}

interface Admitted {
  readonly principal: Principal.Principal["Service"]
  /** Of the proof, if there was one. */
  readonly nonce: unknown
  readonly scheme: "Bearer" | "DPoP" | undefined
  /** When the response must have ended, in milliseconds since 1970. */
  readonly until: number | undefined
}

/** Nobody in particular, but as a value of its own: notes are kept by identity. */
const anonymous = (): Admitted => ({
  principal: { ...Principal.anonymous },
  nonce: undefined,
  scheme: undefined,
  until: undefined
})

type Gate = Effect.Effect<Admitted, HttpServerResponse.HttpServerResponse>

/** What stands between a request and its route. */
export class Guard extends Context.Service<
  Guard,
  {
    readonly options: Options
    readonly dpop: Dpop.Dpop | undefined
    readonly admit: (request: HttpServerRequest) => Gate
    /** The response to an admitted request: a challenge, where the request turned out to need more. */
    readonly respond: (
      admitted: Admitted,
      response: HttpServerResponse.HttpServerResponse
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
  }
>()("@effect-mcp/auth/Guard") {}

/** A refusal holds nothing that is not public, and a client in a browser has to read it, wherever its page is from. */
const readable = {
  "cache-control": "no-store",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "WWW-Authenticate, DPoP-Nonce, Retry-After"
}

/** What a browser asks before it sends a token. What it learns is up to the route. */
const isPreflight = ({ headers, method }: HttpServerRequest): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

/** Options that nobody can have meant. */
const check = ({ authorizationServers, resource, scopes = [], scopesSupported = [] }: Options): string | undefined => {
  const url = URL.canParse(resource) ? new URL(resource) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return `resource must be the URL of the endpoint: ${resource}`
  if (url.hash !== "") return `resource must not have a fragment: ${resource}`
  const issuer = authorizationServers.find((issuer) => !URL.canParse(issuer))
  if (issuer !== undefined) return `authorizationServers must be URLs: ${issuer}`
  const refresh = [...scopes, ...scopesSupported].includes("offline_access")
  return refresh ? "offline_access is the client's to ask for, no resource needs it" : undefined
}

/** Dies on options that nobody can have meant. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Guard["Service"], never, TokenVerifier> {
  const problem = check(options)
  if (problem !== undefined) return yield* Effect.die(new Error(problem))
  for (const issuer of options.authorizationServers.filter((issuer) => !TrustedUrl.isSecure(new URL(issuer)))) {
    yield* Effect.logWarning(`${issuer} is not https: whoever is on the way to it can make tokens that are taken here`)
  }
  const verifier = yield* TokenVerifier
  const proofs = yield* Dpop.ProofMemory
  const { authorizationServers: issuers, resource, satisfies = named, scopes = [] } = options
  const skew = Duration.toSeconds(options.clockSkew ?? "30 seconds")
  const rules = { issuers, audiences: options.audiences ?? [resource], skew }
  const dpop = options.dpop === undefined ? undefined : Dpop.make(options.dpop, skew)
  const resourceMetadata = ResourceMetadata.url(resource)

  const challenges = (
    details: Pick<Challenge.Challenge, "error" | "description">,
    needed: ReadonlyArray<string>,
    scheme?: "Bearer" | "DPoP"
  ): string => {
    const all: Array<Challenge.Challenge> = []
    const one = { ...details, scopes: needed, resourceMetadata }
    if (dpop?.required !== true && scheme !== "DPoP") all.push({ scheme: "Bearer", ...one })
    if (dpop !== undefined && (scheme !== "Bearer" || dpop.required)) {
      all.push({ scheme: "DPoP", ...one, algorithms: dpop.algorithms })
    }
    // A scheme that this server does not take is answered by the one it does.
    return Challenge.formatAll(all.length > 0 ? all : [{ scheme: "Bearer", ...one }])
  }

  const refuse = Effect.fnUntraced(function* (
    status: number,
    error: Challenge.ErrorCode | undefined,
    description: string,
    { needed = scopes, scheme }: { readonly needed?: ReadonlyArray<string>; readonly scheme?: "Bearer" | "DPoP" } = {}
  ): Effect.fn.Return<never, HttpServerResponse.HttpServerResponse> {
    yield* Effect.logDebug(`Refused with ${status}: ${description}`)
    const nonce = yield* dpop?.nonce ?? Effect.undefined
    return yield* Effect.fail(
      HttpServerResponse.jsonUnsafe(
        { error: error ?? "unauthorized", error_description: description },
        {
          status,
          headers: {
            ...readable,
            "www-authenticate": challenges(error === undefined ? {} : { error, description }, needed, scheme),
            ...(nonce === undefined ? undefined : { "dpop-nonce": nonce })
          }
        }
      )
    )
  })
  const unavailable = HttpServerResponse.jsonUnsafe(
    { error: "temporarily_unavailable", error_description: "The token cannot be verified now" },
    { status: 503, headers: { ...readable, "retry-after": "5" } }
  )

  /** The key that a token is bound to has made a proof for this request; its nonce is returned. */
  const possession = Effect.fnUntraced(function* (
    request: HttpServerRequest,
    { proof, scheme, token }: Extract<Credentials.Credentials, { readonly _tag: "Token" }>,
    { cnf }: { readonly [claim: string]: unknown }
  ): Effect.fn.Return<unknown, HttpServerResponse.HttpServerResponse> {
    const bound = cnf !== undefined && cnf !== null
    if (scheme === "Bearer") {
      if (bound)
        return yield* refuse(401, "invalid_token", "The token is bound to a key: it needs a proof", { scheme: "DPoP" })
      if (dpop?.required === true) return yield* refuse(401, "invalid_token", "The token must be bound to a key")
      return undefined
    }
    if (dpop === undefined) return yield* refuse(401, "invalid_token", "This server takes no DPoP tokens")
    const thumbprint = typeof cnf === "object" && cnf !== null && "jkt" in cnf ? cnf.jkt : undefined
    if (typeof thumbprint !== "string")
      return yield* refuse(401, "invalid_token", "The token is bound to no key", { scheme })
    if (proof === undefined) return yield* refuse(401, "invalid_dpop_proof", "The DPoP header is missing", { scheme })
    const { pathname } = new URL(request.originalUrl, resource)
    const urls = [resource, new URL(pathname, resource).href]
    return yield* dpop.check({ proof, token, thumbprint, method: request.method, urls }).pipe(
      Effect.provideService(Dpop.ProofMemory, proofs),
      Effect.catch(({ error, message }) => refuse(401, error, message, { scheme }))
    )
  })

  const admit = Effect.fnUntraced(function* (
    request: HttpServerRequest
  ): Effect.fn.Return<Admitted, HttpServerResponse.HttpServerResponse> {
    if (isPreflight(request)) return anonymous()
    const credentials = Credentials.parse(request)
    if (credentials._tag === "Malformed") return yield* refuse(400, "invalid_request", credentials.problem)
    if (credentials._tag === "None") {
      if (options.anonymous === true) return anonymous()
      return yield* refuse(401, undefined, `Authorization is needed: ${resourceMetadata} says of whom to get it`)
    }
    const { scheme } = credentials
    const claims = yield* Effect.catch(verifier.verify(credentials.token, { issuers, resource }), (error) =>
      error instanceof InvalidToken
        ? refuse(401, "invalid_token", error.message, { scheme })
        : Effect.andThen(Effect.logError("A token could not be verified", error.message), Effect.fail(unavailable))
    )
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const principal = ClaimRules.admit(claims, rules, now)
    if (principal instanceof InvalidToken) return yield* refuse(401, "invalid_token", principal.message, { scheme })
    const nonce = yield* possession(request, credentials, claims)
    const lacking = scopes.filter((scope) => !satisfies(principal.scopes, scope))
    if (lacking.length > 0) {
      return yield* refuse(403, "insufficient_scope", `The token lacks: ${lacking.join(" ")}`, { scheme })
    }
    const { exp } = claims
    const until = typeof exp === "number" && StreamExpiry.isLongLived(request) ? (exp + skew) * 1000 : undefined
    return { principal, nonce, scheme, until }
  })

  const respond: Guard["Service"]["respond"] = Effect.fnUntraced(function* (
    { nonce, principal, scheme, until },
    response
  ) {
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
        challenges(details, need.scopes, scheme)
      )
    }
    const newest = yield* dpop?.nonce ?? Effect.undefined
    return newest === undefined || newest === nonce
      ? answer
      : HttpServerResponse.setHeader(answer, "dpop-nonce", newest)
  })
  return { options, dpop, admit, respond }
})

const isOurs = (answer: unknown): boolean =>
  isJsonObject(answer) &&
  isJsonObject(answer.error) &&
  (answer.error.code === Unauthorized || answer.error.code === InsufficientScope)

/**
 * Whether all that was asked for was refused: else something may have been done that its client must learn of, and not do again. What is
 * only accepted is answered elsewhere (HTTP with SSE).
 */
const isRefusal = ({ body }: HttpServerResponse.HttpServerResponse): boolean => {
  if (body._tag !== "Uint8Array" || !body.contentType.startsWith("application/json")) return false
  const said: unknown = JSON.parse(new TextDecoder().decode(body.body))
  return Array.isArray(said) ? said.every(isOurs) : isOurs(said)
}

/** Middleware for routes: each use is a middleware of its own, so that several resources can be guarded side by side. */
export const middleware = () =>
  HttpRouter.middleware<{ provides: Principal.Principal }>()(
    Effect.map(
      Guard,
      ({ admit, respond }) =>
        (route) =>
          Effect.flatMap(HttpServerRequest, (request) =>
            Effect.matchEffect(admit(request), {
              onFailure: (refusal) => Effect.succeed(refusal),
              onSuccess: (admitted) => {
                const headers = Headers.removeMany(request.headers, ["authorization", "dpop"])
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
