/** Middleware, and the service that its layers register with. The registry behind it is loaded with the first of them. */
import type { RequestFacts, RequestServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { DecodedRequest as Request, DecodedResult as Result } from "../request/DecodedRequest.ts"
import type { InboundHooks } from "./InboundHooks.ts"

/** Answers the unchanged request. */
export type Next<R = RequestServices> = Effect.Effect<Result, McpError, R>
/** Answers a changed request. Its method must be the same; another one is a defect. */
export type Proceed = (changed: Request) => Next
export type Middleware<R = RequestServices> = (request: Request, next: Next, proceed: Proceed) => Next<R>

/** Answers a request in place of the middleware, without a fiber. Undefined where the middleware has to run; then nothing was done. */
export type AtOnce = (request: Request, facts: RequestFacts) => Exit.Exit<Result, McpError> | undefined

/** Where middleware lies. */
export interface Place {
  /** The method whose requests it lies around. Default: all. */
  readonly method?: string | undefined
  /** Whether it lies inside of all middleware that does not say so. Default false. */
  readonly innermost?: boolean | undefined
  /** Whether it lies around a request of its method; called for each. Default: around all. */
  readonly when?: ((request: Request) => boolean) | undefined
  /** Takes its place around a request that starts at once, where nothing else lies around that. Default: it has to run. */
  readonly atOnce?: AtOnce | undefined
  /**
   * What it lies around where a call becomes a task: the request that makes the task, or each run of the handler as the task. The latter lies
   * inside of all other middleware. Default `creation`.
   */
  readonly tasks?: "creation" | "execution" | undefined
}

/** The registry of middleware. */
export class MiddlewareRegistry extends Context.Service<
  MiddlewareRegistry,
  {
    readonly register: (middleware: Middleware, place?: Place) => Effect.Effect<void, never, Scope.Scope>
    /**
     * `handle` answers the request of a task, with the middleware around it that lies around the execution of tasks. Called right before its
     * effect runs; `alone`: there is no such middleware, and `handle` is called at once.
     */
    readonly inTask: (request: Request, handle: (request: Request, alone: boolean) => Next) => Next
    /** Around every message that arrives. */
    readonly registerInbound: InboundHooks["register"]
  }
>()("@effect-mcp/server/MiddlewareRegistry") {}
