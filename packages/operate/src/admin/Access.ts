/**
 * Decides which callers may view and control a server. You can admit callers on this machine that have an operator's token, users of a
 * private Unix socket, or callers with scopes from the program's own authorization.
 *
 * Rejects unknown host names (to prevent DNS rebinding), pages from other sites, and callers without the required right.
 */
import { Principal } from "@effect-mcp/core/Principal"
import { DnsRebinding } from "@effect-mcp/server/internal/origins"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import type { Headers } from "effect/http/Headers"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

/** A caller's right. `steer` includes `see`. */
export type Right = "see" | "steer"

/** Access by operator tokens, only for callers on this machine. Requests forwarded by a proxy are rejected. */
export interface TokenOptions {
  /** Token that callers send as `Authorization: Bearer` to view and interrupt. At least 16 characters: letters, digits and `-._~+/=`. */
  readonly token: Redacted.Redacted
  /** Token for callers that may only view. Default: none. */
  readonly readOnlyToken?: Redacted.Redacted | undefined
}

/**
 * Access by the program's own authorization, from anywhere. Use it for routes behind `Auth.protect`, or behind middleware that provides a
 * `Principal`.
 */
export interface ScopeOptions {
  /** Scopes required to view and to interrupt. A caller that only has `steer` may also view. */
  readonly scopes: { readonly see: string; readonly steer: string }
  /** The server's host names besides loopback, as for `McpServer.layerHttp`. Requests for other names receive a 403. Default: none. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

export type AccessOptions = TokenOptions | ScopeOptions

type Response = HttpServerResponse.HttpServerResponse

/** Matches tokens that are valid in a header and hard to guess. */
const usable = /^[\w.~+/=-]{16,1024}$/

/** Headers set by proxies. Behind a proxy on this machine, every caller would appear to be local. */
const proxied = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"]

export const respond = (
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, {
    status,
    headers: { "cache-control": "no-store", "x-content-type-options": "nosniff", ...headers }
  })

/** True if the address belongs to this machine, false if it is unknown. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address)

const hashOf = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => new Uint8Array(bytes).join()
  )

const unauthorized = respond(
  401,
  { error: "Missing or invalid admin token. Send it as a bearer token" },
  { "www-authenticate": "Bearer" }
)
const forbidden = (error: string): Response => respond(403, { error })

/** Returns the right that a token grants. Compares hashes, so that timing reveals nothing about the token. */
const byTokens = Effect.fnUntraced(function* ({ readOnlyToken, token }: TokenOptions) {
  const tokens = [token, ...(readOnlyToken === undefined ? [] : [readOnlyToken])]
  if (!tokens.every((token) => usable.test(Redacted.value(token)))) {
    return yield* Effect.die(
      new Error("An admin token must have at least 16 characters, and only letters, digits and -._~+/=")
    )
  }
  const steer = yield* hashOf(Redacted.value(token))
  const see = readOnlyToken && (yield* hashOf(Redacted.value(readOnlyToken)))
  return (given: Redacted.Redacted): Effect.Effect<Right | undefined> =>
    Effect.map(hashOf(Redacted.value(given)), (hash) => (hash === steer ? "steer" : hash === see ? "see" : undefined))
})

/** Returns a caller's right, or the response that rejects the request. */
type Decide = (headers: Headers) => Effect.Effect<Right | Response>

const bearer =
  (byToken: (given: Redacted.Redacted) => Effect.Effect<Right | undefined>): Decide =>
  (headers) => {
    const [, given] = /^Bearer (\S{1,1024})$/i.exec(headers["authorization"] ?? "") ?? []
    if (given === undefined) return Effect.succeed(unauthorized)
    return Effect.map(byToken(Redacted.make(given)), (right) => right ?? unauthorized)
  }

/** A caller has no scopes unless middleware provides a `Principal`. */
const byScopes =
  ({ see, steer }: ScopeOptions["scopes"]): Decide =>
  () =>
    Effect.map(Effect.serviceOption(Principal), (principal) => {
      const granted = Option.match(principal, {
        onNone: (): ReadonlyArray<string> => [],
        onSome: ({ scopes }) => scopes
      })
      if (granted.includes(steer)) return "steer"
      return granted.includes(see) ? "see" : forbidden(`This requires the scope ${see} or ${steer}`)
    })

/** The callers that an endpoint accepts. */
export interface Origins {
  /** Whether to accept only callers on this machine. */
  readonly isLocal: boolean
  /** True if callers connect through a Unix socket, and therefore have no address. Default false. */
  readonly isSocket?: boolean | undefined
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

/**
 * Returns the response that rejects a request before its caller is known, or `undefined` to admit it. For pages that contain no secrets.
 */
export const refusalOf = (
  { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
  { allowedHosts, isLocal, isSocket = false }: Origins
): Response | undefined => {
  if (isLocal && !isSocket && !isLoopback(Option.getOrUndefined(remoteAddress))) {
    return forbidden("The admin endpoint only accepts requests from this machine")
  }
  if (isLocal && proxied.some((name) => headers[name] !== undefined)) {
    return forbidden(
      "The admin endpoint only accepts requests from this machine, and rejects requests forwarded by a proxy"
    )
  }
  const rebound = DnsRebinding.check(headers, { allowedHosts })
  return rebound === undefined ? undefined : forbidden(rebound)
}

/** Handles a request if its caller has the right, and rejects it otherwise. */
export type Admit = <E, R>(
  wanted: Right,
  answer: (right: Right) => Effect.Effect<Response, E, R>
) => Effect.Effect<Response, E, R | HttpServerRequest.HttpServerRequest>

/** File mode bits that grant access to the group and to others. */
const ofOthers = 0o077

/** Makes startup fail if other users can open the socket, because anyone on the socket may steer. */
const checkSocket = Effect.gen(function* () {
  const { address } = yield* HttpServer
  if (address._tag !== "UnixPathAddress") {
    return yield* Effect.die(
      new Error(
        "This admin endpoint must be served on a Unix socket. Use NodeHttpServer.layer(PrivateSocket.createServer, { path })"
      )
    )
  }
  const { mode } = yield* Effect.orDie(Effect.flatMap(FileSystem, (files) => files.stat(address.path)))
  if ((mode & ofOthers) === 0) return undefined
  const given = (mode & 0o777).toString(8)
  return yield* Effect.die(
    new Error(
      `Other users can access the socket ${address.path} (mode ${given}). Create its server with PrivateSocket.createServer, which uses mode 600`
    )
  )
})

const admitting =
  (origins: Origins, decide: Decide): Admit =>
  (wanted, answer) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const right = refusalOf(request, origins) ?? (yield* decide(request.headers))
      if (typeof right !== "string") return right
      if (wanted === "steer" && right === "see") return forbidden("This caller has read-only access")
      return yield* answer(right)
    })

export const make = Effect.fnUntraced(function* (options: AccessOptions): Effect.fn.Return<Admit> {
  return "token" in options
    ? admitting({ isLocal: true }, bearer(yield* byTokens(options)))
    : admitting({ isLocal: false, allowedHosts: options.allowedHosts }, byScopes(options.scopes))
})

/** Admits every request that arrives through the listener's Unix socket. */
export const makeSocket: Effect.Effect<Admit, never, FileSystem | HttpServer> = Effect.as(
  checkSocket,
  admitting({ isLocal: true, isSocket: true }, () => Effect.succeed("steer"))
)
