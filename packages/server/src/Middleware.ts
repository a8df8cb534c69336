/**
 * Code around every request: audit, access control, rate limits (anything that wants to see a request before and after).
 *
 * A middleware gets the decoded request and the effect that answers it. It runs inside the request's fiber, with the request's
 * services, and may fail with an `McpError` instead of going on. The first registered is the outermost.
 */
import { feature } from "@effect-mcp/core/Feature"
import { isolate } from "@effect-mcp/core/Isolate"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** A request as a middleware sees it: `params` has the canonical type of `method`. */
export type Request = {
  [M in keyof Method.ClientRequests]: { readonly method: M; readonly params: Method.ClientRequests[M]["params"] }
}[keyof Method.ClientRequests]

export type Result = Method.ClientRequests[keyof Method.ClientRequests]["result"]
export type Next<R = RequestServices> = Effect.Effect<Result, McpError, R>
export type Middleware<R = RequestServices> = (request: Request, next: Next) => Next<R>

/** Where middleware registers. */
export class MiddlewareRegistry extends Context.Service<
  MiddlewareRegistry,
  { readonly register: (middleware: Middleware) => Effect.Effect<void, never, Scope.Scope> }
>()("@effect-mcp/server/MiddlewareRegistry") {}

/** Puts `middleware` around every request but `initialize` and `ping`, for as long as the layer lives. */
export const layer = <R>(
  middleware: Middleware<R>
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  feature(MiddlewareRegistry, (registry, services: Context.Context<Exclude<R, RequestServices>>) => {
    const inContext = isolate<R>(services)
    return registry.register((request, next) =>
      // `next` must keep the request's whole context: it is bound to it before the middleware's own is put in place.
      Effect.contextWith((ambient: Context.Context<RequestServices>) =>
        inContext(middleware(request, Effect.provideContext(next, ambient)))
      )
    )
  })

/** A fresh registry: the tag for feature layers, and what the dispatcher runs. */
export const make = Effect.sync(() => {
  const all = new Set<Middleware>()
  const register = (middleware: Middleware): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => void all.add(middleware)),
      () => Effect.sync(() => void all.delete(middleware))
    )
  const apply = (request: Request, next: Next): Next => {
    let effect = next
    for (const middleware of [...all].toReversed()) effect = middleware(request, effect)
    return effect
  }
  return {
    apply: (request: Request, next: Next): Next => (all.size === 0 ? next : apply(request, next)),
    context: Context.make(MiddlewareRegistry, { register })
  }
})
