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
import { Registry } from "./Registry.ts"

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
    const inContext = isolate<R>(services, { forwardsLogs: false })
    return registry.register((request, next) =>
      // `next` gets back the context it was made for, with what the middleware changed of the request's own: a principal, a span.
      Effect.contextWith((ambient: Context.Context<RequestServices>) =>
        inContext(middleware(request, isolate(ambient, { forwardsLogs: false })(next)))
      )
    )
  })

/** A fresh registry: the tag for feature layers, and what the dispatcher runs. */
export const make = Effect.map(
  Registry.make<{ readonly key: string; readonly middleware: Middleware }, never>("middleware"),
  (registry) => {
    let count = 0
    const apply = (request: Request, next: Next): Next => {
      let effect = next
      for (const { key } of registry.entries.toReversed()) {
        const inner = effect
        effect = registry.hold(key, ({ middleware }) => middleware(request, inner), inner)
      }
      return effect
    }
    return {
      wrapped: () => !registry.isEmpty,
      apply: (request: Request, next: Next): Next => (registry.isEmpty ? next : apply(request, next)),
      context: Context.make(MiddlewareRegistry, {
        register: (middleware) =>
          Effect.suspend(() => {
            const key = `${++count}`
            return registry.register(key, { key, middleware })
          })
      })
    }
  }
)
