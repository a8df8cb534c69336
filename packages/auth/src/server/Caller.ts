/**
 * The authenticated caller of a handler, and the scopes that the handler requires.
 *
 * Owns the `Auth` service, which lets the compiler check authentication: code that uses the caller requires `Auth`, and only a layer that
 * authenticates provides it. A request without a caller fails before the handler does anything, and its HTTP response becomes a challenge.
 * Over HTTP with SSE, and after a stream has started, the client gets an error that names the missing scopes instead.
 */
import * as Principal from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { Forbidden, McpError, Unauthorized } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChallengeNotes from "./ChallengeNotes.ts"

/** Error code of a request without authentication (-31401). */
export { Unauthorized } from "@effect-mcp/protocol/McpError"
/** Error code of a request whose caller lacks scopes (-31403). `data.scope` lists all scopes that the request needs. */
export const InsufficientScope = Forbidden

/** Returns true if the granted scopes satisfy the needed one. */
export type Satisfies = (granted: ReadonlyArray<string>, needed: string) => boolean

/** How a server recognizes callers, and which scopes every request needs. Provided by `Auth.layer` and the other layers of this module. */
export class Auth extends Context.Service<
  Auth,
  {
    /** Caller of requests without a principal. Over stdio, this is the user who started the process. */
    readonly local: Principal.Principal["Service"] | undefined
    readonly satisfies: Satisfies
    /** Scopes that every request needs, in addition to the handler's. */
    readonly scopes: ReadonlyArray<string>
  }
>()("@effect-mcp/auth/Auth") {}

/** An authenticated principal: one with a subject. */
export type Caller = Principal.Principal["Service"] & { readonly subject: string }

const isCaller = (principal: Principal.Principal["Service"]): principal is Caller => principal.subject !== undefined

type Services = Auth | Principal.Principal | RequestContext

/** Fails with the error, and notes what is missing so that the HTTP response becomes a challenge. */
const lack = (
  need: ChallengeNotes.Need,
  message: string,
  code: number
): Effect.Effect<never, McpError, RequestContext | Principal.Principal> =>
  Effect.gen(function* () {
    const { envelope } = yield* RequestContext
    ChallengeNotes.note(envelope.principal ?? (yield* Principal.Principal), need)
    const data = need.scopes.length === 0 ? undefined : { data: { scope: need.scopes.join(" ") } }
    return yield* Effect.fail(new McpError({ code, message, ...data }))
  })

/** Returns true if the principal is a caller with all of these scopes. */
export const admits =
  ({ local, satisfies, scopes: always }: Auth["Service"], scopes: ReadonlyArray<string>) =>
  (principal: Principal.Principal["Service"]): boolean => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) return false
    return [...always, ...scopes].every((scope) => satisfies(caller.scopes, scope))
  }

/** Returns the caller if it has all of these scopes. */
export const admitted = (
  { local, satisfies, scopes: always }: Auth["Service"],
  scopes: ReadonlyArray<string>
): Effect.Effect<Caller, McpError, Principal.Principal | RequestContext> => {
  const needed = [...new Set([...always, ...scopes])]
  return Effect.flatMap(Principal.Principal, (principal) => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) {
      return lack({ authentication: true, scopes: needed }, "The caller must authenticate", Unauthorized)
    }
    const lacking = needed.filter((scope) => !satisfies(caller.scopes, scope))
    if (lacking.length === 0) return Effect.succeed(caller)
    const message = `The token lacks: ${lacking.join(" ")}`
    return lack({ authentication: false, scopes: needed }, message, InsufficientScope)
  })
}

/**
 * Returns the caller if it has all of these scopes, and the scopes that every request needs. Otherwise fails with `Unauthorized` (-31401) or
 * `InsufficientScope` (-31403); over HTTP they become 401 and 403 with a challenge that names all needed scopes.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * const Delete = Tool.make("delete", { description: "Deletes a file", input: { path: Schema.String } })
 *
 * export const layer = Tools.layer(Delete, ({ path }) =>
 *   Effect.map(Auth.demand("files:write"), ({ subject }) => `${subject} deleted ${path}`)
 * )
 * ```
 */
export const demand = (...scopes: ReadonlyArray<string>): Effect.Effect<Caller, McpError, Services> =>
  Effect.flatMap(Auth, (auth) => admitted(auth, scopes))

/** The caller of the current request. Fails with `Unauthorized` or `InsufficientScope` if the request lacks authentication or scopes. */
export const caller: Effect.Effect<Caller, McpError, Services> = demand()

/** Requires a granted scope with exactly the needed name. */
export const named: Satisfies = (granted, needed) => granted.includes(needed)

/** Provides `Auth` for stdio servers and tests. The caller of a request without a principal is `local`. */
export const layerLocal = (
  local: {
    readonly subject: string
    readonly scopes?: ReadonlyArray<string>
    readonly claims?: { readonly [claim: string]: unknown }
  },
  satisfies: Satisfies = named
): Layer.Layer<Auth> => Layer.succeed(Auth, { local: { scopes: [], claims: {}, ...local }, satisfies, scopes: [] })
