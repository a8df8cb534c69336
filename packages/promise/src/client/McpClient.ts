/**
 * An MCP client built on promises and async iterators. It supports every protocol revision, negotiates one with the server, and reconnects
 * after losing the connection.
 */
import { type CallOptions, changesOf, type ListMembers } from "@effect-mcp/client/McpClient"
import type { ListKind } from "@effect-mcp/protocol/MethodInfo"
import type { Client } from "@effect-mcp/client/Client"
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { notify, print } from "../boundary.ts"
import { messageOf, toPublic } from "../ErrorTranslation.ts"
import type {
  CallToolResult,
  Capabilities,
  Completion,
  GetPromptResult,
  Implementation,
  LogLevel,
  LogMessage,
  Prompt,
  ReadResourceResult,
  Tool
} from "../model/Results.ts"
import type { Resource, ResourceTemplate } from "../model/Content.ts"
import { connect } from "./connect.ts"
import type { ConnectOptions, RequestOptions, Target } from "./Options.ts"
import { outputOf } from "./output.ts"

/** A prompt or resource template with an argument to complete. */
export type CompletionReference = { readonly prompt: string } | { readonly uriTemplate: string }

/** A method for each list of the protocol, and the changes of every list. A missing list is a type error. */
type Lists = { readonly [M in keyof ListMembers]: () => AsyncIterable<unknown> } & {
  readonly changes: (of: ListKind) => AsyncIterable<void>
}

const errorOf = (cause: Cause.Cause<unknown>): unknown => toPublic(Cause.squash(cause))

/**
 * Runs an effect until it completes or the signal aborts. Aborting cancels the request on the server, with the signal's reason. The error is
 * created after an `await`, so that its stack shows the caller.
 */
const run = async <A>(effect: Effect.Effect<A, unknown>, signal?: AbortSignal): Promise<A> => {
  signal?.throwIfAborted()
  const fiber = Effect.runFork(effect)
  const cancel = (): void => fiber.interruptUnsafe(undefined, CancelReason.annotation(messageOf(signal?.reason)))
  signal?.addEventListener("abort", cancel, { once: true })
  const exit = await new Promise<Exit.Exit<A, unknown>>((resolve) => fiber.addObserver(resolve))
  signal?.removeEventListener("abort", cancel)
  if (Exit.isSuccess(exit)) return exit.value
  throw signal?.aborted === true && Cause.hasInterrupts(exit.cause) ? signal.reason : errorOf(exit.cause)
}

const iterate = <A>(stream: Stream.Stream<A, unknown>): AsyncIterable<A> =>
  Stream.toAsyncIterable(Stream.mapError(stream, toPublic))

const callOptions = ({ onProgress, signal: _ours, ...options }: RequestOptions): CallOptions => ({
  ...options,
  ...(onProgress && {
    onProgress: ({ message, progress, total }) =>
      notify(
        () =>
          onProgress({
            progress,
            ...(total === undefined ? undefined : { total }),
            ...(message === undefined ? undefined : { message })
          }),
        (thrown) => print("A request's onProgress callback threw an error", thrown)
      )
  })
})

/**
 * A connection to one server. Close it when you are done, or use `await using`.
 *
 * A request rejects with an `McpError` if the server responds with an error, with a `RequestError` if there is no usable response, and with
 * the signal's reason if its `signal` aborts. If a tool fails, the call still resolves, to a result with `isError`.
 *
 * @example
 * ```ts
 * import { McpClient, McpServer } from "@effect-mcp/promise"
 *
 * const server = new McpServer({ name: "hello", version: "1.0.0" })
 * server.tool("hello", { description: "Says hello" }, () => "Hello")
 * server.resource("notes://today", { name: "today" }, () => "All is well")
 *
 * await using client = await McpClient.connect(server)
 * for await (const { description, name } of client.listTools()) console.log(name, "-", description) // => hello - Says hello
 * console.log(await client.readText("notes://today")) // => All is well
 * await server.close()
 * ```
 */
export class McpClient {
  readonly #client: Client
  readonly #scope: Scope.Closeable

  private constructor(client: Client, scope: Scope.Closeable) {
    this.#client = client
    this.#scope = scope
  }

  /**
   * Connects to a server. Pass `{ command, args }` to start a child process, a URL or `{ url, headers }` to connect over HTTP, or an
   * `McpServer` to connect within this process. Rejects with a `RequestError` if the server can't be reached or has no revision in common
   * with the client.
   */
  static async connect(target: Target, options: ConnectOptions = {}): Promise<McpClient> {
    const scope = Scope.makeUnsafe()
    try {
      return new McpClient(await run(Scope.provide(connect(target, options), scope)), scope) satisfies Lists
    } catch (error) {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      throw error
    }
  }

  /** The negotiated revision, such as "2025-11-25". Like the server properties below, it may change after a reconnect. */
  get revision(): string {
    return this.#client.revision.version
  }

  /** The server's self-reported name and version. Not verified. */
  get serverInfo(): Implementation {
    return this.#client.serverInfo
  }

