/**
 * The tools of a peer, behind one tag: a registry on the server, a proxy on the client, a `Layer.succeed` in a test.
 *
 * `Tools.layer` registers a tool for as long as the layer lives. The failures of a handler are in its type; any other error is a
 * defect, answered by -32603 without details.
 */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { type AskError, CapabilityMissing, Declined, missingCapabilityError } from "../request/ClientInput.ts"
import { exitOf } from "../internal/eager.ts"
import { registrationLayer } from "./registration.ts"
import { deferred, HandlerContext, type HandledRequest } from "./HandlerContext.ts"
import { Closed, Timeout } from "../peer/Peer.ts"
import type { Principal } from "../transport/Principal.ts"
import { type QueryServices, RequestContext, type RequestServices } from "../request/RequestContext.ts"
import type { InvalidValue, ToolOutput, Tool, ValueCodec } from "../contract/Tool.ts"
import { descriptor } from "../contract/ToolDescriptor.ts"
import { ToolFailure } from "../contract/ToolFailure.ts"

export { ToolFailure } from "../contract/ToolFailure.ts"

/** The key of a typed failure in a result's `_meta`; clients with the same Tool value decode it. */
export const failureKey = "effect-mcp/failure"

/** A source of tools: a server's registry, a client's view of a server, a mounted server. */
export interface ToolSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Tool>, McpError.McpError, QueryServices>
  /** `undefined` when the source has no tool of that name. */
  readonly call: (
    params: Model.CallToolParams
  ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices> | undefined
  /** One event whenever `list` may answer differently. */
  readonly changes: Stream.Stream<void>
}

/**
 * The tools that a program calls, wherever they are: provide `ToolsTest` of testing, or those of a client.
 *
 * @example
 * ```ts
 * import { Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const names = Effect.flatMap(Tools.Tools, ({ list }) => Effect.map(list, (tools) => tools.map(({ name }) => name)))
 * ```
 */
export class Tools extends Context.Service<Tools, ToolSource>()("@effect-mcp/core/Tools") {}

/** Limits of one call. Beyond them its result has `isError` and names the tool and the limit. */
export interface CallLimits {
  /** How long a call may run, including its waits for answers of the client; then it is interrupted. Default 1 hour. */
  readonly time?: Duration.Input | undefined
  /** The largest result, in bytes of UTF-8: text, encoded media and structured content. Default 3 MiB. */
  readonly bytes?: number | undefined
}

