/**
 * The admin endpoint of a server: what runs in it, and the end of what hangs. There is none unless a program adds it.
 *
 * Refuses what does not come from this machine, names that are not loopback (DNS rebinding), and callers without the token. It shows no
 * argument, and no id that admits its holder to a session.
 */
import * as DnsRebinding from "@effect-mcp/server/internal/DnsRebinding"
import { McpServer } from "@effect-mcp/server/McpServer"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { Audit } from "../audit/Audit.ts"
import { take } from "./Snapshot.ts"

export { type RequestRow, type SessionRow, Snapshot, take } from "./Snapshot.ts"

export interface Options {
  /** What a caller sends as `Authorization: Bearer` to see and to interrupt. At least 16 letters, digits and `-._~+/=`. */
  readonly token: Redacted.Redacted
  /** The same for callers that may only see. Default: none. */
  readonly readOnlyToken?: Redacted.Redacted | undefined
  /** The path below which its routes are. Default `/admin`. */
  readonly path?: `/${string}` | undefined
}

/** What `POST {path}/interrupt` is sent. */
export const Interrupt = Schema.Struct({
  key: Schema.String.check(Schema.isMaxLength(32)),
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
})

/** What a header can carry, and no caller guesses. */
const usable = /^[\w.~+/=-]{16,1024}$/

type Right = "see" | "steer"
type Response = HttpServerResponse.HttpServerResponse

const respond = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response =>
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

/** What the holder of a token may do. Hashes are compared: the time that takes says nothing of a token. */
const rightsOf = Effect.fnUntraced(function* ({ readOnlyToken, token }: Options) {
  const tokens = [token, ...(readOnlyToken === undefined ? [] : [readOnlyToken])]
  if (!tokens.every((token) => usable.test(Redacted.value(token)))) {
    return yield* Effect.die(
      new Error("A token of the admin endpoint has at least 16 characters, letters, digits and -._~+/=")
    )
  }
  const steer = yield* hashOf(Redacted.value(token))
  const see = readOnlyToken && (yield* hashOf(Redacted.value(readOnlyToken)))
  return (authorization: string | undefined): Effect.Effect<Right | undefined> => {
    const [, given] = /^Bearer (\S{1,1024})$/i.exec(authorization ?? "") ?? []
    if (given === undefined) return Effect.undefined
    return Effect.map(hashOf(given), (hash) => (hash === steer ? "steer" : hash === see ? "see" : undefined))
  }
})

const unauthorized = respond(401, { error: "Send the token of the admin endpoint" }, { "www-authenticate": "Bearer" })
const forbidden = (error: string): Response => respond(403, { error })

/** Headers of proxies: behind one on this machine every caller would seem to be local. */
const proxied = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"]

/** Answers a request with that right, or refuses it. */
const admitted = <E, R>(
  rights: (authorization: string | undefined) => Effect.Effect<Right | undefined>,
  wanted: Right,
  answer: Effect.Effect<Response, E, R>
) =>
  Effect.gen(function* () {
    const { headers, remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    if (!isLoopback(Option.getOrUndefined(remoteAddress))) {
      return forbidden("The admin endpoint answers this machine only")
    }
    if (proxied.some((name) => headers[name] !== undefined)) {
      return forbidden("The admin endpoint answers this machine only, and nothing that a proxy has forwarded")
    }
    const rebound = DnsRebinding.check(headers, {})
    if (rebound !== undefined) return forbidden(rebound)
    const right = yield* rights(headers["authorization"])
    if (right === undefined) return unauthorized
    return wanted === "steer" && right === "see" ? forbidden("This token may only see") : yield* answer
  })

/** The largest body that is read, in bytes. */
const largest = 4096

const interrupt = Effect.gen(function* () {
  const { requests } = yield* McpServer
  const { key, reason } = yield* Effect.provideService(
    HttpServerRequest.schemaBodyJson(Interrupt),
    MaxBodySize,
    ByteSize.bytes(largest)
  )
  const interrupted = yield* requests.interrupt(key, reason)
  yield* Effect.logInfo(`An operator interrupted ${JSON.stringify(key)}: ${JSON.stringify(reason)}`)
  const audit = yield* Effect.serviceOption(Audit)
  if (Option.isSome(audit)) {
    const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    yield* audit.value.record({
      event: "admin.interrupt",
      actor: { address: Option.getOrUndefined(remoteAddress), transport: "http" },
      target: key,
      outcome: interrupted ? "answered" : "failed",
      details: { reason }
    })
  }
  return respond(200, { interrupted })
}).pipe(
  Effect.catchTag(["SchemaError", "HttpServerError"], () =>
    Effect.succeed(respond(400, { error: "Send { key, reason } as JSON: a key of the view, and 1 to 200 characters" }))
  )
)

/**
 * Adds the routes `GET {path}/requests` (a `Snapshot`) and `POST {path}/interrupt` to the router, for `effect-mcp top`. Where the layer is
 * given an `Audit`, each interrupt is an entry of it (`admin.interrupt`). Mount it on a listener
 * of its own, on loopback. What a proxy has forwarded is refused, for behind it every caller would seem to be local.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { Admin } from "@effect-mcp/operate"
 * import { McpServer } from "@effect-mcp/server"
 * import { Config, Effect, Layer } from "effect"
 * import { HttpRouter } from "effect/http"
 * import { createServer } from "node:http"
 *
 * const routes = Layer.unwrap(Effect.map(Config.Redacted("ADMIN_TOKEN"), (token) => Admin.layer({ token })))
 *
 * export const admin = HttpRouter.serve(routes).pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 9464, host: "127.0.0.1" }))
 * )
 *
 * // Beside the server, over stdio or HTTP.
 * export const withAdmin = (server: Layer.Layer<McpServer.McpServer>) => Layer.provideMerge(admin, server)
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const { path = "/admin" } = options
      const server = yield* McpServer
      const rights = yield* rightsOf(options)
      const snapshot = Effect.map(take, (snapshot) => respond(200, snapshot))
      const see = Effect.provideService(snapshot, McpServer, server)
      // The handlers of a route have only what they are provided.
      const audit = yield* Effect.serviceOption(Audit)
      const steering = Effect.provideService(interrupt, McpServer, server)
      const steer = Option.isSome(audit) ? Effect.provideService(steering, Audit, audit.value) : steering
      yield* router.add("GET", `${path}/requests`, admitted(rights, "see", see))
      yield* router.add("POST", `${path}/interrupt`, admitted(rights, "steer", steer))
    })
  )
