/**
 * Checks of proofs of possession (RFC 9449): a token bound to a key needs a proof by that key, made for this request.
 *
 * Owns the checks of section 4.3, the memory of proofs that were seen, and the nonces of section 9. `client/Dpop` makes the proofs.
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

/** Which proofs are required and accepted. */
export interface Options {
  /** Whether tokens that are not bound to a key are refused. Default false: both kinds are accepted. */
  readonly required?: boolean | undefined
  /** Accepted signature algorithms of proofs. Default all asymmetric ones. */
  readonly algorithms?: ReadonlyArray<Algorithm> | undefined
  /** The greatest age of a proof. Default 60 seconds. */
  readonly maxAge?: Duration.Input | undefined
  /** How often the nonce changes that proofs must hold (RFC 9449 section 9). Default: no nonces. */
  readonly nonces?: Duration.Input | undefined
}

/** The proof is refused; `error` is the code in the challenge. */
export class InvalidProof extends Data.TaggedError("InvalidProof")<{
  readonly error: "invalid_dpop_proof" | "use_dpop_nonce"
  readonly message: string
}> {}

/**
 * The memory of proofs: `seen` says whether `key` was seen before, and keeps it for `seconds`. Default: 100 000 proofs in this process.
 * Processes that serve one resource together need a memory that they share.
 */
export const ProofMemory = Context.Reference<{
  readonly seen: (key: string, seconds: number) => Effect.Effect<boolean>
}>("@effect-mcp/auth/ProofMemory", { defaultValue: () => makeMemory(100_000) })

const makeMemory = (capacity: number) => {
  // In the order of their expiry, since all are kept equally long.
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

/** The request and the token that a proof must be made for. */
export interface ProofRequirements {
  readonly proof: string
  readonly token: Redacted.Redacted<string>
  /** `cnf.jkt` of the token. */
  readonly thumbprint: string
  readonly method: string
  /** The URLs of the endpoint as the client may know them, without query and fragment. */
  readonly urls: ReadonlyArray<string>
}

export interface Dpop {
  readonly required: boolean
  readonly algorithms: ReadonlyArray<string>
  /** The nonce for the next proof; undefined where nonces are not used. */
  readonly nonce: Effect.Effect<string | undefined>
  /** Gives the nonce of the proof, which tells whether the client knows the newest. */
  readonly check: (asked: ProofRequirements) => Effect.Effect<unknown, InvalidProof>
}

const invalid = (message: string) => new InvalidProof({ error: "invalid_dpop_proof", message })

const normalized = (url: unknown): string | undefined => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

/** The current nonce and the one before. */
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

/** Checks proofs of possession (RFC 9449); `skew` is how far clocks may differ, in seconds. */
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
                new InvalidProof({ error: "use_dpop_nonce", message: "The proof needs the nonce given here." })
              )
        )

  const check: Dpop["check"] = Effect.fnUntraced(function* ({ method, proof, thumbprint, token, urls }) {
    const unsigned = () =>
      invalid(`The proof must be a JWT signed with ${algorithms.join(" or ")} by the key in its header.`)
    const { jwk, typ } = yield* Effect.try({ try: () => Jose.decodeProtectedHeader(proof), catch: unsigned })
    if (typ !== "dpop+jwt") return yield* invalid(`The proof's type must be dpop+jwt, not ${shown(typ)}.`)
    if (jwk === undefined || "d" in jwk || "k" in jwk)
      return yield* invalid("The proof must hold a public key, and only that.")
    // Before the signature, whose cost depends on the key in the proof.
    const made = yield* Effect.tryPromise({ try: () => Jose.calculateJwkThumbprint(jwk), catch: unsigned })
    if (made !== thumbprint) return yield* invalid("The token is bound to another key.")
    const { payload } = yield* Effect.tryPromise({
      // Times are checked below.
      try: () => Jose.compactVerify(proof, Jose.EmbeddedJWK, { algorithms: [...algorithms] }),
      catch: unsigned
    })
    const claims = yield* Effect.try({
      try: (): unknown => JSON.parse(new TextDecoder().decode(payload)),
      catch: () => invalid("The proof's claims are not JSON.")
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
      return yield* invalid(`The proof was made at ${shown(iat)}; it is ${now}, and it lasts ${maxAge} seconds.`)
    }
    if (ath !== (yield* sha256(Redacted.value(token)))) return yield* invalid("The proof is for another token.")
    if (typeof jti !== "string" || jti === "" || jti.length > 256) return yield* invalid("The proof needs a jti.")
    const { seen } = yield* ProofMemory
    // Anything but false of a program without types refuses the proof.
    if (yield* seen(`${made} ${jti}`, maxAge + 2 * skew)) return yield* invalid("The proof was used before.")
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
