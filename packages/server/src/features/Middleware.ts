/**
 * Runs your code around every request, for example to audit it, check access, or change its params or result.
 *
 * A middleware receives the decoded request and an effect that handles it. It runs in the request's fiber with the request's services, and
 * can fail with an `McpError` without running the handler. The middleware registered first is the outermost.
 *
 * If a request asks its client questions in rounds (2026-07-28), middleware runs once per round. A round that asks a question ends with an
 * interruption, which `outcomeOf` distinguishes from a cancellation. Use `isResumed` to check whether a round continues an earlier one.
 */
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { HandlerContext, Providing, registrationLayer, returningTo } from "@effect-mcp/core/internal/handlers"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { isSuspension } from "../mrtr/Replay.ts"
import type { DecodedRequest as Request, DecodedResult as Result } from "../request/DecodedRequest.ts"
import { hookOf, type InboundHook } from "./InboundHooks.ts"
import { type Middleware, MiddlewareRegistry, type Place } from "./MiddlewareRegistry.ts"

export {
  type DecodedRequest as Request,
  type DecodedResult as Result,
  isExtensionRequest as isOwn,
  type ExtensionRequest
} from "../request/DecodedRequest.ts"
export type { Arrival, InboundHook as Inbound } from "./InboundHooks.ts"
export { type Middleware, MiddlewareRegistry, type Next, type Place, type Proceed } from "./MiddlewareRegistry.ts"

/**
 * How a request, or one round of a request, ended. It may have returned a result, or a tool result with `isError`. It may have asked its
 * client questions, in which case the client sends the request again with the answers. It may have been cancelled, by the client or because
 * its connection ended. Or it may have failed with a JSON-RPC error, or with a defect, which the client sees as -32603.
 */
export type Outcome =
  | { readonly _tag: "Answered"; readonly result: Result }
  | { readonly _tag: "ToolFailed"; readonly result: CallToolResult }
  | { readonly _tag: "Asked" }
  | { readonly _tag: "Cancelled" }
  | { readonly _tag: "Failed"; readonly error: McpError }
  | { readonly _tag: "Died"; readonly cause: Cause.Cause<McpError> }

const isToolFailure = (result: Result): result is CallToolResult => "isError" in result && result.isError

/** Returns the outcome for an exit of `next`. */
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

/** True if this is a second or later round of a request (2026-07-28). */
export const isResumed = ({ params }: Request): boolean => {
  const untyped: unknown = params
  return isJsonObject(untyped) && typeof untyped.requestState === "string"
}

/** How middleware handles calls that become tasks. */
export interface Options {
  /**
   * The part to wrap when a call becomes a task. `creation` wraps the request that creates the task, so the request's principal owns the task.
   * `execution` wraps every run of the task's handler, including runs after a crash or a long wait, with the services of a request that has
   * already been answered. Middleware around `execution` runs inside all other middleware, even if the call does not become a task. Default
   * `creation`.
   */
  readonly tasks?: "creation" | "execution" | undefined
}

/**
 * Wraps `middleware` around every request except `initialize` and `ping`, for as long as the layer lives. If it fails, the client receives
 * the error; a defect becomes -32603. When a call becomes a task, the middleware completes as soon as the task is created, unless `options`
 * say otherwise.
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
  middleware: Middleware<R>,
  options: Options = {}
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  registered(middleware, { tasks: options.tasks })

const registered = <R>(
  middleware: Middleware<R>,
  place: Place
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  registrationLayer(MiddlewareRegistry, (registry, services: Context.Context<Exclude<R, RequestServices>>) => {
    const run = new HandlerContext<R>(services, { forwardsLogs: false }).provided(middleware)
    return registry.register(
      (request, next, proceed) =>
        // `next` runs in the context it was created for, plus the request services that the middleware replaced: a principal, a span.
        Effect.contextWith((ambient: Context.Context<RequestServices>) => {
          const outer = returningTo(ambient)
          return run(request, outer(next), (changed) => outer(proceed(changed)))
        }),
      place
    )
  })

/**
 * Calls `f` with each request and its outcome after the request ends, even if it was interrupted. The request waits for `f`. If a request
 * has several rounds, `f` is called once per round, with `Asked` for all but the last. An audit that counts requests should skip `Asked`.
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
  f: (request: Request, outcome: Outcome) => Effect.Effect<void, never, R>,
  options: Options = {}
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  layer<R | RequestServices>((request, next) => Effect.onExit(next, (exit) => f(request, outcomeOf(exit))), options)

type Requests = Omit<Method.ClientRequests, "initialize" | "ping">

/** A decoded request for a specific method. */
export interface RequestOf<M extends keyof Requests> {
  readonly method: M
  readonly params: Requests[M]["params"]
}

