/**
 * The responses of a guard that refuses: 400, 401, 403 with challenges, and 503.
 *
 * Owns which challenges a response carries: one per scheme that the resource takes. Refuses to decide which request is refused.
 */
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Challenge from "./Challenge.ts"
import type * as Dpop from "./Dpop.ts"

/** What challenges say of the resource. */
export interface ChallengePolicy {
  readonly dpop: Dpop.Dpop | undefined
  /** Scopes that every request needs. */
  readonly scopes: ReadonlyArray<string>
  /** The URL of the Protected Resource Metadata (RFC 9728); undefined where there is no authorization server. */
  readonly resourceMetadata: string | undefined
  /** Whether a token is taken from `Authorization`. Default true. */
  readonly bearer?: boolean | undefined
  /** Headers that hold nothing but a token. Default none. */
  readonly apiKeys?: ReadonlyArray<string> | undefined
}

type Scheme = "Bearer" | "DPoP"

/** A refusal holds nothing that is not public, so pages of every origin may read it. */
const readable = {
  "cache-control": "no-store",
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "WWW-Authenticate, DPoP-Nonce, Retry-After"
}

/** The value of `WWW-Authenticate`, with the scheme of the request or all that the resource takes. */
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
  // A request of a scheme that the resource does not take gets the challenge of the other one.
  return Challenge.formatAll(all.length > 0 ? all : [{ scheme: "Bearer", ...one }])
}

/** Fails with the response; `scheme` is that of the refused request, if it had one. */
export const refuse = Effect.fnUntraced(function* (
  policy: ChallengePolicy,
  status: number,
  error: Challenge.ErrorCode | undefined,
  description: string,
  { scheme }: { readonly scheme?: Scheme | undefined } = {}
): Effect.fn.Return<never, HttpServerResponse.HttpServerResponse> {
  yield* Effect.logDebug(`Refused with ${status}: ${description}`)
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

/** The response while tokens cannot be verified. */
export const unavailable = HttpServerResponse.jsonUnsafe(
  { error: "temporarily_unavailable", error_description: "The token cannot be verified now" },
  { status: 503, headers: { ...readable, "retry-after": "5" } }
)
