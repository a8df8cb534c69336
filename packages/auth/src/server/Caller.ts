/**
 * The authenticated caller of a handler, and the scopes that the handler requires.
 *
 * Owns the `Auth` service, which lets the compiler check authentication: code that uses the caller requires `Auth`, and only a layer that
 * authenticates provides it. A request without a caller fails before the handler does anything, and its HTTP response becomes a challenge.
 * With HTTP+SSE, or once a stream has started, the client receives an error that lists the missing scopes instead.
 */
import { checkedBoolean } from "@effect-mcp/core/internal/calling"
import * as Principal from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { Forbidden, McpError, Unauthorized } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChallengeNotes from "./ChallengeNotes.ts"

/** Error code for an unauthenticated request (-31401). */
export { Unauthorized } from "@effect-mcp/protocol/McpError"
/** Error code for a request whose caller lacks scopes (-31403). `data.scope` lists all scopes that the request needs. */
export const InsufficientScope = Forbidden

/** Returns true if the granted scopes include or imply the needed one. */
export type Satisfies = (granted: ReadonlyArray<string>, needed: string) => boolean

/**
 * How a server identifies callers, and which scopes it requires for every request. Provided by `Auth.layer` and the other layers in this
 * module.
 */
export class Auth extends Context.Service<
  Auth,
  {
    /** The caller to use for requests without a principal. Over stdio, it is the user who started the process. */
    readonly local: Principal.Principal["Service"] | undefined
    readonly satisfies: Satisfies
    /** Scopes required for every request, in addition to the handler's own. */
    readonly scopes: ReadonlyArray<string>
  }
>()("@effect-mcp/auth/Auth") {}

/** An authenticated principal, which always has a subject. */
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

/** True if the principal is a caller with all of these scopes. */
export const admits =
  ({ local, satisfies, scopes: always }: Auth["Service"], scopes: ReadonlyArray<string>) =>
  (principal: Principal.Principal["Service"]): boolean => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) return false
    return [...always, ...scopes].every((scope) => checkedBoolean("satisfies", satisfies(caller.scopes, scope)))
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
      return lack({ authentication: true, scopes: needed }, "Authentication required", Unauthorized)
    }
    const lacking = needed.filter((scope) => !checkedBoolean("satisfies", satisfies(caller.scopes, scope)))
    if (lacking.length === 0) return Effect.succeed(caller)
    const message = `The token is missing required scopes: ${lacking.join(" ")}`
    return lack({ authentication: false, scopes: needed }, message, InsufficientScope)
  })
}

/**
 * Returns the caller if it has all of these scopes as well as the scopes required for every request. Otherwise fails with `Unauthorized`
 * (-31401) or `InsufficientScope` (-31403). Over HTTP, these become a 401 or 403 with a challenge that lists all required scopes.
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

/** The current request's caller. Fails with `Unauthorized` or `InsufficientScope` if the request is unauthenticated or lacks scopes. */
export const caller: Effect.Effect<Caller, McpError, Services> = demand()

/** Requires a granted scope with exactly the same name. */
export const named: Satisfies = (granted, needed) => granted.includes(needed)

/** Provides `Auth` for stdio servers and tests. For requests without a principal, the caller is `local`. */
export const layerLocal = (
  local: {
    readonly subject: string
    readonly scopes?: ReadonlyArray<string>
    readonly claims?: { readonly [claim: string]: unknown }
  },
  satisfies: Satisfies = named
): Layer.Layer<Auth> => Layer.succeed(Auth, { local: { scopes: [], claims: {}, ...local }, satisfies, scopes: [] })
