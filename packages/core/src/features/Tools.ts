/**
 * All of a peer's tools as one service: a registry on the server, a proxy on the client, a `Layer.succeed` in a test.
 *
 * `Tools.layer` registers a tool for the lifetime of the layer. A handler's type lists its failures. Any other error is a defect, and the
 * caller receives -32603 without details.
 */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { type AskError, CapabilityMissing, Declined, missingCapabilityError } from "../request/ClientInput.ts"
import { textOf, wrongReturn } from "../internal/callback.ts"
import { attempt, exitOf } from "../internal/eager.ts"
import { registrationLayer } from "./registration.ts"
import { deferred, HandlerContext, type HandledRequest } from "./HandlerContext.ts"
import { Closed, Timeout } from "../peer/Peer.ts"
import type { Principal } from "../transport/Principal.ts"
import { type QueryServices, RequestContext, type RequestServices } from "../request/RequestContext.ts"
import type { InvalidValue, ToolContent, ToolOutput, Tool, ValueCodec } from "../contract/Tool.ts"
import { descriptor } from "../contract/ToolDescriptor.ts"
import { ToolFailure } from "../contract/ToolFailure.ts"

export { ToolFailure } from "../contract/ToolFailure.ts"

/** The `_meta` key under which a result carries a typed failure. Clients with the same Tool value decode it. */
export const failureKey = "effect-mcp/failure"

/** A source of tools: a server's registry, a client's view of a server, or a mounted server. */
export interface ToolSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Tool>, McpError.McpError, QueryServices>
  /** Calls a tool. Returns `undefined` if the source has no tool with this name. */
  readonly call: (
    params: Model.CallToolParams
  ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices> | undefined
  /** Emits whenever the result of `list` may have changed. */
  readonly changes: Stream.Stream<void>
}

/**
 * The tools a program can call, local or remote. Provide it with `ToolsTest` from the testing package, or with a client's tools.
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

/**
 * Limits for a single call. A call that exceeds a limit returns an `isError` result that names the tool and the limit.
 */
export interface CallLimits {
  /** How long a call may run before it is interrupted, including the time it waits for the client to answer questions. Default 1 hour. */
  readonly time?: Duration.Input | undefined
  /** Maximum result size in UTF-8 bytes: text, encoded media and structured content. Default 3 MiB. */
  readonly bytes?: number | undefined
}

