/** A server's middleware, around every request or around requests for one method, in order of registration. */
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
/** Answers a changed request. Changing its method is a defect. */
export type Proceed = (changed: Request) => Next
export type Middleware<R = RequestServices> = (request: Request, next: Next, proceed: Proceed) => Next<R>

/** Which requests middleware wraps, and in what order. */
export interface Place {
  /** Method whose requests it wraps. Default: all methods. */
  readonly method?: string | undefined
  /** Whether to run inside all middleware that does not set this. Default false. */
  readonly innermost?: boolean | undefined
  /** Called for each request of the method; returns true to wrap it. Default: wraps every request. */
  readonly when?: ((request: Request) => boolean) | undefined
  /**
   * The part to wrap when a call becomes a task: the request that creates the task, or each run of the handler as the task. Middleware around
   * `execution` runs inside all other middleware. Default `creation`.
   */
  readonly tasks?: "creation" | "execution" | undefined
}

/** The registry of middleware. */
export class MiddlewareRegistry extends Context.Service<
  MiddlewareRegistry,
  {
    readonly register: (middleware: Middleware, place?: Place) => Effect.Effect<void, never, Scope.Scope>
    /** Answers a task's request with `handle`, inside the middleware around task execution. */
    readonly inTask: (request: Request, handle: Proceed) => Next
    /** Registers a hook around every incoming message. */
    readonly registerInbound: InboundHooks["register"]
  }
>()("@effect-mcp/server/MiddlewareRegistry") {}

interface Entry extends Place {
  readonly key: string
  readonly middleware: Middleware
}

/** The middleware that the dispatcher runs. */
export interface MiddlewareSet {
  /** True if there is middleware for the method's requests. */
  readonly wraps: (method: string, request: Request) => boolean
  /** Answers the request with `handle`, wrapped in the middleware. */
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
            new Error(
              `A middleware changed the method of a request from ${request.method} to ${changed.method}, which is not allowed`
            )
          )
    return registry.hold(
      key,
      ({ middleware, when }) => (when?.(request) === false ? next : middleware(request, next, proceed)),
      () => next
    )
  }

const none: ReadonlyArray<Entry> = []

/** Decides whether requests have middleware. The result for each method is computed once per change to the registry. */
const wrapping = (registry: Registry<Entry, never>): MiddlewareSet["wraps"] => {
  let version = -1
  let byMethod = new Map<string | undefined, ReadonlyArray<Entry>>()
  const of = (method: string): ReadonlyArray<Entry> => {
    if (version !== registry.version) {
      const all = Map.groupBy(registry.entries, (entry) => entry.method)
      const ofAll = all.get(undefined) ?? none
      for (const [method, entries] of all) if (method !== undefined) all.set(method, [...ofAll, ...entries])
      byMethod = all
    }
    version = registry.version
    return byMethod.get(method) ?? byMethod.get(undefined) ?? none
  }
  return (method, request) => !registry.isEmpty && of(method).some(({ when }) => when === undefined || when(request))
}

const isExecution = ({ tasks }: Entry): boolean => tasks === "execution"

/** Sorts the entries from the outermost to the innermost. */
const ordered = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const depth = (entry: Entry): number => (isExecution(entry) ? 2 : entry.innermost === true ? 1 : 0)
  return entries.every((entry) => depth(entry) === 0) ? entries : entries.toSorted((a, b) => depth(a) - depth(b))
}

/** Creates a registry: the service for feature layers, and the middleware that the dispatcher runs. */
export const make: Effect.Effect<{
  readonly middleware: MiddlewareSet
  readonly context: Context.Context<MiddlewareRegistry>
}> = Effect.gen(function* () {
  const registry = yield* Registry.make<Entry, never>("middleware")
  const inbound = yield* InboundHooks.make
  let count = 0
  const apply = (entries: ReadonlyArray<Entry>, request: Request, handle: Proceed): Next => {
    let run = handle
    const called: string = request.method
    for (const { key, method } of ordered(entries).toReversed()) {
      if (method === undefined || method === called) run = around(registry, key, run)
    }
    return run(request)
  }
  return {
    middleware: {
      wraps: wrapping(registry),
      inbound,
      apply: (request, handle) => Effect.suspend(() => apply(registry.entries, request, handle))
    },
    context: Context.make(MiddlewareRegistry, {
      register: (middleware, place) =>
        Effect.suspend(() => {
          const key = `${++count}`
          return registry.register(key, { key, middleware, ...place })
        }),
      inTask: (request, handle) => Effect.suspend(() => apply(registry.entries.filter(isExecution), request, handle)),
      registerInbound: (hook) => inbound.register(hook)
    })
  }
})
