/**
 * Tool calls: untyped by name, typed by Tool value, and both as streams of progress.
 *
 * `Consent` is asked before anything is sent. If the server uses this library, a failure that the Tool value declares is decoded; a failure
 * from any other server is a `ToolFailure` with the result's text.
 */
import { isPlain } from "@effect-mcp/core/internal/codecs"
import type { AnyTool, InvalidValue, Tool } from "@effect-mcp/core/Tool"
import { failureKey, ToolFailure } from "@effect-mcp/core/Tools"
import * as StructuredContent from "@effect-mcp/protocol/StructuredContent"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, ToolExecution } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { type ClientError, InvalidResult } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Consent from "../answering/Consent.ts"
import { attend } from "../tasks/TaskHandling.ts"
import * as ExtensionTasks from "../tasks/ExtensionTasks.ts"
import type { ServerLists } from "./ServerLists.ts"

export type CallArguments = { readonly [name: string]: unknown }

/** A call event: any number of `Progress` events, followed by `Result`. */
export type CallEvent<A> =
  | {
      readonly _tag: "Progress"
      readonly progress: number
      readonly total?: number | undefined
      readonly message?: string | undefined
    }
  | { readonly _tag: "Result"; readonly value: A }

/** Number of progress events to keep for a slow reader. The oldest are dropped. */
const progressBuffer = 64

/** Runs an effect as a stream of its progress and its result. Ending the stream early interrupts the effect. */
export const stream = <A, E>(
  run: (options: CallOptions) => Effect.Effect<A, E>,
  options: CallOptions
): Stream.Stream<CallEvent<A>, E> =>
  Stream.callback<CallEvent<A>, E>(
    (queue) =>
      run({
        ...options,
        onProgress: (event) => {
          const { progress, total, message } = event
          Queue.offerUnsafe(queue, { _tag: "Progress", progress, total, message })
          return options.onProgress?.(event)
        }
      }).pipe(
        Effect.flatMap((value) => Queue.offer(queue, { _tag: "Result", value })),
        Effect.matchCauseEffect({
          onFailure: (cause) => Queue.failCause(queue, cause),
          onSuccess: () => Queue.end(queue)
        })
      ),
    { bufferSize: progressBuffer, strategy: "sliding" }
  )

const invalid = (message: string, result: CallToolResult): InvalidResult =>
  new InvalidResult({ method: "tools/call", message, result })

const textOf = ({ content }: CallToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

export interface Calls {
  readonly callToolByName: (
    name: string,
    args?: CallArguments,
    options?: CallOptions
  ) => Effect.Effect<CallToolResult, ClientError>
  readonly callTool: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Effect.Effect<O, F | ToolFailure | ClientError>
  /** Decodes a tool's output or failure from its result. */
  readonly typed: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    result: CallToolResult
  ) => Effect.Effect<O, F | ToolFailure | InvalidResult>
}

export interface Options {
  readonly connection: ReconnectingConnection
  readonly lists: ServerLists
  /** Runs a call and, if the server asks for URLs to be visited first, runs it again afterwards. */
  readonly retrying: <A>(call: () => Effect.Effect<A, ClientError>) => Effect.Effect<A, ClientError>
  readonly consent: Consent.Policy
  /** Whether to let calls become tasks. */
  readonly tasks: boolean
  /** Whether to check untyped results against the listed output schemas. */
  readonly validate: boolean
}

/** Facts about a tool that its `Tool` value supplies. */
interface Known {
  readonly tool?: AnyTool | undefined
  readonly support?: ToolExecution["taskSupport"]
}

const failure = <I, O, F, H>(tool: Tool<I, O, F, H>, result: CallToolResult): Effect.Effect<never, F | ToolFailure> => {
  const text = new ToolFailure({ message: textOf(result) })
  const wire = result._meta?.[failureKey]
  if (tool.failure === undefined || wire === undefined) return Effect.fail(text)
  return Effect.flatMap(
    Effect.mapError(tool.failure.decode(wire), () => text),
    Effect.fail
  )
}

