/**
 * Responses to rejected requests: 400, 401 and 403 with challenges, and 503.
 *
 * Decides which challenges a response carries: one for each scheme that the resource accepts. The guards decide which requests to reject.
 */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Challenge from "./Challenge.ts"
import type * as Dpop from "./Dpop.ts"

/** Properties of the resource that challenges contain. */
export interface ChallengePolicy {
  readonly dpop: Dpop.Dpop | undefined
  /** Scopes required for every request. */
  readonly scopes: ReadonlyArray<string>
  /** URL of the Protected Resource Metadata (RFC 9728), or `undefined` if there is no authorization server. */
  readonly resourceMetadata: string | undefined
  /** Whether to accept tokens in the `Authorization` header. Default: true. */
  readonly bearer?: boolean | undefined
  /** Headers whose entire value is a token. Default: none. */
  readonly apiKeys?: ReadonlyArray<string> | undefined
}

type Scheme = "Bearer" | "DPoP"

/** Lets pages from any origin read the response, which only contains public information. */
const readable = {
  "cache-control": "no-store",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "WWW-Authenticate, DPoP-Nonce, Retry-After"
}

/** Returns the `WWW-Authenticate` value for the request's scheme, or else for every scheme that the resource accepts. */
export const challenges = (
  { apiKeys = [], bearer = true, dpop, resourceMetadata }: ChallengePolicy,
  details: Pick<Challenge.Challenge, "error" | "description">,
  needed: ReadonlyArray<string>,
  scheme?: Scheme
): string => {
  const all: Array<Challenge.Challenge> = []
  const one = { ...details, scopes: needed, resourceMetadata }
  if (bearer && dpop?.required !== true && scheme !== "DPoP") all.push({ scheme: "Bearer", ...one })
  if (dpop !== undefined && (scheme !== "Bearer" || dpop.required)) {
    all.push({ scheme: "DPoP", ...one, algorithms: dpop.algorithms })
  }
  for (const header of apiKeys) all.push({ scheme: "ApiKey", ...one, header })
  // If the resource does not accept the request's scheme, names a scheme that it does accept.
  return Challenge.formatAll(all.length > 0 ? all : [{ scheme: "Bearer", ...one }])
}

/** Fails with the response. `scheme` is the rejected request's scheme, if it has one. */
export const refuse = Effect.fnUntraced(function* (
  policy: ChallengePolicy,
  status: number,
  error: Challenge.ErrorCode | undefined,
  description: string,
  { scheme }: { readonly scheme?: Scheme | undefined } = {}
): Effect.fn.Return<never, HttpServerResponse.HttpServerResponse> {
  yield* Effect.logDebug(`Rejected with ${status}: ${description}`)
  const nonce = yield* policy.dpop?.nonce ?? Effect.undefined
  const details = error === undefined ? {} : { error, description }
  return yield* Effect.fail(
    HttpServerResponse.jsonUnsafe(
      { error: error ?? "unauthorized", error_description: description },
      {
        status,
        headers: {
          ...readable,
          "www-authenticate": challenges(policy, details, policy.scopes, scheme),
          ...(nonce === undefined ? undefined : { "dpop-nonce": nonce })
        }
      }
    )
  )
})

/** The response when tokens cannot be verified. */
export const unavailable = HttpServerResponse.jsonUnsafe(
  {
    error: "temporarily_unavailable",
    error_description: "The server cannot verify tokens at the moment. Try again later"
  },
  { status: 503, headers: { ...readable, "retry-after": "5" } }
)
