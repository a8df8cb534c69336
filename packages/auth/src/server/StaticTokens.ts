/**
 * The guard of a server whose operator hands out tokens or API keys, without an authorization server.
 *
 * Owns where a token may be and whose it is. Keeps the SHA-256 of each token alone; a given token is compared with all of them, in a time
 * that does not depend on how they differ. A request with two credentials is refused: code before and behind it could read different ones.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Redacted from "effect/Redacted"
import { sha256Bytes } from "../shared/hash.ts"
import { named, type Satisfies } from "./Caller.ts"
import * as Credentials from "./Credentials.ts"
import { type Admitted, anonymous, type Guard, isPreflight, respond } from "./Guard.ts"
import * as Refusals from "./Refusals.ts"

/** Whose a token is, and what it grants. */
export interface TokenOwner {
  /** The name of the caller: that of a user or a program. Two tokens of one subject are the same caller. */
  readonly subject: string
  /** Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** What handlers see of it beside. Default none. */
  readonly claims?: { readonly [claim: string]: unknown } | undefined
}

/** A token, or the SHA-256 of one in hexadecimal digits, with its owner. */
export type StaticToken = TokenOwner &
  (
    | { readonly token: Redacted.Redacted<string>; readonly sha256?: undefined }
    | { readonly sha256: string; readonly token?: undefined }
  )

export interface Options {
  /**
   * The tokens, or a function that finds the owner of one by the SHA-256 of it, in lowercase hexadecimal digits: undefined for a token that
   * is not known. Where the function dies, the request is answered by 500.
   */
  readonly tokens: ReadonlyArray<StaticToken> | ((hash: string) => Effect.Effect<TokenOwner | undefined>)
  /**
   * Where a token may be, in lower case: `authorization` with the scheme Bearer, or headers that hold nothing but the token, such as
   * `x-api-key`. Handlers see none of them. Default `authorization`.
   */
  readonly headers?: readonly [string, ...ReadonlyArray<string>] | undefined
  /** Scopes that every request needs. Default none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Whether the granted scopes satisfy a needed one, for hierarchical scopes. Default: they contain its name. */
  readonly satisfies?: Satisfies | undefined
  /** Admits requests without a token as anonymous ones; what needs a caller challenges them. Default false. */
  readonly anonymous?: boolean | undefined
}

type Find = (hash: string) => Effect.Effect<TokenOwner | undefined>

const hexHash = /^[0-9a-f]{64}$/
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

const hashOf = (token: string): Effect.Effect<string> => Effect.map(sha256Bytes(token), hexOf)