const outputOf = <I, O, F, H>(tool: Tool<I, O, F, H>, result: CallToolResult): Effect.Effect<O, InvalidResult> => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without an output schema `O` is the result itself: the types of Tool.make and Tool.raw say so, this signature cannot
  if (tool.output === undefined) return Effect.succeed(result as O)
  const unfit = (message: string) => invalid(`The result of ${tool.name} does not match its schema: ${message}`, result)
  const value = StructuredContent.read(result)
  return value === undefined
    ? Effect.fail(unfit("the tool returned no structured content, and its text is not JSON"))
    : Effect.mapError(tool.output.decode(value), ({ message }) => unfit(message))
}

const isTool = (tool: unknown): boolean => typeof tool === "object" && tool !== null && "input" in tool

const typed: Calls["typed"] = (tool, result) =>
  result.isError === true ? failure(tool, result) : outputOf(tool, result)

export const make = (options: Options): Calls => {
  const { connection, consent, lists, retrying, tasks, validate } = options
  const { catalog, checked, headers } = lists
  const mayAsk = (): boolean => tasks && ExtensionTasks.mayAsk(connection)

  const attended = <A, E>(
    options: CallOptions | undefined,
    support: ToolExecution["taskSupport"],
    call: (options: CallOptions | undefined) => Effect.Effect<A, E>
  ): Effect.Effect<A, E> => {
    const isAttended = options?.onProgress !== undefined || support !== undefined
    return isAttended && tasks && ExtensionTasks.areOffered(connection.serverCapabilities)
      ? attend(options, support, call)
      : call(options)
  }

  /**
   * Adds arguments to the headers if the transport has them. A Tool value without annotations needs no headers, so the tools are not listed
   * for it.
   */
  const request = (name: string, args: CallArguments, options: CallOptions | undefined, { tool }: Known) => {
    const whole = () => connection.request("tools/call", { name, arguments: args }, options)
    if (!connection.headers) return whole()
    if (tool === undefined || !isPlain(tool.input)) {
      return headers.call(name, args, options, tool)
    }
    return Effect.catchTag(whole(), "McpError", (error) =>
      error.code === McpError.HeaderMismatch ? headers.callAnew(name, args, options) : Effect.fail(error)
    )
  }

  /** Checks that the tool is callable, asks for consent and sends the call. `flatMapEager` skips steps when a check is synchronous. */
  const send = (name: string, args: CallArguments, options: CallOptions | undefined, known: Known = {}) =>
    Effect.flatMapEager(catalog.checkCallable(name), () =>
      Consent.guard(
        consent,
        {
          _tag: "CallTool",
          server: connection.serverInfo,
          tool: name,
          arguments: args,
          annotations: catalog.annotations(name),
          ...(options?.view === undefined ? undefined : { view: options.view })
        },
        attended(options, mayAsk() ? (catalog.taskSupport(name) ?? known.support) : undefined, (options) =>
          retrying(() => request(name, args, options, known))
        )
      )
    )

  const callToolByName: Calls["callToolByName"] = (name, args = {}, options) =>
    Effect.suspend(() => {
      const call = () => send(name, args, options)
      return Effect.flatMapEager(headers.ensureListed(name, connection.headers || mayAsk()), () =>
        validate ? checked(name, call) : call()
      )
    })

  const callTool = <I, O, F, H>(tool: Tool<I, O, F, H>, input: NoInfer<I>, options?: CallOptions) => {
    // A JavaScript caller may pass a name.
    if (!isTool(tool))
      return Effect.die(
        new TypeError(
          `callTool expects a Tool value, not ${JSON.stringify(tool)}. To call a tool by name, use callToolByName`
        )
      )
    return Effect.mapError(tool.input.encode(input), encodeFailed).pipe(
      Effect.flatMap((args = {}) => {
        if (!isJsonObject(args)) return Effect.fail(encodeFailed({ message: "The arguments must be a JSON object" }))
        const known = { tool, support: tool.task }
        const call = () => send(tool.name, args, options, known)
        return known.support !== undefined || !mayAsk()
          ? call()
          : Effect.flatMapEager(headers.ensureListed(tool.name, true), call)
      }),
      Effect.flatMap((result) => typed(tool, result))
    )
  }

  return { callToolByName, callTool, typed }
}

/** The error for an input that the Tool value cannot encode. Nothing was sent. */
const encodeFailed = ({ message }: Pick<InvalidValue, "message">): McpError.McpError =>
  McpError.invalidParams(`The input does not match the tool's schema: ${message}`)
