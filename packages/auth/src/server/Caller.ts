/**
 * The authenticated caller of a handler, with the scopes that the handler demands.
 *
 * Owns the service `Auth`, by which this is a matter of types: code that uses the caller requires `Auth`, and only a layer that authenticates
 * provides it. A request without it fails before it has an effect, and its HTTP response becomes a challenge. Over HTTP with SSE,
 * and on a stream that has begun, the error names what is needed instead.
 */
import * as Principal from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { Forbidden, McpError, Unauthorized } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChallengeNotes from "./ChallengeNotes.ts"

/** Code of the error for missing authentication. */
export { Unauthorized } from "@effect-mcp/protocol/McpError"
/** Code of the error for missing scopes; `data.scope` names all that are needed. */
export const InsufficientScope = Forbidden

/** Whether the granted scopes satisfy one that is needed. */
export type Satisfies = (granted: ReadonlyArray<string>, needed: string) => boolean

/** How callers are recognized, and which scopes every request needs. `Auth.layer` and `layerLocal` provide it. */
export class Auth extends Context.Service<
  Auth,
  {
    /** The caller of requests without a principal, as over stdio, where the user started the process. */
    readonly local: Principal.Principal["Service"] | undefined
    readonly satisfies: Satisfies
    /** Scopes that every request needs. */
    readonly scopes: ReadonlyArray<string>
  }
>()("@effect-mcp/auth/Auth") {}

/** A principal with a subject. */
export type Caller = Principal.Principal["Service"] & { readonly subject: string }

const isCaller = (principal: Principal.Principal["Service"]): principal is Caller => principal.subject !== undefined

type Services = Auth | Principal.Principal | RequestContext

/** Fails with the error, and notes the need so that the HTTP response becomes a challenge. */
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

/** Whether a principal is a caller with all of the scopes. */
export const admits =
  ({ local, satisfies, scopes: always }: Auth["Service"], scopes: ReadonlyArray<string>) =>
  (principal: Principal.Principal["Service"]): boolean => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) return false
    return [...always, ...scopes].every((scope) => satisfies(caller.scopes, scope))
  }

/** The caller, with all of the scopes. What does not depend on the request is computed once. */
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
 * The caller, with all of these scopes beside those that every request needs. Fails with `Unauthorized` (-31401) or `InsufficientScope`
 * (-31403), which become 401 and 403 with a challenge that names all scopes.
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

/** The caller, with the scopes that every request needs. Fails with `Unauthorized` or `InsufficientScope`. */
export const caller: Effect.Effect<Caller, McpError, Services> = demand()

/** Satisfied by a granted scope of the same name. */
export const named: Satisfies = (granted, needed) => granted.includes(needed)

/** Provides `Auth` for stdio and for tests: requests without a principal are those of `local`. */
export const layerLocal = (
  local: {
    readonly subject: string
    readonly scopes?: ReadonlyArray<string>
    readonly claims?: { readonly [claim: string]: unknown }
  },
  satisfies: Satisfies = named
): Layer.Layer<Auth> => Layer.succeed(Auth, { local: { scopes: [], claims: {}, ...local }, satisfies, scopes: [] })
