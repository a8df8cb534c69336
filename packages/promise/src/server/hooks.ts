/**
 * Code before and after every request of a server: access control, audit, measurement.
 *
 * Hooks get no questions: what runs again with each round (2026-07-28) is the handler alone.
 */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Layer } from "effect/Layer"
import { toPublic } from "../ErrorTranslation.ts"
import type { HandlerContext } from "../handler/Context.ts"
import { Request } from "../handler/Request.ts"
import type { Rules } from "../handler/run.ts"
import { query } from "./completers.ts"

/** A request with its params, as JSON in the names of the newest revision. */
export interface IncomingRequest {
  /** Such as `tools/call`. */
  readonly method: string
  readonly params: { readonly [name: string]: unknown }
}

/** What a hook may know of its request. */
export type HookContext = Pick<HandlerContext, "client" | "log" | "meta" | "principal" | "revision" | "sessionId">

/**
 * How a request ended. `answered`: with a result. `toolFailed`: with a result that has `isError`. `asked`: this round ended with a question
 * (2026-07-28). `cancelled`: by the client, or with its connection. `failed`: with an `error`, answered by its code, or by -32603.
 */
export type RequestOutcome =
  | { readonly kind: "answered" | "toolFailed"; readonly result: unknown }
  | { readonly kind: "asked" | "cancelled" }
  | { readonly kind: "failed"; readonly error: unknown }

/** Hooks of a server. */
export interface Hooks {
  /**
   * Called before each request but `initialize` and `ping`; the request waits for it. What it throws is the answer, and nothing else runs: an
   * `McpError` as it is, of other errors the message with -32603.
   */
  readonly before?: (request: IncomingRequest, context: HookContext) => void | PromiseLike<void>
  /** Called after each request that `before` let pass. What it throws goes to `onError` and changes nothing. */
  readonly after?: (request: IncomingRequest, outcome: RequestOutcome, context: HookContext) => void
}

const outcomeOf = (outcome: Middleware.Outcome): RequestOutcome => {
  switch (outcome._tag) {
    case "Answered":
      return { kind: "answered", result: outcome.result }
    case "ToolFailed":
      return { kind: "toolFailed", result: outcome.result }
    case "Asked":
      return { kind: "asked" }
    case "Cancelled":
      return { kind: "cancelled" }
    case "Failed":
      return { kind: "failed", error: toPublic(outcome.error) }
    default:
      return { kind: "failed", error: Cause.squash(outcome.cause) }
  }
}

const incoming = ({ method, params }: Middleware.Request): IncomingRequest => ({ method, params: { ...params } })

/** Hooks as a feature layer: the first added is the outermost. */
export const hooksLayer = (
  { after, before }: Hooks,
  rules: Rules
): Layer<never, never, Middleware.MiddlewareRegistry> =>
  Middleware.layer((request, next) =>
    Effect.contextWith((context: Context.Context<RequestServices>) => {
      const given = incoming(request)
      const known: HookContext = Request.of(context)
      const place = { kind: "hook", name: given.method } as const
      const observed = (outcome: Middleware.Outcome): void => {
        try {
          after?.(given, outcomeOf(outcome), known)
        } catch (thrown) {
          rules.onError?.(thrown, place)
        }
      }
      const answered = Effect.onExit(next, (exit) => Effect.sync(() => observed(Middleware.outcomeOf(exit))))
      if (before === undefined) return answered
      return Effect.andThen(
        query(() => before(given, known), rules, place),
        answered
      )
    })
  )