/** Compares all characters of two texts of the same length. */
const isEqual = (a: string, b: string): boolean => {
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

/** The owner of a token among all that are known; each is compared, whether or not one was found. */
const among =
  (known: ReadonlyArray<readonly [hash: string, owner: TokenOwner]>): Find =>
  (hash) =>
    Effect.sync(() => {
      let found: TokenOwner | undefined
      for (const [other, owner] of known) if (isEqual(hash, other)) found = owner
      return found
    })

/** What is wrong with the options; undefined if nothing is. */
const problemOf = ({ headers, tokens }: Options): string | undefined => {
  const header = headers?.find((name) => !headerName.test(name))
  if (header !== undefined) return `headers must be names of headers in lower case: ${header}`
  if (typeof tokens === "function") return undefined
  if (tokens.some(({ subject }) => subject === "")) return "The subject of a token must not be empty"
  const broken = tokens.find(({ sha256, token }) =>
    token === undefined ? !hexHash.test(sha256) : !Credentials.isToken(Redacted.value(token))
  )
  if (broken === undefined) return undefined
  const of = `The token of ${JSON.stringify(broken.subject)}`
  return `${of} must consist of letters, digits and -._~+/, and its sha256 of 64 digits from 0 to f in lower case`
}

/** Shorter tokens can be guessed. */
const shortest = 16

const knownHashes = (tokens: ReadonlyArray<StaticToken>) =>
  Effect.gen(function* () {
    const known = yield* Effect.forEach(tokens, ({ sha256, token, ...owner }) =>
      Effect.map(
        token === undefined ? Effect.succeed(sha256) : hashOf(Redacted.value(token)),
        (hash) => [hash, owner] as const
      )
    )
    const short = tokens.find(({ token }) => token !== undefined && Redacted.value(token).length < shortest)
    if (short !== undefined) {
      yield* Effect.logWarning(`The token of ${short.subject} has fewer than ${shortest} characters: it can be guessed`)
    }
    const twice = known.find(([hash], index) => known.findIndex(([other]) => other === hash) !== index)
    return twice === undefined
      ? known
      : yield* Effect.die(new Error(`The token of ${JSON.stringify(twice[1].subject)} is that of another, too`))
  })

type Read =
  | Extract<Credentials.PresentedCredentials, { readonly _tag: "None" | "Malformed" }>
  | { readonly _tag: "Found"; readonly token: string }

/** The one token of a request, whichever header holds it. */
const read = (request: HttpServerRequest, headers: ReadonlyArray<string>): Read => {
  const given = headers.filter((name) => request.headers[name] !== undefined)
  const problem = Credentials.problemOfQuery(request)
  if (problem !== undefined) return { _tag: "Malformed", problem }
  const [header, other] = given
  if (header === undefined) return { _tag: "None" }
  if (other !== undefined) return { _tag: "Malformed", problem: `There is a token in ${header} and in ${other}` }
  if (header !== "authorization") {
    const token = request.headers[header] ?? ""
    return Credentials.isToken(token)
      ? { _tag: "Found", token }
      : { _tag: "Malformed", problem: `The header ${header} does not hold one token` }
  }
  const credentials = Credentials.parse(request)
  if (credentials._tag !== "Token") return credentials
  return credentials.scheme === "Bearer"
    ? { _tag: "Found", token: Redacted.value(credentials.token) }
    : { _tag: "Malformed", problem: "The scheme must be Bearer" }
}

interface Policy extends Refusals.ChallengePolicy {
  readonly find: Find
  readonly headers: ReadonlyArray<string>
  readonly satisfies: Satisfies
  readonly anonymous: boolean
}

const admit = Effect.fnUntraced(function* (
  policy: Policy,
  request: HttpServerRequest
): Effect.fn.Return<Admitted, HttpServerResponse> {
  if (isPreflight(request)) return anonymous()
  const credentials = read(request, policy.headers)
  if (credentials._tag === "Malformed")
    return yield* Refusals.refuse(policy, 400, "invalid_request", credentials.problem)
  if (credentials._tag === "None") {
    if (policy.anonymous) return anonymous()
    const ways = policy.headers.map((name) =>
      name === "authorization" ? "Authorization: Bearer TOKEN" : `${name}: TOKEN`
    )
    return yield* Refusals.refuse(policy, 401, undefined, `A token is needed: ${ways.join(", or ")}`)
  }
  const owner = yield* Effect.flatMap(hashOf(credentials.token), policy.find)
  if (owner === undefined || owner === null) {
    return yield* Refusals.refuse(policy, 401, "invalid_token", "The token is not known: get one from the operator")
  }
  const { claims = {}, scopes = [], subject } = owner
  // Plain JavaScript can return anything: a caller without a name would be anonymous, and the text "admin" would contain the scope "ad".
  if (typeof subject !== "string" || subject === "" || !Array.isArray(scopes)) {
    return yield* Effect.die(new Error("The owner of a token needs a subject, and its scopes must be a list"))
  }
  const lacking = policy.scopes.filter((scope) => !policy.satisfies(scopes, scope))
  if (lacking.length > 0) {
    return yield* Refusals.refuse(policy, 403, "insufficient_scope", `The token lacks: ${lacking.join(" ")}`)
  }
  // A new one for each request: notes of challenges are kept by its identity.
  const principal: Principal["Service"] = { subject, scopes, claims }
  return { principal, nonce: undefined, scheme: undefined, until: undefined }
})

/** The guard; dies on options that contradict themselves. */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Guard["Service"]> {
  const problem = problemOf(options)
  if (problem !== undefined) return yield* Effect.die(new Error(problem))
  const { headers = ["authorization"], satisfies = named, scopes = [], tokens } = options
  const policy: Policy = {
    dpop: undefined,
    resourceMetadata: undefined,
    apiKeys: headers.filter((name) => name !== "authorization"),
    bearer: headers.includes("authorization"),
    find: typeof tokens === "function" ? tokens : among(yield* knownHashes(tokens)),
    headers,
    satisfies,
    scopes,
    anonymous: options.anonymous === true
  }
  return {
    options: undefined,
    dpop: undefined,
    headers,
    admit: (request) => admit(policy, request),
    respond: (admitted, response) => respond(policy, admitted, response)
  }
})
