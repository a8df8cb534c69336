/**
 * Verifies proofs of possession (DPoP, RFC 9449). A request with a key-bound token must carry a proof signed with that key.
 *
 * Owns the checks from section 4.3, the memory of used proofs, and the nonces from section 9. `client/Dpop` creates proofs.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449 OAuth 2.0 Demonstrating Proof of Possession
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Jose from "jose"
import { randomUnsafe, sha256 } from "../shared/hash.ts"
import { defaultAlgorithms, type Algorithm } from "./JwtVerifier.ts"
import { shown } from "./TokenVerifier.ts"

/** Options for proofs of possession. */
export interface Options {
  /** Whether to reject tokens that are not bound to a key. Default false. */
  readonly required?: boolean | undefined
  /** Accepted signature algorithms. Default: all asymmetric algorithms. */
  readonly algorithms?: ReadonlyArray<Algorithm> | undefined
  /** Maximum age of a proof. Default: 60 seconds. */
  readonly maxAge?: Duration.Input | undefined
  /** Lifetime of the nonces that proofs must contain (RFC 9449 section 9). Default: no nonces. */
  readonly nonces?: Duration.Input | undefined
}

/** A rejected proof. `error` is the error code for the challenge. */
export class InvalidProof extends Data.TaggedError("InvalidProof")<{
  readonly error: "invalid_dpop_proof" | "use_dpop_nonce"
  readonly message: string
}> {}

/**
 * Remembers used proofs, to prevent replays. `seen` remembers `key` for `seconds`, and returns true if it had already been seen.
 *
 * By default, keeps 100 000 proofs in this process's memory. If several processes serve the same resource, they need a shared store.
 */
export const ProofMemory = Context.Reference<{
  readonly seen: (key: string, seconds: number) => Effect.Effect<boolean>
}>("@effect-mcp/auth/ProofMemory", { defaultValue: () => makeMemory(100_000) })

const makeMemory = (capacity: number) => {
  // Sorted by expiry: all proofs are kept for the same time.
  const proofs = new Map<string, number>()
  return {
    seen: (key: string, seconds: number): Effect.Effect<boolean> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const [old, end] of proofs) {
          if (end > now && proofs.size <= capacity) break
          proofs.delete(old)
        }
        if (proofs.has(key)) return true
        proofs.set(key, now + seconds * 1000)
        return false
      })
  }
}

/** A proof, and the request and token that it has to match. */
export interface ProofRequirements {
  readonly proof: string
  readonly token: Redacted.Redacted<string>
  /** Thumbprint of the token's key (`cnf.jkt`). */
  readonly thumbprint: string
  readonly method: string
  /** URLs that clients may use for the endpoint, without query and fragment. */
  readonly urls: ReadonlyArray<string>
}

/** Proof checks for one resource, created by `make`. */
export interface Dpop {
  readonly required: boolean
  readonly algorithms: ReadonlyArray<string>
  /** Nonce for the next proof, or `undefined` if nonces are not used. */
  readonly nonce: Effect.Effect<string | undefined>
  /** Checks a proof and returns its nonce, which shows whether the client has the latest one. */
  readonly check: (asked: ProofRequirements) => Effect.Effect<unknown, InvalidProof>
}

const invalid = (message: string) => new InvalidProof({ error: "invalid_dpop_proof", message })

const normalized = (url: unknown): string | undefined => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** Returns the current and the previous nonce. */
const makeNonces = (lifetime: number) => {
  let current: string | undefined
  let previous: string | undefined
  let made = -Infinity
  return Effect.map(Clock.currentTimeMillis, (now) => {
    if (current === undefined || now >= made + lifetime) {
      // The previous nonce is accepted for one more lifetime only.
      previous = now < made + 2 * lifetime ? current : undefined
      current = randomUnsafe()
      made = now
    }
    return { current, previous }
  })
}

/** Creates the proof checks for a resource. `skew` is the maximum clock difference, in seconds. */
export const make = (options: Options, skew: number): Dpop => {
  const algorithms = options.algorithms ?? defaultAlgorithms
  const maxAge = Duration.toSeconds(options.maxAge ?? "60 seconds")
  const nonces = options.nonces === undefined ? undefined : makeNonces(Duration.toMillis(options.nonces))

  const checkNonce = (nonce: unknown): Effect.Effect<void, InvalidProof> =>
    nonces === undefined
      ? Effect.void
      : Effect.flatMap(nonces, ({ current, previous }) =>
          nonce !== undefined && (nonce === current || nonce === previous)
            ? Effect.void
            : Effect.fail(
                new InvalidProof({
                  error: "use_dpop_nonce",
                  message: "The proof must contain the nonce from the DPoP-Nonce header."
                })
              )
        )

  const check: Dpop["check"] = Effect.fnUntraced(function* ({ method, proof, thumbprint, token, urls }) {
    const unsigned = () =>
      invalid(`The proof must be a JWT signed with ${algorithms.join(" or ")} by the key in its header.`)
    const { jwk, typ } = yield* Effect.try({ try: () => Jose.decodeProtectedHeader(proof), catch: unsigned })
    if (typ !== "dpop+jwt") return yield* invalid(`The proof's type must be dpop+jwt, not ${shown(typ)}.`)
    if (jwk === undefined || "d" in jwk || "k" in jwk)
      return yield* invalid("The header of the proof must contain a public key, without the private key.")
    // Checked before the signature, because the key in the proof decides how much a verification costs.
    const made = yield* Effect.tryPromise({ try: () => Jose.calculateJwkThumbprint(jwk), catch: unsigned })
    if (made !== thumbprint) return yield* invalid("The token is bound to a different key.")
    const { payload } = yield* Effect.tryPromise({
      // Times are checked below.
      try: () => Jose.compactVerify(proof, Jose.EmbeddedJWK, { algorithms: [...algorithms] }),
      catch: unsigned
    })
    const claims = yield* Effect.try({
      try: (): unknown => JSON.parse(new TextDecoder().decode(payload)),
      catch: () => invalid("The proof's claims are not valid JSON.")
    })
    const { ath, htm, htu, iat, jti, nonce } = fields(claims)
    if (htm !== method) return yield* invalid(`The proof is for ${shown(htm)}, not ${method}.`)
    const url = normalized(htu)
    if (url === undefined || !urls.some((own) => normalized(own) === url)) {
      return yield* invalid(`The proof is for ${shown(htu)}, not ${urls.join(" or ")}.`)
    }
    yield* checkNonce(nonce)
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    if (typeof iat !== "number" || iat > now + skew || iat < now - maxAge - skew) {
      return yield* invalid(
        `The proof was created at ${shown(iat)}, which is more than ${maxAge} seconds from the current time, ${now}.`
      )
    }
    if (ath !== (yield* sha256(Redacted.value(token)))) return yield* invalid("The proof is for a different token.")
    if (typeof jti !== "string" || jti === "" || jti.length > 256)
      return yield* invalid("The proof needs a `jti` of 1 to 256 characters.")
    const { seen } = yield* ProofMemory
    // Untyped programs can return anything: only false accepts the proof.
    if (yield* seen(`${made} ${jti}`, maxAge + 2 * skew)) return yield* invalid("The proof has already been used.")
    return nonce
  })
  return {
    required: options.required === true,
    algorithms,
    nonce: nonces === undefined ? Effect.undefined : Effect.map(nonces, ({ current }) => current),
    check
  }
}

const fields = (claims: unknown): { readonly [name: string]: unknown } =>
  typeof claims === "object" && claims !== null ? { ...claims } : {}
