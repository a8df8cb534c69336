/** The middleware of a server: around every request or those of one method, in order of registration. */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { DecodedRequest as Request, DecodedResult as Result } from "../request/DecodedRequest.ts"
import { InboundHooks } from "./InboundHooks.ts"
import { Registry } from "./Registry.ts"

/** Answers the unchanged request. */
export type Next<R = RequestServices> = Effect.Effect<Result, McpError, R>
/** Answers a changed request. Its method must be the same; another one is a defect. */
export type Proceed = (changed: Request) => Next
export type Middleware<R = RequestServices> = (request: Request, next: Next, proceed: Proceed) => Next<R>

/** Where middleware lies. */
export interface Place {
  /** The method whose requests it lies around. Default: all. */
  readonly method?: string | undefined
  /** Whether it lies inside of all middleware that does not say so. Default false. */
  readonly innermost?: boolean | undefined
}

/** The registry of middleware. */
export class MiddlewareRegistry extends Context.Service<
  MiddlewareRegistry,
  {
    readonly register: (middleware: Middleware, place?: Place) => Effect.Effect<void, never, Scope.Scope>
    /** Around every message that arrives. */
    readonly registerInbound: InboundHooks["register"]
  }
>()("@effect-mcp/server/MiddlewareRegistry") {}

interface Entry extends Place {
  readonly key: string
  readonly middleware: Middleware
}

/** What the dispatcher runs. */
export interface MiddlewareSet {
  /** Whether anything lies around the requests of a method. */
  readonly wraps: (method: string) => boolean
  /** `handle` answers the request, with the middleware around it. */
  readonly apply: (request: Request, handle: Proceed) => Next
  readonly inbound: InboundHooks
}

const around =
  (registry: Registry<Entry, never>, key: string, inner: Proceed): Proceed =>
  (request) => {
    const next = Effect.suspend(() => inner(request))
    const proceed: Proceed = (changed) =>
      changed.method === request.method
        ? Effect.suspend(() => inner(changed))
        : Effect.die(
            new Error(`A middleware changed ${request.method} to ${changed.method}: the method of a request must stay`)
          )
    return registry.hold(
      key,
      ({ middleware }) => middleware(request, next, proceed),
      () => next
    )
  }

/** Which methods have middleware; computed once per change of the registry. */
const wrappedMethods = (registry: Registry<Entry, never>): ((method: string) => boolean) => {
  let version = -1
  let methods: ReadonlySet<string | undefined> = new Set()
  return (method) => {
    if (registry.isEmpty) return false
    if (version !== registry.version) methods = new Set(registry.entries.map((entry) => entry.method))
    version = registry.version
    return methods.has(undefined) || methods.has(method)
  }
}

/** A new registry: the service for feature layers, and what the dispatcher runs. */
export const make: Effect.Effect<{
  readonly middleware: MiddlewareSet
  readonly context: Context.Context<MiddlewareRegistry>
}> = Effect.gen(function* () {
  const registry = yield* Registry.make<Entry, never>("middleware")
  const wraps = wrappedMethods(registry)
  const inbound = yield* InboundHooks.make
  let count = 0
  const apply = (request: Request, handle: Proceed): Next => {
    let run = handle
    const { entries } = registry
    const inner = entries.filter(({ innermost }) => innermost === true)
    const ordered = inner.length === 0 ? entries : [...entries.filter((entry) => !inner.includes(entry)), ...inner]
    const called: string = request.method
    for (const { key, method } of ordered.toReversed()) {
      if (method === undefined || method === called) run = around(registry, key, run)
    }
    return run(request)
  }
  return {
    middleware: {
      wraps,
      inbound,
      apply: (request, handle) => Effect.suspend(() => apply(request, handle))
    },
    context: Context.make(MiddlewareRegistry, {
      register: (middleware, place) =>
        Effect.suspend(() => {
          const key = `${++count}`
          return registry.register(key, { key, middleware, ...place })
        }),
      registerInbound: (hook) => inbound.register(hook)
    })
  }
})
