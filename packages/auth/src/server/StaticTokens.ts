/**
 * Guards a server whose operator hands out tokens or API keys, without an authorization server.
 *
 * Owns the headers that may contain a token, and the token owners. Stores only each token's SHA-256 hash, and compares in constant time.
 * Requests with two tokens are rejected, because a proxy in front of the server might check one and the server the other.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Redacted from "effect/Redacted"
import { sha256Bytes } from "../shared/hash.ts"
import { named, type Satisfies } from "./Caller.ts"
import * as Credentials from "./Credentials.ts"
import { type Admitted, anonymous, type Guard, isPreflight, respond } from "./Guard.ts"
import * as Refusals from "./Refusals.ts"

/** A token's owner, and the scopes it grants. */
export interface TokenOwner {
  /** The caller's name: a user or a program. Tokens with the same subject belong to the same caller. */
  readonly subject: string
  /** Granted scopes. Default: none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Additional facts about the caller, for use in handlers. Default: none. */
  readonly claims?: { readonly [claim: string]: unknown } | undefined
}

/** A token and its owner. Pass the token itself, or its SHA-256 hash as 64 lowercase hexadecimal digits. */
export type StaticToken = TokenOwner &
  (
    | { readonly token: Redacted.Redacted<string>; readonly sha256?: undefined }
    | { readonly sha256: string; readonly token?: undefined }
  )

/** Options for a server with static tokens. */
export interface Options {
  /**
   * The tokens, or a function that looks up a token's owner by its SHA-256 hash in lowercase hexadecimal. The function returns `undefined`
   * for an unknown token. If it dies, the request receives a 500.
   */
  readonly tokens: ReadonlyArray<StaticToken> | ((hash: string) => Effect.Effect<TokenOwner | undefined>)
  /**
   * Headers that may contain a token, in lower case: `authorization` (with the Bearer scheme), or headers whose entire value is the token,
   * such as `x-api-key`. Handlers don't see these headers. Default: `authorization`.
   */
  readonly headers?: readonly [string, ...ReadonlyArray<string>] | undefined
  /** Scopes required for every request. Default: none. */
  readonly scopes?: ReadonlyArray<string> | undefined
  /** Decides whether the granted scopes satisfy a required one, for hierarchical scopes. By default, the names must be equal. */
  readonly satisfies?: Satisfies | undefined
  /**
   * Whether to admit requests without a token as anonymous. Operations that need a caller still respond with a challenge. Default false.
   */
  readonly anonymous?: boolean | undefined
}

type Find = (hash: string) => Effect.Effect<TokenOwner | undefined>

const hexHash = /^[0-9a-f]{64}$/
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

const hashOf = (token: string): Effect.Effect<string> => Effect.map(sha256Bytes(token), Hex.encode)

/** Compares two texts of the same length in constant time. */
const isEqual = (a: string, b: string): boolean => {
  let difference = 0
  for (let index = 0; index < a.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}

/** Finds a token's owner. Compares all known tokens, so that the time taken doesn't reveal which one matches. */
const among =
  (known: ReadonlyArray<readonly [hash: string, owner: TokenOwner]>): Find =>
  (hash) =>
    Effect.sync(() => {
      let found: TokenOwner | undefined
      for (const [other, owner] of known) if (isEqual(hash, other)) found = owner
      return found
    })

/** Describes what is wrong with the options, or returns `undefined` if they are valid. */
const problemOf = ({ headers, tokens }: Options): string | undefined => {
  const header = headers?.find((name) => !headerName.test(name))
  if (header !== undefined) return `\`headers\` must be header names in lower case: ${header}`
  if (typeof tokens === "function") return undefined
  if (tokens.some(({ subject }) => subject === "")) return "The subject of a token must not be empty"
  const broken = tokens.find(({ sha256, token }) =>
    token === undefined ? !hexHash.test(sha256) : !Credentials.isToken(Redacted.value(token))
  )
  if (broken === undefined) return undefined
  const subject = JSON.stringify(broken.subject)
  return `The token of ${subject} must consist of letters, digits and -._~+/, and a sha256 of 64 lowercase hexadecimal digits`
}

/** Shortest token that is hard to guess, in characters. */
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
      yield* Effect.logWarning(`The token of ${short.subject} is too short. Use at least ${shortest} characters`)
    }
    const twice = known.find(([hash], index) => known.findIndex(([other]) => other === hash) !== index)
    return twice === undefined
      ? known
      : yield* Effect.die(
          new Error(
            `The token of ${JSON.stringify(twice[1].subject)} is listed twice. Each token must have exactly one owner`
          )
        )
  })

type Read =
  | Extract<Credentials.PresentedCredentials, { readonly _tag: "None" | "Malformed" }>
  | { readonly _tag: "Found"; readonly token: string }

/** Reads a request's token from whichever header contains it. */
const read = (request: HttpServerRequest, headers: ReadonlyArray<string>): Read => {
  const given = headers.filter((name) => request.headers[name] !== undefined)
  const problem = Credentials.problemOfQuery(request)
  if (problem !== undefined) return { _tag: "Malformed", problem }
  const [header, other] = given
  if (header === undefined) return { _tag: "None" }
  if (other !== undefined) return { _tag: "Malformed", problem: `Send only one of the headers ${header} and ${other}` }
  if (header !== "authorization") {
    const token = request.headers[header] ?? ""
    return Credentials.isToken(token)
      ? { _tag: "Found", token }
      : { _tag: "Malformed", problem: `The ${header} header must contain exactly one token` }
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
    return yield* Refusals.refuse(policy, 401, undefined, `Missing token. Send the header ${ways.join(", or ")}`)
  }
  const owner = yield* Effect.flatMap(hashOf(credentials.token), policy.find)
  if (owner === undefined || owner === null) {
    return yield* Refusals.refuse(
      policy,
      401,
      "invalid_token",
      "Invalid token. Ask the server's operator for a valid one"
    )
  }
  const { claims = {}, scopes = [], subject } = owner
  // Plain JavaScript can return anything: a caller without a subject would be anonymous, and the string "admin" would include the scope "ad".
  if (typeof subject !== "string" || subject === "" || !Array.isArray(scopes)) {
    return yield* Effect.die(new Error("A token's owner needs a subject, and its scopes must be a list"))
  }
  const lacking = policy.scopes.filter((scope) => !policy.satisfies(scopes, scope))
  if (lacking.length > 0) {
    return yield* Refusals.refuse(
      policy,
      403,
      "insufficient_scope",
      `The token is missing required scopes: ${lacking.join(" ")}`
    )
  }
  // Each request needs a new principal, because challenge notes are keyed by identity.
  const principal: Principal["Service"] = { subject, scopes, claims }
  return { principal, nonce: undefined, scheme: undefined, until: undefined }
})

/** Creates the guard. Dies if the options are invalid. */
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