/** A tool as a registry holds it. */
export interface ToolEntry {
  readonly tool: Model.Tool
  /**
   * Called right before its effect runs. `request` answers in place of a call that takes too long; without one another fiber watches
   * the time.
   */
  readonly call: (
    params: Model.CallToolParams,
    request?: HandledRequest
  ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices>
  /** Whether a caller sees the tool and may call it; otherwise it does not exist. Default true. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
  /** Default: the limits of the server. */
  readonly limits?: CallLimits | undefined
  /** Whether a call becomes a task where its handler says so; see `Options`. Default false. */
  readonly beginsTask?: boolean | undefined
  /** How long a call may take before it is answered by its task; see `Options`. */
  readonly taskAfter?: Duration.Input | undefined
}

/** Where feature layers register. A name that is taken is a defect. */
export class ToolRegistry extends Context.Service<
  ToolRegistry,
  {
    readonly register: (entry: ToolEntry) => Effect.Effect<void, never, Scope.Scope>
    /** The registered tool of that name, where the caller sees it; mounted tools are not among them. */
    readonly find: (name: string, principal: Principal["Service"]) => ToolEntry | undefined
    /**
     * Calls the tool of that name as the caller of the context: for code that answers outside of the request. `request` as in
     * `ToolEntry.call`.
     */
    readonly call: (
      params: Model.CallToolParams,
      request?: HandledRequest
    ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices>
    /** The names of the registered tools whose calls may become tasks, for all callers. */
    readonly taskTools: () => ReadonlyArray<string>
    /** Whether a registered tool has that name whose calls may become tasks. */
    readonly mayBeTask: (name: string) => boolean
    /** Whether lists may have a tool that runs only as a task: a registered one does, or a source is mounted. */
    readonly mayNeedTask: () => boolean
    /**
     * Adds all tools of a source; `prefix` comes before their names. Of two with one name the server's own tool answers, else the source
     * that was mounted first. Without prefixes the lists of several sources are read to find the name.
     */
    readonly mount: (
      source: ToolSource,
      options?: { readonly prefix?: string }
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@effect-mcp/core/ToolRegistry") {}

const text = (value: string): ReadonlyArray<ContentBlock> => [{ type: "text", text: value }]

const failed = (message: string, failure?: unknown): Model.CallToolResult =>
  failure === undefined
    ? { content: text(message), isError: true }
    : { content: text(message), isError: true, _meta: { [failureKey]: failure } }

/** The result of a handler without an output schema. */
export const resultOf = (output: ToolOutput): Model.CallToolResult => {
  if (typeof output === "string") return { content: text(output) }
  if (isBlocks(output)) return { content: output }
  return isResult(output) ? output : { content: [output] }
}
const isBlocks = (output: ToolOutput): output is ReadonlyArray<ContentBlock> => Array.isArray(output)
const isResult = (output: Exclude<ToolOutput, string | ReadonlyArray<ContentBlock>>): output is Model.CallToolResult =>
  "content" in output && Array.isArray(output.content)

type HandlerError<F> = F | ToolFailure | AskError | McpError.McpError

/** The type error of a handler whose failure `E` its tool does not declare. */
export interface Undeclared<E> {
  readonly "Fail with a ToolFailure, or declare the failure's schema as `failure:` of Tool.make": E
}

/** The type error of a handler that returns `A` instead of an Effect: an async function, or a plain value. */
export interface NoEffect<A> {
  readonly "Return an Effect: a value in Effect.succeed, a promise in Effect.tryPromise with its error as a ToolFailure": A
}

/** A type whose name explains what is wrong with the return type of a handler. A union, as of a ternary, is one return type. */
export type Mistake<A, F, H> = [A] extends [Effect.Effect<infer _A, infer E, infer R>]
  ? [E] extends [HandlerError<F>]
    ? Effect.Effect<H, HandlerError<F>, R>
    : Effect.Effect<H, Undeclared<Exclude<E, HandlerError<F>>>, R>
  : NoEffect<A>

/** A handler's typed failures, as results or protocol errors. A failed question to the client is for the model to read. */
const recover =
  <F>(name: string, failure: ValueCodec<F> | undefined) =>
  (error: HandlerError<F>): Effect.Effect<Model.CallToolResult, McpError.McpError, RequestContext> => {
    if (error instanceof McpError.McpError) return Effect.fail(error)
    if (error instanceof CapabilityMissing) {
      return Effect.flatMap(RequestContext, ({ revision }) =>
        revision.rules.missingCapability === "error"
          ? Effect.fail(missingCapabilityError(error))
          : Effect.succeed(failed(error.message))
      )
    }
    if (isOwn(error)) return Effect.succeed(failed(error.message))
    return failure === undefined
      ? Effect.die(error)
      : Effect.matchEffect(failure.encode(error), {
          onSuccess: (encoded) => Effect.succeed(failed(messageOf(error) ?? JSON.stringify(encoded), encoded)),
          onFailure: ({ message }) =>
            Effect.die(new Error(`The failure of the tool ${name} does not fit its failure schema: ${message}`))
        })
  }
// By class, not by tag: a declared failure may have the tag Timeout.
const isOwn = <F>(error: F | ToolFailure | AskError): error is ToolFailure | AskError =>
  error instanceof ToolFailure ||
  error instanceof Declined ||
  error instanceof CapabilityMissing ||
  error instanceof Closed ||
  error instanceof Timeout
const messageOf = (error: unknown): string | undefined =>
  error instanceof Error && error.message !== "" ? error.message : undefined

/** How a tool is offered. */
export interface Options {
  /** Whether a caller sees the tool and may call it; otherwise it does not exist. Default true. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
  /** Default: the limits of the server. */
  readonly limits?: CallLimits | undefined
  /**
   * For a tool with `task`: whether the handler says when the call becomes a task (`Tasks.begin` of the package tasks), and is an ordinary
   * request until then. Default false: the call is a task from its start, where the client can have one.
   */
  readonly beginsTask?: boolean
  /**
   * For a tool with `task: "optional"`: a call that ends within this time is answered without a task, a longer one by its task (2026-07-28; in
   * 2025-11-25 the client decides). The handler runs once, as the task: its progress is the message of the task, and a question of it ends
   * the wait. Default: the task is the answer at once.
   */
  readonly taskAfter?: Duration.Input
}

/**
 * Offers `tool` for as long as the layer lives; closing it first lets the calls in flight end. The handler's own services stay in the
 * layer's requirements; those of the request (`RequestServices`) do not.
 *
 * A handler may fail with the tool's declared failure, `ToolFailure`, a failed question, or `McpError`. Two tools of one name are a defect.
 * Throws for a schema that JSON Schema cannot express, and a broken rule of `x-mcp-header`.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Schema } from "effect"
 *
 * const Divide = Tool.make("divide", {
 *   description: "Divides two numbers",
 *   input: { a: Schema.Finite, b: Schema.Finite },
 *   output: { quotient: Schema.Finite }
 * })
 *
 * const divide = Tools.layer(Divide, ({ a, b }) =>
 *   b === 0 ? Effect.fail(new Tools.ToolFailure({ message: "Cannot divide by zero" })) : Effect.succeed({ quotient: a / b })
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(divide, "2025-11-25")
 *   yield* Console.log((yield* client.callTool(Divide, { a: 6, b: 3 })).quotient) // => 2
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export function layer<I, O, F, H, R>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => Effect.Effect<H, HandlerError<NoInfer<F>>, R>,
  options?: Options
): Layer.Layer<never, never, ToolRegistry | Exclude<R, RequestServices>>
/**
 * Accepts no handler. The compiler reports the last signature that does not fit: this one, which explains the error. `A` is `any` if the
 * options do not fit, which the compiler reports then.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- any other default would be reported as a mistake of the handler
export function layer<I, O, F, H, A = any>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => A & Mistake<A, NoInfer<F>, NoInfer<H>>,
  options?: Options
): Layer.Layer<never, never, ToolRegistry>
export function layer<I, O, F, H, R>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => Effect.Effect<H, HandlerError<F>, R>,
  options: Options = {}
): Layer.Layer<never, never, ToolRegistry | Exclude<R, RequestServices>> {
  const described = descriptor(tool)
  return registrationLayer(ToolRegistry, (registry, services: Context.Context<Exclude<R, RequestServices>>) => {
    const context = new HandlerContext<R>(services)
    const handle = context.handler(handler)
    return registry.register({
      tool: described,
      call: caller(tool, (input, request) => request.run(handle(input), context)),
      ...options
    })
  })
}

/** Decodes the arguments, runs the handler and encodes its output, each once. */
const caller = <I, O, F, H>(
  tool: Tool<I, O, F, H>,
  handler: (input: I, request: HandledRequest) => Effect.Effect<H, HandlerError<F>, RequestServices>
): ToolEntry["call"] => {
  const { output } = tool
  // Without an output schema `H` is `Output`: the types of Tool.make and Tool.raw say so, this signature cannot.
  const encode = (value: H): Effect.Effect<Model.CallToolResult> =>
    output === undefined
      ? Effect.succeed(resultOf(value as ToolOutput))
      : Effect.mapEager(Effect.catchEager(output.encode(value as O & H), unfit), (structuredContent) => ({
          content: text(JSON.stringify(structuredContent)),
          structuredContent
        }))
  const unfit = ({ message }: InvalidValue): Effect.Effect<never> =>
    Effect.die(new Error(`The output of the tool ${tool.name} does not fit its output schema: ${message}`))
  const recovered = recover(tool.name, tool.failure)
  const run = (
    input: I,
    request: HandledRequest
  ): Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices> => {
    const effect = handler(input, request)
    const done = exitOf(effect)
    if (done !== undefined && Exit.isSuccess(done)) return encode(done.value)
    const encoded: Effect.Effect<Model.CallToolResult, HandlerError<F>, RequestServices> = Effect.flatMapEager(
      effect,
      encode
    )
    return Effect.catchEager(encoded, recovered)
  }
  const refuse = ({ message }: InvalidValue) =>
    Effect.flatMap(RequestContext, ({ revision }) =>
      revision.rules.invalidToolArguments === "result"
        ? Effect.succeed(failed(`Invalid arguments for tool ${tool.name}: ${message}`))
        : Effect.fail(McpError.invalidParams(`Invalid arguments for tool ${tool.name}: ${message}`))
    )
  return (params, request = deferred) => {
    const decoded = tool.input.decode(params.arguments ?? {})
    const done = exitOf(decoded)
    if (done !== undefined && Exit.isSuccess(done)) return run(done.value, request)
    return Effect.matchEffect(decoded, { onSuccess: (input) => run(input, deferred), onFailure: refuse })
  }
}