/**
 * Handles a request for a specific method. Returns the method's result, or another kind of result if extension middleware further inside
 * returned one.
 */
export type NextOf<M extends keyof Requests, R = RequestServices> = Effect.Effect<
  Requests[M]["result"] | EncodedResult,
  McpError,
  R
>

/**
 * Wraps `middleware` around requests for a single method, for as long as the layer lives. Requests for other methods are not affected. Its
 * position among all middleware follows the order of registration. `next` returns either the method's result or an `EncodedResult`. An
 * `EncodedResult` has none of the result's members, so you can tell them apart with `"content" in result`.
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
 *
 * const timed = Middleware.on("tools/call", ({ params }, next) =>
 *   Effect.tap(next, (result) =>
 *     "content" in result ? Console.log(`${params.name}: ${result.content.length} block`) : Console.log(`${params.name} runs on`)
 *   )
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(Layer.merge(hello, timed), "2026-07-28")
 *   yield* client.callTool(Hello, {}) // => hello: 1 block
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const on = <M extends keyof Requests, R>(
  method: M,
  middleware: (request: RequestOf<M>, next: NextOf<M>, proceed: (changed: RequestOf<M>) => NextOf<M>) => NextOf<M, R>,
  options: Options = {}
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only requests of this method arrive; the registry has no type for it
  registered(middleware as unknown as Middleware<R>, { method, tasks: options.tasks })

/**
 * Wraps `hook` around every incoming message for as long as the layer lives: notifications, and requests for any method, including
 * `initialize`, `ping` and unknown methods. The hook sees the message as sent on the wire, before decoding and outside all other
 * middleware. The hook registered first is the outermost.
 *
 * For a request, the hook's return value is the result sent to the client, and `next` returns the server's own result. The hook runs in the
 * request's fiber, so a cancellation or the end of the session interrupts it. It may wait. If it fails, the client receives its error.
 *
 * Notifications from one session, or from one caller without a session, run one at a time in order of arrival. Requests don't wait for
 * them. When more than 1024 notifications or 4 MiB of JSON are waiting, new notifications are dropped. Hooks don't see cancellations,
 * progress or responses, which belong to requests, or messages that the transport rejects. With a hook in place, `ping` waits for a permit
 * like any other request.
 *
 * The hook has a new Scope for each message, but none of a request's services. If the hook handles an `initialize` without calling `next`,
 * no session is opened.
 *
 * @example
 * ```ts
 * import { Middleware } from "@effect-mcp/server"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect } from "effect"
 *
 * const log = Middleware.inbound(({ message }, next) => Effect.andThen(Console.log(message.method), next))
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(log, "2025-11-25") // => initialize
 *   // => notifications/initialized
 *   yield* client.ping // => ping
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const inbound = <R = never>(
  hook: InboundHook<R>
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, Scope.Scope>> =>
  registrationLayer(MiddlewareRegistry, (registry, services: Context.Context<Exclude<R, Scope.Scope>>) =>
    registry.registerInbound(hookOf(hook, services))
  )

/** Options for `Middleware.provide`. */
export interface ProvideOptions {
  /**
   * Whether to create the service for every request, inside all middleware and before the handler runs, even if no feature needs it. By
   * default the service is created just before the first handler whose layer depends on it.
   */
  readonly eager?: boolean | undefined
}

