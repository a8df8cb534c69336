/**
 * Code around every request: audit, access control, changes of params or results.
 *
 * A middleware gets the decoded request and the effect that answers it. It runs inside the request's fiber, with the request's
 * services, and may fail with an `McpError` without running the handler. The first registered is the outermost.
 *
 * For a request that asks its client in rounds (2026-07-28) middleware runs once per round. A round that asks ends by an interruption,
 * which `outcomeOf` tells from a cancellation; `isResumed` says whether a round continues an earlier one.
 */
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { registrationLayer } from "@effect-mcp/core/internal/registration"
import { HandlerContext, returningTo } from "@effect-mcp/core/internal/HandlerContext"
import * as Provided from "@effect-mcp/core/internal/Provided"
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

/** Where middleware lies. */
export interface Options {
  /**
   * What it lies around where a call becomes a task. `creation`: the request that makes the task; its principal owns the task. `execution`:
   * each run of the handler as the task, again after a crash or a long wait, with the services of a request that was answered; it lies inside
   * of all other middleware, also where the call is answered within its request. Default `creation`.
   */
  readonly tasks?: "creation" | "execution" | undefined
}

/**
 * Puts `middleware` around every request but `initialize` and `ping`, for as long as the layer lives. A failure is the answer; a defect is
 * answered by -32603. A call that becomes a task ends for it with the task, unless `options` say otherwise.
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
        // `next` runs in the context it was made for, with the services of the request that the middleware replaced: a principal, a span.
        Effect.contextWith((ambient: Context.Context<RequestServices>) => {
          const outer = returningTo(ambient)
          return run(request, outer(next), (changed) => outer(proceed(changed)))
        }),
      place
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
  f: (request: Request, outcome: Outcome) => Effect.Effect<void, never, R>,
  options: Options = {}
): Layer.Layer<never, never, MiddlewareRegistry | Exclude<R, RequestServices>> =>
  layer<R | RequestServices>((request, next) => Effect.onExit(next, (exit) => f(request, outcomeOf(exit))), options)

type Requests = Omit<Method.ClientRequests, "initialize" | "ping">

/** A request of one method, decoded. */
export interface RequestOf<M extends keyof Requests> {
  readonly method: M
  readonly params: Requests[M]["params"]
}

/** Answers a request of one method: with its result, or with one of another kind, which an extension's middleware inside may give. */
export type NextOf<M extends keyof Requests, R = RequestServices> = Effect.Effect<
  Requests[M]["result"] | EncodedResult,
  McpError,
  R
>

/**
 * Puts `middleware` around the requests of one method, for as long as the layer lives; others take the path they take without it. It lies
 * among all middleware in order of registration. Its `next` gives the method's result or an `EncodedResult`, which has none of its members:
 * `"content" in result` tells them apart.
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only requests of this method come here: the registry cannot say so
  registered(middleware as unknown as Middleware<R>, { method, tasks: options.tasks })

/**
 * Puts `hook` around every message that arrives, for as long as the layer lives: requests of every method, also `initialize`, `ping` and
 * those that the server does not know, and notifications. It sees the message on the wire, before anything is decoded, and all other
 * middleware lies inside. The first that is registered is the outermost.
 *
 * A request is answered by what the hook gives, the result on the wire: `next` is the server's own answer. The hook runs in the request's
 * fiber, which a cancel and the end of the session interrupt, and may wait. Its error is the answer.
 *
 * Notifications of a session, or of one caller without a session, pass one after the other, in order of arrival; requests do not wait for
 * them. Of more than 1024 that wait, or 4 MiB of JSON, the newest is dropped. Cancels, progress and responses belong to requests: no hook
 * sees them, nor what a transport refuses. With a hook, `ping` waits for a permit like any request.
 *
 * The hook has a Scope for each message, and no services of a request. An `initialize` that it answers without `next` opens no session.
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

/** When the services of `provide` are made. */
export interface ProvideOptions {
  /**
   * Whether every request makes the service before it is handled, inside of all middleware, also where no feature needs it. Default: a
   * request makes it before the first handler whose layer was given it.
   */
  readonly eager?: boolean | undefined
}

/**
 * Makes a service for each request: the user, the tenant, a transaction. Provide the layer to the features that need it; their handlers
 * require the tag like any service, and a server whose features were not given it does not compile.
 *
 * `make` runs with the services of the request, after all middleware and before the handler. It runs at most once per request: per round,
 * where a request asks its client in rounds. What it acquires is released when the request ends. An `McpError` is the answer; those of
 * `McpError.unauthorized` and `forbidden` are 401 and 403 over HTTP. One such service may need another: provide that layer to this one.
 *
 * Handlers of tools, prompts, resources, lists, completions and extensions have it, and middleware, where their layers were given it: each
 * of them makes it, whether or not its code reads it. Layers, and streams of `changes`, which serve all requests, do not have it: their use
 * of it is a defect. A subscription to a resource runs no handler: what must refuse it is `visible`, middleware, or an eager service.
 *
 * Two fibers of a request share it. Its failure stays for the request, also where middleware runs `next` again.
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
      const provision: Provided.Provision = { key: tag.key, make: context.provided(() => make)() }
      // The marker stands for the service until a request makes it.
      const provided = Context.makeUnsafe<I>(new Map([[tag.key, Provided.marker(provision)]]))
      if (!eager) return Effect.succeed(provided)
      const { register } = Context.get(services, MiddlewareRegistry)
      const registering = register((_, next) => Effect.andThen(Provided.made(provision), next), { innermost: true })
      return Effect.as(Scope.provide(registering, scope), provided)
    })
  )
}