  /** The capabilities the server declared. */
  get serverCapabilities(): Capabilities {
    return { ...this.#client.serverCapabilities }
  }

  /** The server's instructions for the model, or `undefined` if it doesn't provide any. */
  get instructions(): string | undefined {
    return this.#client.instructions
  }

  /** Calls a tool and validates any structured content against the tool's listed output schema. */
  callTool(
    name: string,
    args: { readonly [name: string]: unknown } = {},
    options: RequestOptions = {}
  ): Promise<CallToolResult> {
    return run(this.#client.callToolByName(name, args, callOptions(options)), options.signal)
  }

  /**
   * Calls a tool and returns its structured content, validated and typed by `output`, a schema from any Standard Schema library. Rejects
   * with a `RequestError`. The reason is `ToolFailure` if the tool fails, with the tool's text as the message, or `InvalidResult` if the
   * result is invalid.
   *
   * @example
   * ```ts
   * import { McpClient, McpServer } from "@effect-mcp/promise"
   * import { z } from "zod"
   *
   * const Sum = z.object({ sum: z.number() })
   * const server = new McpServer({ name: "calculator", version: "1.0.0" })
   * const input = z.object({ a: z.number(), b: z.number() })
   * server.tool("add", { description: "Adds two numbers.", input, output: Sum }, ({ a, b }) => ({ sum: a + b }))
   *
   * await using client = await McpClient.connect(server)
   * const { sum } = await client.callTyped("add", { a: 1, b: 2 }, Sum)
   * console.log(sum) // => 3
   * ```
   */
  async callTyped<O extends StandardSchemaV1>(
    name: string,
    args: { readonly [name: string]: unknown },
    output: O,
    options: RequestOptions = {}
  ): Promise<StandardSchemaV1.InferOutput<O>> {
    return outputOf(name, await this.callTool(name, args, options), output)
  }

  /** Lists all tools, fetching each page as the iteration reaches it. */
  listTools(): AsyncIterable<Tool> {
    return iterate(this.#client.listTools)
  }

  /** Lists all resources, page by page. */
  listResources(): AsyncIterable<Resource> {
    return iterate(this.#client.listResources)
  }

  /** Lists all resource templates, page by page. */
  listResourceTemplates(): AsyncIterable<ResourceTemplate> {
    return iterate(this.#client.listResourceTemplates)
  }

  /** Lists all prompts, page by page. */
  listPrompts(): AsyncIterable<Prompt> {
    return iterate(this.#client.listPrompts)
  }

  /** Reads a resource. */
  readResource(uri: string, options: RequestOptions = {}): Promise<ReadResourceResult> {
    return run(this.#client.readResource(uri, callOptions(options)), options.signal)
  }

  /** Reads a resource as text. Joins its text parts with newlines and skips binary parts. */
  readText(uri: string, options: RequestOptions = {}): Promise<string> {
    return run(this.#client.readResourceText(uri, callOptions(options)), options.signal)
  }

  /** Renders a prompt with the given arguments. */
  getPrompt(
    name: string,
    args: { readonly [argument: string]: string } = {},
    options: RequestOptions = {}
  ): Promise<GetPromptResult> {
    return run(this.#client.getPromptByName(name, args, callOptions(options)), options.signal)
  }

  /** Requests suggestions for a prompt argument or a template variable. `others` holds the arguments already filled in. */
  complete(
    of: CompletionReference,
    argument: string,
    value: string,
    others: { readonly [argument: string]: string } = {},
    options: RequestOptions = {}
  ): Promise<Completion> {
    const ref =
      "prompt" in of
        ? { type: "ref/prompt" as const, name: of.prompt }
        : { type: "ref/resource" as const, uri: of.uriTemplate }
    const params = { ref, argument: { name: argument, value }, context: { arguments: others } }
    return run(this.#client.complete(params, callOptions(options)), options.signal)
  }

  /**
   * Subscribes to a resource. Yields its URI whenever you should read it: right away, after each update, and after a lost subscription is
   * reopened. Ending the iteration unsubscribes.
   */
  subscribe(uri: string): AsyncIterable<string> {
    return iterate(Stream.map(this.#client.watchResource(uri), (event) => event.uri))
  }

  /** Yields whenever a list may have changed. Several changes in quick succession produce one event. */
  changes(of: "tools" | "prompts" | "resources"): AsyncIterable<void> {
    return iterate(changesOf(this.#client, of))
  }

  /** Asks the server to send log messages of this level or above. */
  setLogLevel(level: LogLevel, options: RequestOptions = {}): Promise<void> {
    return run(this.#client.setLogLevel(level), options.signal)
  }

  /** Yields the server's log messages, starting now. */
  logs(): AsyncIterable<LogMessage> {
    return iterate(this.#client.logs)
  }

  /** Pings the server. Returns the round-trip time in milliseconds. */
  async ping(options: RequestOptions = {}): Promise<number> {
    return Duration.toMillis(await run(this.#client.ping, options.signal))
  }

  /** Cancels pending requests, ends subscriptions and closes the connection. */
  close(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
