/** Checks proofs of possession at the test server's token endpoint (RFC 9449 sections 4.3, 5 and 8). */
import * as Effect from "effect/Effect"
import * as Jose from "jose"
import { invalidRequest, OAuthRefusal } from "./OAuthError.ts"
import { now, type AuthorizationState } from "./State.ts"

export const algorithms = ["ES256", "RS256", "PS256", "EdDSA", "Ed25519"]

const wrong = (description: string) => new OAuthRefusal({ error: "invalid_dpop_proof", description })

/** Returns the thumbprint of the proven key, or `undefined` if there is no proof and none is required. */
export const check = Effect.fnUntraced(function* (
  state: AuthorizationState,
  headers: { readonly [name: string]: string | undefined },
  url: string
): Effect.fn.Return<string | undefined, OAuthRefusal> {
  const proof = headers.dpop
  if (state.options.dpop === "off") return undefined
  if (proof === undefined) {
    return state.options.dpop === "required" ? yield* invalidRequest("A DPoP proof is needed") : undefined
  }
  const time = yield* now
  const verified = yield* Effect.tryPromise({
    try: () =>
      Jose.jwtVerify(proof, Jose.EmbeddedJWK, { typ: "dpop+jwt", algorithms, currentDate: new Date(time * 1000) }),
    catch: () => wrong("The proof does not verify")
  })
  const { payload, protectedHeader } = verified
  const { iat, jti } = payload
  if (payload.htm !== "POST" || payload.htu !== url) return yield* wrong("The proof is of another request")
  if (typeof iat !== "number" || Math.abs(iat - time) > 60) return yield* wrong("iat is not now")
  const nonce = state.script.dpopNonce
  if (nonce !== undefined && payload.nonce !== nonce) {
    return yield* new OAuthRefusal({
      error: "use_dpop_nonce",
      description: "The proof must have the nonce of this server",
      headers: { "dpop-nonce": nonce }
    })
  }
  if (typeof jti !== "string" || state.seen.has(jti)) return yield* wrong("jti is missing or was used before")
  state.seen.add(jti)
  const { jwk } = protectedHeader
  if (jwk === undefined) return yield* wrong("The proof has no key")
  return yield* Effect.promise(() => Jose.calculateJwkThumbprint(jwk))
})