/** A registered tool. */
export interface ToolEntry {
  readonly tool: Model.Tool
  /**
   * Starts a call. The server runs the returned effect immediately. If the call exceeds its time limit, `request` sends the response;
   * without `request`, a separate fiber enforces the limit.
   */
  readonly call: (
    params: Model.CallToolParams,
    request?: HandledRequest
  ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices>
  /** Returns true if the caller may see and call the tool. To all other callers, the tool doesn't exist. Default: visible to everyone. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
  /** Limits for this tool's calls. Default: the server's limits. */
  readonly limits?: CallLimits | undefined
  /** True if the handler decides whether a call becomes a task; see `Options`. Default false. */
  readonly beginsTask?: boolean | undefined
  /** How long a call may run before the client receives a task instead of a result; see `Options`. */
  readonly taskAfter?: Duration.Input | undefined
  /** True if the content of results differs from their structured content. Default: it repeats the structured content as JSON. */
  readonly hasOwnContent?: boolean | undefined
}

/** The tool registry. Registering a name twice is a defect. */
export class ToolRegistry extends Context.Service<
  ToolRegistry,
  {
    readonly register: (entry: ToolEntry) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Adds `_meta` entries to the tool with this name in the tool list, whether the tool is registered before or after
     * the call. For extensions that describe tools. Annotating the same key of a tool twice is a defect. Mounted tools
     * are not annotated.
     */
    readonly annotate: (name: string, meta: JsonObject) => Effect.Effect<void, never, Scope.Scope>
    /** Returns the registered tool with this name if the caller may see it. Mounted tools are not included. */
    readonly find: (name: string, principal: Principal["Service"]) => ToolEntry | undefined
    /**
     * Calls the tool with this name on behalf of the caller in the context. For code that responds outside the request. For `request`, see
     * `ToolEntry.call`.
     */
    readonly call: (
      params: Model.CallToolParams,
      request?: HandledRequest
    ) => Effect.Effect<Model.CallToolResult, McpError.McpError, RequestServices>
    /** Returns the names of all registered tools whose calls may become tasks, regardless of the caller. */
    readonly taskTools: () => ReadonlyArray<string>
    /** True if calls to the registered tool with this name may become tasks. */
    readonly mayBeTask: (name: string) => boolean
    /** True if the tool list may contain a tool that only runs as a task: either such a tool is registered, or a source is mounted. */
    readonly mayNeedTask: () => boolean
    /**
     * Adds all tools of a source and prepends `prefix` to their names. If a name clashes, the server's own tool wins, followed by the
     * source that was mounted first. Without prefixes, the server may have to list several sources to find a tool.
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

/** Converts the output of a handler without an output schema to a result. */
export const resultOf = (output: ToolOutput): Model.CallToolResult => {
  if (typeof output === "string") return { content: text(output) }
  if (isBlocks(output)) return { content: output }
  return isResult(output) ? output : { content: [output] }
}
/** Like `resultOf`, but throws if a block violates the specification. `owner` starts the message. */
const checkedResult = (owner: string, output: ToolOutput): Model.CallToolResult => {
  const result = resultOf(output)
  Validate.blocks(owner, result.content)
  return result
}
const isBlocks = (output: ToolOutput): output is ReadonlyArray<ContentBlock> => Array.isArray(output)
const isResult = (output: Exclude<ToolOutput, string | ReadonlyArray<ContentBlock>>): output is Model.CallToolResult =>
  "content" in output && Array.isArray(output.content)

/** Errors that the handler of a tool with the failure `F` may fail with. */
export type ToolHandlerError<F> = F | ToolFailure | AskError | McpError.McpError

/** Compile error for a handler that fails with `E` although its tool doesn't declare it. */
export interface Undeclared<E> {
  readonly "Fail with a ToolFailure, or declare the failure's schema as `failure:` in Tool.make": E
}

/** Compile error for a handler that returns a plain value or a Promise `A` instead of an Effect. */
export interface NoEffect<A> {
  readonly "Return an Effect: wrap a value in Effect.succeed, or a promise in Effect.tryPromise that maps its error to a ToolFailure": A
}

/**
 * A type whose name explains what is wrong with a handler's return type. A union, such as the type of a ternary, counts as one return type.
 */
export type Mistake<A, F, H> = [A] extends [Effect.Effect<infer _A, infer E, infer R>]
  ? [E] extends [ToolHandlerError<F>]
    ? Effect.Effect<H, ToolHandlerError<F>, R>
    : Effect.Effect<H, Undeclared<Exclude<E, ToolHandlerError<F>>>, R>
  : NoEffect<A>

/**
 * Converts a handler's typed failures to results or protocol errors. If a question to the client failed, the model reads the reason as
 * text.
 */
const recover =
  <F>(name: string, failure: ValueCodec<F> | undefined) =>
  (error: ToolHandlerError<F>): Effect.Effect<Model.CallToolResult, McpError.McpError, RequestContext> => {
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
            Effect.die(new Error(`The failure of the tool ${name} does not match its failure schema: ${message}`))
        })
  }
// By class, not by tag, because a declared failure may also have the tag Timeout.
const isOwn = <F>(error: F | ToolFailure | AskError): error is ToolFailure | AskError =>
  error instanceof ToolFailure ||
  error instanceof Declined ||
  error instanceof CapabilityMissing ||
  error instanceof Closed ||
  error instanceof Timeout
const messageOf = (error: unknown): string | undefined =>
  error instanceof Error && error.message !== "" ? error.message : undefined

/** Options for registering a tool. */
export interface Options {
  /** Returns true if the caller may see and call the tool. To all other callers, the tool doesn't exist. Default: visible to everyone. */
  readonly visible?: ((principal: Principal["Service"]) => boolean) | undefined
  /** Limits for this tool's calls. Default: the server's limits. */
  readonly limits?: CallLimits | undefined
  /**
   * Whether to let the handler decide when a call becomes a task, by calling `Tasks.begin` from the tasks package. Until then, the call is
   * an ordinary request. Only for a tool with `task`. Default false: if the client supports tasks, the call is a task from the start.
   */
  readonly beginsTask?: boolean
  /**
   * How long to wait for a call before the client receives a task instead of the result. Only for a tool with `task: "optional"`, in
   * 2026-07-28; in 2025-11-25 the client decides. Either way the handler runs once: while it runs as a task, its progress becomes the
   * task's status message. A question ends the wait early. Default: respond with the task immediately.
   */
  readonly taskAfter?: Duration.Input
}

/** Options for a tool whose handler returns `H`. */
export interface OutputOptions<H> extends Options {
  /**
   * Returns the content of a result, for example Markdown for a model that reads it better than JSON. `value` is the handler's output, which
   * is still sent as structured content. Only for a tool with `output`; any other tool is a defect. If the function throws or returns
   * anything else, the error is logged and the default is sent. Clients before 2025-06-18 receive only this content. Default: the value as
   * compact JSON.
   */
  readonly content?: ((value: H) => ToolContent) | undefined
}