/**
 * Creates a service for each request, such as the user, the tenant or a transaction. Provide the layer to the features that need it. Their
 * handlers require the tag like any other service, and a server whose features lack it doesn't compile.
 *
 * `make` runs with the request's services, after all middleware and before the handler. It runs at most once per request, or once per round
 * if the request asks its client in rounds. Resources that it acquires are released when the request ends. If it fails with an `McpError`,
 * the client receives that error; over HTTP, `McpError.unauthorized` and `forbidden` become 401 and 403. If one such service depends on
 * another, provide the other service's layer to it.
 *
 * The service is available in middleware, and in handlers for tools, prompts, resources, lists, completions and extensions, if their layers
 * depend on it. Any of them creates the service, even if its code never reads it. Layers and `changes` streams serve all requests, so they
 * don't have the service, and using it there is a defect. Subscribing to a resource runs no handler, so to reject a subscription use
 * `visible`, middleware, or an eager service.
 *
 * If a request runs several fibers, they share the service. If creating it fails, it stays failed for the rest of the request, even if
 * middleware runs `next` again.
 *
 * @example
 * ```ts
 * import { Principal, Tool, Tools } from "@effect-mcp/core"
 * import { McpError } from "@effect-mcp/protocol"
 * import { McpServer, Middleware } from "@effect-mcp/server"
 * import { Context, Effect, Layer } from "effect"
 *
 * class CurrentUser extends Context.Service<CurrentUser, { readonly name: string }>()("app/CurrentUser") {}
 *
 * const Whoami = Tool.make("whoami", { description: "Names the caller" })
 * const whoami = Tools.layer(Whoami, () => Effect.map(CurrentUser, ({ name }) => name))
 *
 * const currentUser = Middleware.provide(
 *   CurrentUser,
 *   Effect.flatMap(Principal.Principal, ({ subject }) =>
 *     subject === undefined ? Effect.fail(McpError.unauthorized("Log in first")) : Effect.succeed({ name: subject })
 *   )
 * )
 *
 * // `features: whoami` leaves CurrentUser in the requirements: no runner takes that server.
 * export const server = McpServer.layer({ name: "users", version: "1.0.0", features: Layer.provide(whoami, currentUser) })
 * ```
 */
export function provide<I, S, R>(
  tag: Context.Key<I, S>,
  make: Effect.Effect<S, McpError, R>,
  options?: { readonly eager?: false | undefined }
): Layer.Layer<I, never, Exclude<R, RequestServices>>
export function provide<I, S, R>(
  tag: Context.Key<I, S>,
  make: Effect.Effect<S, McpError, R>,
  options: ProvideOptions
): Layer.Layer<I, never, MiddlewareRegistry | Exclude<R, RequestServices>>
export function provide<I, S, R>(
  tag: Context.Key<I, S>,
  make: Effect.Effect<S, McpError, R>,
  { eager = false }: ProvideOptions = {}
): Layer.Layer<I, never, MiddlewareRegistry | Exclude<R, RequestServices>> {
  return Layer.fromBuildMemo((_, scope) =>
    Effect.contextWith((services: Context.Context<MiddlewareRegistry | Exclude<R, RequestServices>>) => {
      const context = new HandlerContext<R>(services, { forwardsLogs: false })
      const provision: Providing.Provision = { key: tag.key, make: context.provided(() => make)() }
      // A placeholder for the service until a request creates it.
      const provided = Context.makeUnsafe<I>(new Map([[tag.key, Providing.marker(provision)]]))
      if (!eager) return Effect.succeed(provided)
      const { register } = Context.get(services, MiddlewareRegistry)
      const registering = register((_, next) => Effect.andThen(Providing.made(provision), next), { innermost: true })
      return Effect.as(Scope.provide(registering, scope), provided)
    })
  )
}
