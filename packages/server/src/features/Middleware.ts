/**
 * Code around every request: audit, access control, changes of params or results.
 *
 * A middleware gets the decoded request and the effect that answers it. It runs inside the request's fiber, with the request's
 * services, and may fail with an `McpError` without running the handler. The first registered is the outermost.
 *
 * For a request that asks its client in rounds (2026-07-28) middleware runs once per round. A round that asks ends by an interruption,
 * which `outcomeOf` tells from a cancellation; `isResumed` says whether a round continues an earlier one.
 */
import { registrationLayer } from "@effect-mcp/core/internal/registration"
import { HandlerContext } from "@effect-mcp/core/internal/HandlerContext"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { isSuspension } from "../mrtr/Replay.ts"
import type { DecodedRequest as Request, DecodedResult as Result } from "../request/DecodedRequest.ts"
import { Registry } from "./Registry.ts"

export type { DecodedRequest as Request, DecodedResult as Result } from "../request/DecodedRequest.ts"

/** Answers the unchanged request. */
export type Next<R = RequestServices> = Effect.Effect<Result, McpError, R>
/** Answers a changed request. Its method must be the same; another one is a defect. */
export type Proceed = (changed: Request) => Next
export type Middleware<R = RequestServices> = (request: Request, next: Next, proceed: Proceed) => Next<R>

/**
 * How a request, or one round of it, ended: with a result; with a tool's result that has `isError`; with questions to the client, which
 * sends it again; cancelled by the client or by the end of its connection; with a JSON-RPC error; with a defect, which the client sees
 * as -32603.
 */
export type Outcome =
  | { readonly _tag: "Answered"; readonly result: Result }
  | { readonly _tag: "ToolFailed"; readonly result: CallToolResult }
  | { readonly _tag: "Asked" }
  | { readonly _tag: "Cancelled" }
  | { readonly _tag: "Failed"; readonly error: McpError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<McpError> }

const isToolFailure = (result: Result): result is CallToolResult => "isError" in result && result.isError

/** The outcome that the exit of `next` means. */
export const outcomeOf = (exit: Exit.Exit<Result, McpError>): Outcome => {
  if (Exit.isSuccess(exit)) {
    const { value: result } = exit
    return isToolFailure(result) ? { _tag: "ToolFailed", result } : { _tag: "Answered", result }
  }
  const { cause } = exit
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) return { _tag: "Failed", error: failure.error }
  if (isSuspension(cause)) return { _tag: "Asked" }
  return Cause.hasInterruptsOnly(cause) ? { _tag: "Cancelled" } : { _tag: "Died", cause }
}

/** Whether this is a later round of a request (2026-07-28). */
export const isResumed = ({ params }: Request): boolean => {
  const untyped: unknown = params
  return isJsonObject(untyped) && typeof untyped.requestState === "string"
}

/** The registry of middleware. */
export class MiddlewareRegistry extends Context.Service<
  MiddlewareRegistry,
  { readonly register: (middleware: Middleware) => Effect.Effect<void, never, Scope.Scope> }
>()("@effect-mcp/server/MiddlewareRegistry") {}

/**
 * Puts `middleware` around every request but `initialize` and `ping`, for as long as the layer lives. A failure is the answer; a defect is
 * answered by -32603.
 *
 * @example
 * ```ts
 * import { Principal, Tool, Tools } from "@effect-mcp/core"
 * import { McpError } from "@effect-mcp/protocol"
 * import { Middleware } from "@effect-mcp/server"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer } from "effect"
 *
 * const Reset = Tool.make("reset", { description: "Resets the counters" })
 * const reset = Tools.layer(Reset, () => Effect.succeed("Done"))
 *
 * const namedCallersOnly = Middleware.layer((request, next) =>
 *   Effect.flatMap(Principal.Principal, ({ subject }) =>
 *     request.method === "tools/call" && subject === undefined
 *       ? Effect.fail(McpError.invalidRequest("Log in first"))
 *       : next
 *   )
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(Layer.merge(reset, namedCallersOnly), "2026-07-28")
 *   yield* Effect.catch(client.callTool(Reset, {}), ({ message }) => Console.log(message)) // => Log in first
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <R>(
  middleware: Middleware<R>
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  registrationLayer(MiddlewareRegistry, (registry, services: Context.Context<Exclude<R, RequestServices>>) => {
    const context = new HandlerContext<R>(services, { forwardsLogs: false })
    return registry.register((request, next, proceed) =>
      // `next` runs in the context it was made for, with the services of the request that the middleware replaced: a principal, a span.
      Effect.contextWith((ambient: Context.Context<RequestServices>) => {
        const outer = new HandlerContext(ambient, { forwardsLogs: false })
        return context.provide(middleware(request, outer.provide(next), (changed) => outer.provide(proceed(changed))))
      })
    )
  })

/**
 * Calls `f` with every request and its outcome, after it ended, also when it was interrupted. The request waits for `f`. For a request
 * with rounds `f` is called once per round, with `Asked` until the last: an audit that counts requests leaves `Asked` out.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Middleware } from "@effect-mcp/server"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Layer } from "effect"
 *
 * const Hello = Tool.make("hello", { description: "Greets the user" })
 * const hello = Tools.layer(Hello, () => Effect.succeed("Hello"))
 * const audit = Middleware.observe(({ method }, { _tag }) => Console.log(`${method}: ${_tag}`))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(Layer.merge(hello, audit), "2025-11-25")
 *   yield* client.callToolByName("hello", {}) // => tools/call: Answered
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const observe = <R>(
  f: (request: Request, outcome: Outcome) => Effect.Effect<void, never, R>
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  layer<R | RequestServices>((request, next) => Effect.onExit(next, (exit) => f(request, outcomeOf(exit))))

/** A new registry: the service for feature layers, and what the dispatcher runs. */
export const make = Effect.map(
  Registry.make<{ readonly key: string; readonly middleware: Middleware }, never>("middleware"),
  (registry) => {
    let count = 0
    const around =
      (key: string, inner: Proceed): Proceed =>
      (request) => {
        const next = Effect.suspend(() => inner(request))
        const proceed: Proceed = (changed) =>
          changed.method === request.method
            ? Effect.suspend(() => inner(changed))
            : Effect.die(
                new Error(
                  `A middleware changed ${request.method} to ${changed.method}: the method of a request must stay`
                )
              )
        return registry.hold(key, ({ middleware }) => middleware(request, next, proceed)) ?? next
      }
    const apply = (request: Request, handle: Proceed): Next => {
      let run = handle
      for (const { key } of registry.entries.toReversed()) run = around(key, run)
      return run(request)
    }
    return {
      wrapped: () => !registry.isEmpty,
      /** `handle` answers the request, with the middleware around it. */
      apply: (request: Request, handle: Proceed): Next => Effect.suspend(() => apply(request, handle)),
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
