/**
 * Which callers may see and steer: by tokens of the operator, on this machine alone, by a private Unix socket, or by scopes of the program's
 * own authorization.
 *
 * Refuses names that are not the server's (DNS rebinding), pages of other sites, and callers without a right.
 */
import { Principal } from "@effect-mcp/core/Principal"
import * as DnsRebinding from "@effect-mcp/server/internal/DnsRebinding"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import type { Headers } from "effect/http/Headers"
import { HttpServer } from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

/** What a caller may do: `steer` includes `see`. */
export type Right = "see" | "steer"

/** By tokens of the operator. Callers of this machine only, and nothing that a proxy has forwarded. */
export interface TokenOptions {
  /** What a caller sends as `Authorization: Bearer` to see and to interrupt. At least 16 letters, digits and `-._~+/=`. */
  readonly token: Redacted.Redacted
  /** The same for callers that may only see. Default: none. */
  readonly readOnlyToken?: Redacted.Redacted | undefined
}

/** By the program's own authorization, from anywhere: routes behind `Auth.protect`, or a middleware that provides a `Principal`. */
export interface ScopeOptions {
  /** The scopes that a caller needs to see, and to interrupt. A caller with `steer` alone may see, too. */
  readonly scopes: { readonly see: string; readonly steer: string }
  /** Names of the server beside loopback, as for `McpServer.layerHttp`. Default none; others get 403. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

export type AccessOptions = TokenOptions | ScopeOptions

type Response = HttpServerResponse.HttpServerResponse

/** What a header can carry, and no caller guesses. */
const usable = /^[\w.~+/=-]{16,1024}$/

/** Headers of proxies: behind one on this machine every caller would seem to be local. */
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

/** Whether an address is of this machine; one that is not known is not. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address)

const hashOf = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => new Uint8Array(bytes).join()
  )

const unauthorized = respond(401, { error: "Send the token of the admin endpoint" }, { "www-authenticate": "Bearer" })
const forbidden = (error: string): Response => respond(403, { error })

/** What the holder of a token may do. Hashes are compared: the time that takes says nothing of a token. */
const byTokens = Effect.fnUntraced(function* ({ readOnlyToken, token }: TokenOptions) {
  const tokens = [token, ...(readOnlyToken === undefined ? [] : [readOnlyToken])]
  if (!tokens.every((token) => usable.test(Redacted.value(token)))) {
    return yield* Effect.die(
      new Error("A token of the admin endpoint has at least 16 characters, letters, digits and -._~+/=")
    )
  }
  const steer = yield* hashOf(Redacted.value(token))
  const see = readOnlyToken && (yield* hashOf(Redacted.value(readOnlyToken)))
  return (given: Redacted.Redacted): Effect.Effect<Right | undefined> =>
    Effect.map(hashOf(Redacted.value(given)), (hash) => (hash === steer ? "steer" : hash === see ? "see" : undefined))
})

/** The right of a caller, or why it has none. */
type Decide = (headers: Headers) => Effect.Effect<Right | Response>

const bearer =
  (byToken: (given: Redacted.Redacted) => Effect.Effect<Right | undefined>): Decide =>
  (headers) => {
    const [, given] = /^Bearer (\S{1,1024})$/i.exec(headers["authorization"] ?? "") ?? []
    if (given === undefined) return Effect.succeed(unauthorized)
    return Effect.map(byToken(Redacted.make(given)), (right) => right ?? unauthorized)
  }

/** A caller whose request no middleware has given a `Principal` has no scope. */
const byScopes =
  ({ see, steer }: ScopeOptions["scopes"]): Decide =>
  () =>
    Effect.map(Effect.serviceOption(Principal), (principal) => {
      const granted = Option.match(principal, {
        onNone: (): ReadonlyArray<string> => [],
        onSome: ({ scopes }) => scopes
      })
      if (granted.includes(steer)) return "steer"
      return granted.includes(see) ? "see" : forbidden(`This needs the scope ${see} or ${steer}`)
    })

/** Where callers may come from. */
export interface Origins {
  /** This machine only. */
  readonly isLocal: boolean
  /** By a Unix socket: such callers have no address. Default false. */
  readonly isSocket?: boolean | undefined
  readonly allowedHosts?: ReadonlyArray<string> | undefined
}

/** Why a request is refused before its caller is known; undefined for one that is admitted. For pages without secrets. */
export const refusalOf = (
  { headers, remoteAddress }: HttpServerRequest.HttpServerRequest,
  { allowedHosts, isLocal, isSocket = false }: Origins
): Response | undefined => {
  if (isLocal && !isSocket && !isLoopback(Option.getOrUndefined(remoteAddress))) {
    return forbidden("The admin endpoint answers this machine only")
  }
  if (isLocal && proxied.some((name) => headers[name] !== undefined)) {
    return forbidden("The admin endpoint answers this machine only, and nothing that a proxy has forwarded")
  }
  const rebound = DnsRebinding.check(headers, { allowedHosts })
  return rebound === undefined ? undefined : forbidden(rebound)
}

/** Answers a request whose caller has the right, or refuses it. */
export type Admit = <E, R>(
  wanted: Right,
  answer: (right: Right) => Effect.Effect<Response, E, R>
) => Effect.Effect<Response, E, R | HttpServerRequest.HttpServerRequest>

/** The bits of a file's mode that are rights of its group and of others. */
const ofOthers = 0o077

/** Ends the start of a program whose socket others could open: all that comes by it may steer. */
const checkSocket = Effect.gen(function* () {
  const { address } = yield* HttpServer
  if (address._tag !== "UnixPathAddress") {
    return yield* Effect.die(
      new Error(
        "The admin endpoint of a socket is served on another listener: give it NodeHttpServer.layer(PrivateSocket.createServer, { path })"
      )
    )
  }
  const { mode } = yield* Effect.orDie(Effect.flatMap(FileSystem, (files) => files.stat(address.path)))
  if ((mode & ofOthers) === 0) return undefined
  const given = (mode & 0o777).toString(8)
  return yield* Effect.die(
    new Error(`The socket ${address.path} has the mode ${given}: its server is to be PrivateSocket.createServer (600)`)
  )
})

const admitting =
  (origins: Origins, decide: Decide): Admit =>
  (wanted, answer) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const right = refusalOf(request, origins) ?? (yield* decide(request.headers))
      if (typeof right !== "string") return right
      if (wanted === "steer" && right === "see") return forbidden("This caller may only see")
      return yield* answer(right)
    })

export const make = Effect.fnUntraced(function* (options: AccessOptions): Effect.fn.Return<Admit> {
  return "token" in options
    ? admitting({ isLocal: true }, bearer(yield* byTokens(options)))
    : admitting({ isLocal: false, allowedHosts: options.allowedHosts }, byScopes(options.scopes))
})

/** Admits what comes by the Unix socket of the listener. */
export const makeSocket: Effect.Effect<Admit, never, FileSystem | HttpServer> = Effect.as(
  checkSocket,
  admitting({ isLocal: true, isSocket: true }, () => Effect.succeed("steer"))
)