/**
 * Offers `tool` for the lifetime of the layer. When the layer closes, calls in flight are allowed to finish. Services that the handler
 * needs remain in the layer's requirements, except for the ones that each request provides (`RequestServices`).
 *
 * A handler may fail with the tool's declared failure, `ToolFailure`, a failed question, or `McpError`. Registering two tools with the same
 * name is a defect. Throws if JSON Schema cannot express a schema, or if an `x-mcp-header` annotation is invalid.
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
  handler: (input: I) => Effect.Effect<H, ToolHandlerError<NoInfer<F>>, R>,
  options?: OutputOptions<NoInfer<H>>
): Layer.Layer<never, never, ToolRegistry | Exclude<R, RequestServices>>
/**
 * Never accepts a handler. The compiler reports the last overload that doesn't match, so this one exists to explain the error. `A` is `any`
 * if the options don't match, in which case the compiler reports the options instead.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- any other default would be reported as a mistake of the handler
export function layer<I, O, F, H, A = any>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => A & Mistake<A, NoInfer<F>, NoInfer<H>>,
  options?: OutputOptions<NoInfer<H>>
): Layer.Layer<never, never, ToolRegistry>
export function layer<I, O, F, H, R>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => Effect.Effect<H, ToolHandlerError<F>, R>,
  given: OutputOptions<H> = {}
): Layer.Layer<never, never, ToolRegistry | Exclude<R, RequestServices>> {
  const described = descriptor(tool)
  const { content, ...options } = given
  if (content !== undefined && tool.output === undefined) {
    throw new Error(
      `The tool ${tool.name} has the option content, which requires an output schema. Without one, the handler returns the content itself`
    )
  }
  return registrationLayer(ToolRegistry, (registry, services: Context.Context<Exclude<R, RequestServices>>) => {
    const context = new HandlerContext<R>(services)
    const handle = context.handler(handler)
    return registry.register({
      tool: described,
      call: caller(tool, (input, request) => request.run(handle(input), context), content),
      ...(content === undefined ? undefined : { hasOwnContent: true }),
      ...options
    })
  })
}

/**
 * Returns the result for a value with an output schema. Never fails, so that an encoded value isn't lost because its
 * text can't be created.
 */
const structured = <H>(
  owner: string,
  content: ((value: H) => ToolContent) | undefined,
  value: H,
  structuredContent: unknown
): Effect.Effect<Model.CallToolResult> => {
  const mirror = { content: text(JSON.stringify(structuredContent)), structuredContent }
  if (content === undefined) return Effect.succeed(mirror)
  try {
    const written = content(value)
    // Only possible in JavaScript: a promise, or nothing.
    if (typeof written !== "string" && !isBlocks(written) && !("type" in Object(written))) {
      throw wrongReturn("content", written, "text or content blocks")
    }
    return Effect.succeed({ ...checkedResult(owner, written), structuredContent })
  } catch (error) {
    return Effect.as(
      Effect.logError(`Sending ${owner} as JSON, because its content function failed: ${textOf(Cause.die(error))}`),
      mirror
    )
  }
}

/** Returns a function that decodes the arguments, runs the handler and encodes its output, each exactly once. */
export const caller = <I, O, F, H, R>(
  tool: Tool<I, O, F, H>,
  handler: (input: I, request: HandledRequest) => Effect.Effect<H, ToolHandlerError<F>, R>,
  content?: (value: H) => ToolContent
): ((
  params: Model.CallToolParams,
  request?: HandledRequest
) => Effect.Effect<Model.CallToolResult, McpError.McpError, R | RequestContext>) => {
  const { output } = tool
  const owner = `The result of the tool ${tool.name}`
  // Without an output schema `H` is `Output`, as the types of Tool.make and Tool.raw say. This signature cannot express that.
  const encode = (value: H): Effect.Effect<Model.CallToolResult> =>
    output === undefined
      ? typeof value === "string"
        ? Effect.succeed({ content: text(value) })
        : attempt(() => Effect.succeed(checkedResult(owner, value as ToolOutput)))
      : Effect.flatMapEager(Effect.catchEager(output.encode(value as O & H), unfit), (structuredContent) =>
          structured(owner, content, value, structuredContent)
        )
  const unfit = ({ message }: InvalidValue): Effect.Effect<never> =>
    Effect.die(new Error(`The output of the tool ${tool.name} does not match its output schema: ${message}`))
  const recovered = recover(tool.name, tool.failure)
  const run = (
    input: I,
    request: HandledRequest
  ): Effect.Effect<Model.CallToolResult, McpError.McpError, R | RequestContext> => {
    const effect = handler(input, request)
    const done = exitOf(effect)
    if (done === undefined) return Effect.matchEffect(effect, { onSuccess: encode, onFailure: recovered })
    return Exit.isSuccess(done) ? encode(done.value) : Effect.catchEager(Exit.failCause(done.cause), recovered)
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
