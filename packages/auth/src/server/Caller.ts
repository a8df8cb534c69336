/**
 * Who calls, for handlers that serve nobody else: the caller is always authenticated, and has the scopes that are demanded.
 *
 * Owns the marker that makes this a matter of types: what uses it requires `Auth`, and only a layer that authenticates provides that.
 * A request that lacks something fails before it has an effect, and becomes a challenge where its answer is an HTTP response of its own:
 * not over HTTP with SSE, nor on a stream that has begun. There the error says what is needed.
 */
import * as Principal from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ChallengeNotes from "./ChallengeNotes.ts"

/** The caller must authenticate. Ours: outside the ranges of JSON-RPC and MCP, after HTTP's 401. */
export const Unauthorized = -31401
/** The caller's token lacks scopes; `data.scope` names all that are needed. Ours, after HTTP's 403. */
export const InsufficientScope = -31403

/** Whether scopes that were granted are enough for one that is needed. */
export type Satisfies = (granted: ReadonlyArray<string>, needed: string) => boolean

/** Who counts as a caller, and what every request needs. */
export class Auth extends Context.Service<
  Auth,
  {
    /** Who calls where requests come without any principal: over stdio, where whoever started the process is the user. */
    readonly local: Principal.Principal["Service"] | undefined
    readonly satisfies: Satisfies
    /** What every request needs. */
    readonly scopes: ReadonlyArray<string>
  }
>()("@effect-mcp/auth/Auth") {}

/** A principal that is somebody. */
export type Caller = Principal.Principal["Service"] & { readonly subject: string }

const isCaller = (principal: Principal.Principal["Service"]): principal is Caller => principal.subject !== undefined

type Services = Auth | Principal.Principal | RequestContext

/** Fails, and has the HTTP request answered with a challenge if there is one. */
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

/** Whether a principal is a caller that by these rules has all of the scopes. */
export const admits =
  ({ local, satisfies, scopes: always }: Auth["Service"], scopes: ReadonlyArray<string>) =>
  (principal: Principal.Principal["Service"]): boolean => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) return false
    return [...always, ...scopes].every((scope) => satisfies(caller.scopes, scope))
  }

/** The caller, who by these rules has all of the scopes. What can be known beforehand is worked out once. */
export const admitted = (
  { local, satisfies, scopes: always }: Auth["Service"],
  scopes: ReadonlyArray<string>
): Effect.Effect<Caller, McpError, Principal.Principal | RequestContext> => {
  const needed = [...new Set([...always, ...scopes])]
  const insufficient = `The token lacks a scope of: ${needed.join(" ")}`
  return Effect.flatMap(Principal.Principal, (principal) => {
    const caller = isCaller(principal) ? principal : local
    if (caller === undefined || !isCaller(caller)) {
      return lack({ authentication: true, scopes: needed }, "The caller must authenticate", Unauthorized)
    }
    return needed.every((scope) => satisfies(caller.scopes, scope))
      ? Effect.succeed(caller)
      : lack({ authentication: false, scopes: needed }, insufficient, InsufficientScope)
  })
}

/** The caller, who has all of these scopes; else the request is refused with a challenge that names all of them. */
export const demand = (...scopes: ReadonlyArray<string>): Effect.Effect<Caller, McpError, Services> =>
  Effect.flatMap(Auth, (auth) => admitted(auth, scopes))

/** The caller, whatever its scopes. */
export const caller: Effect.Effect<Caller, McpError, Services> = demand()

/** Scopes are enough if they are named. */
export const named: Satisfies = (granted, needed) => granted.includes(needed)

/** For servers over stdio, and for tests: everybody who is not somebody else is this one. */
export const layerLocal = (
  local: {
    readonly subject: string
    readonly scopes?: ReadonlyArray<string>
    readonly claims?: { readonly [claim: string]: unknown }
  },
  satisfies: Satisfies = named
): Layer.Layer<Auth> => Layer.succeed(Auth, { local: { scopes: [], claims: {}, ...local }, satisfies, scopes: [] })
