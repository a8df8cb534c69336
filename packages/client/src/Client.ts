/**
 * The interface of a client for one MCP server, and its options.
 *
 * Closing the client's scope ends its requests, subscriptions and connection. The context that builds the client decides which questions
 * the server may ask (`Sampling`, `Elicitation`, `Roots`) and which actions are allowed (`Consent`).
 */
import type * as Extension from "@effect-mcp/core/Extension"
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import type { Prompt } from "@effect-mcp/core/Prompt"
import type { Tool } from "@effect-mcp/core/Tool"
import type { ToolFailure } from "@effect-mcp/core/Tools"
import type { TransportError } from "@effect-mcp/core/Transport"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { LoggingLevel, LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import type * as PromptModel from "@effect-mcp/protocol/model/Prompt"
import type * as ResourceModel from "@effect-mcp/protocol/model/Resource"
import type * as ToolModel from "@effect-mcp/protocol/model/Tool"
import type { Revision, Version } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { ForwardedRequests } from "./answering/ForwardedRequests.ts"
import type { CallOptions } from "./CallOptions.ts"
import type * as Calls from "./features/Calls.ts"
import type * as Backoff from "./connection/Backoff.ts"
import type { ClientError } from "./ClientError.ts"
import type * as Connection from "./connection/Connection.ts"
import type { ExtensionCalls, RawNotification } from "./extension/ExtensionCalls.ts"
import type { TaskMembers } from "./tasks/TaskHandle.ts"
import type * as Negotiation from "./connection/Negotiation.ts"
import type * as Watch from "./features/Watch.ts"

type CallEvent<A> = Calls.CallEvent<A>
type Requests = Method.ClientRequests

/** A decoded notification from the server. The type of `params` follows from `method`. */
export type Announcement = {
  [M in keyof Method.ServerNotifications]: { readonly method: M; readonly params: Method.ServerNotifications[M] }
}[keyof Method.ServerNotifications]

export interface Options {
  /** Name and version that the client reports to the server. Default: the name and version of this library. */
  readonly clientInfo?: Implementation | undefined
  /**
   * Revisions of the protocol that the client may use. Client and server agree on the newest one that both support. Default: all revisions.
   */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /**
   * How long a request waits for its answer, or for the next progress notification. Also limits the time to open a connection, including
   * probe and handshake. Default 60 seconds.
   */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress restarts `timeout`. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long a request may take in total, even if it makes progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** How long to wait for the user to visit the URLs that the server requires before a request (error -32042). Default 10 minutes. */
  readonly urlTimeout?: Duration.Input | undefined
  /**
   * How long the server may take to answer the `server/discover` probe before the client also tries the older handshake. Default 3 seconds,
   * and at most half of `timeout`. A server that answers the handshake gets a tenth of this time more to answer the probe.
   */
  readonly probeTimeout?: Duration.Input | undefined
  /** Maximum number of rounds of questions that the server may ask during one request (2026-07-28). Default 10. */
  readonly maxRounds?: number | undefined
  /** Maximum number of cached results, for servers that allow caching (2026-07-28). Default 256; 0 disables the cache. */
  readonly cacheSize?: number | undefined
  /** Approximate total size of the cached results in bytes. Larger results are not cached. Default 32 MiB. */
  readonly cacheBytes?: number | undefined
  /** Maximum number of pages that a list may have. Default 1000. */
  readonly maxPages?: number | undefined
  /** Approximate maximum size of a list in bytes, over all pages. Larger lists fail with `InvalidResult`. Default 64 MiB. */
  readonly maxListBytes?: number | undefined
  /** Whether to check the results of `callToolByName` against the output schemas that the server lists. Default true. */
  readonly validateOutput?: boolean | undefined
  /**
   * Whether to list the server's tools before the first call of an unknown tool, because its arguments may have to be sent as headers and
   * its call may become a task. If false, the client lists tools only after the server rejects the headers of a call. Default true.
   */
  readonly listsTools?: boolean | undefined
  /** Number of log messages to keep for a slow reader; the oldest are dropped. Default 256. */
  readonly logBuffer?: number | undefined
  /**
   * Called with each notification before the next message is read. Must not block. `relatedTo` is the id of the request that the
   * notification belongs to, if the transport reports it. Meant for proxies; other programs should use the client's streams.
   */
  readonly onAnnouncement?: ((announcement: Announcement, relatedTo: JsonRpc.Id | undefined) => void) | undefined
  /** Like `onAnnouncement`, for notifications that neither the revision nor an extension of the client defines. */
  readonly onUnknownNotification?: ((notification: RawNotification) => void) | undefined
  /** Pings the server and closes the connection if it does not answer. Default off. */
  readonly keepAlive?: KeepAlive | undefined
  /**
   * How to recover from a lost connection. By default, the next request reopens the connection (and restarts a child process), requests
   * that are safe to repeat are sent again, and subscriptions are renewed. `Policy` has the defaults; false disables recovery.
   */
  readonly reconnect?: Backoff.RetryPolicy | false | undefined
  /**
   * Whether to trust a tool's `readOnlyHint` and `idempotentHint`, and repeat such a call if its answer is lost. Enable this only for
   * trusted servers. Default false.
   */
  readonly trustAnnotations?: boolean | undefined
  /**
   * Whether the server may turn a tool call into a task. `callTool` and its variants then follow the task to its result. If false, the
   * client neither declares nor requests tasks. Default true.
   */
  readonly tasks?: boolean | undefined
  /** Experimental capabilities of the client, by name. Default none. */
  readonly experimental?: Connection.Options["experimental"]
  /** Extensions that the client declares, by id. Default none. */
  readonly extensions?: Connection.Options["extensions"]
  /**
   * Overrides `experimental` and `extensions` for a revision. For programs such as gateways that repeat the declaration of another client.
   * Default: the same declaration in every revision.
   */
  readonly declaredIn?: Connection.Options["declaredIn"]
  /** Entries to add to `_meta` of the requests that open a connection: `server/discover` and `initialize`. Default none. */
  readonly openingMeta?: Connection.Options["openingMeta"]
  /** Called with the reason when the client drops a message: it is invalid or unknown, or answers no request. Default: logs the reason. */
  readonly dropped?: ((reason: string, level: "Warn" | "Debug") => void) | undefined
}

export type ConnectError = Negotiation.NegotiationError | TransportError

/**
 * Requests and streams of one server. `McpClient` is the service of this type.
 *
 * Members are named after the methods of the specification, verb first: `callTool` for `tools/call`, `readResource` for `resources/read`.
 * `callTool` and `getPrompt` accept a typed `Tool` or `Prompt` value; members that end in `ByName` accept a name and untyped arguments.
 * Members that begin with `list` stream the items of all pages, and members that end in `Stream` emit progress before the result. Every
 * request can fail with a `ClientError`.
 */
export interface Client extends Omit<ExtensionCalls, "request">, TaskMembers {
  /** The negotiated revision. `revision`, `serverInfo`, `serverCapabilities` and `instructions` may change when the client reconnects. */
  readonly revision: Revision
  /** Name and version that the server reports. Not verified. */
  readonly serverInfo: Implementation
  readonly serverCapabilities: ServerCapabilities
  /** The server's instructions for the model, or `undefined` if it has none. */
  readonly instructions: string | undefined
  /** Forwards requests on behalf of callers of another server; see `Sources`. */
  readonly forwarded: Pick<ForwardedRequests, "forward">
  /**
   * Calls a tool through its typed `Tool` value. Fails with the failure that the tool declares, or with `ToolFailure` for any other failure
   * of the tool.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools
   *
   * @example
   * ```ts
   * import { Tool, Tools } from "@effect-mcp/core"
   * import { McpTest } from "@effect-mcp/testing"
   * import { Effect, Schema } from "effect"
   *
   * const Add = Tool.make("add", {
   *   description: "Adds two numbers",
   *   input: { a: Schema.Finite, b: Schema.Finite },
   *   output: { sum: Schema.Finite }
   * })
   *
   * const program = Effect.gen(function* () {
   *   const client = yield* McpTest.connect(Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b })), "2025-11-25")
   *   const { sum } = yield* client.callTool(Add, { a: 1, b: 2 })
   *   console.log(sum)
   *   // => 3
   * })
   *
   * await Effect.runPromise(Effect.scoped(program))
   * ```
   */
  readonly callTool: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Effect.Effect<O, F | ToolFailure | ClientError>
  /** Like `callTool`, but streams the progress and then the result. Ending the stream early cancels the call. */
  readonly callToolStream: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<O>, F | ToolFailure | ClientError>
  /** Calls a tool by name with untyped arguments. If the tool fails, the result has `isError`. */
  readonly callToolByName: Calls.Calls["callToolByName"]
  /** Like `callToolByName`, but streams the progress and then the result. Ending the stream early cancels the call. */
  readonly callToolByNameStream: (
    name: string,
    args?: Calls.CallArguments,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<ToolModel.CallToolResult>, ClientError>
  /**
   * All tools of the server. Requests further pages as the stream is pulled.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination
   *
   * @example
   * ```ts
   * import { Tool, Tools } from "@effect-mcp/core"
   * import { McpTest } from "@effect-mcp/testing"
   * import { Effect, Stream } from "effect"
   *
   * const features = Tools.layer(Tool.make("hello", { description: "Says hello" }), () => Effect.succeed("Hello"))
   *
   * const program = Effect.gen(function* () {
   *   const client = yield* McpTest.connect(features, "2025-11-25")
   *   const tools = yield* Stream.runCollect(client.listTools)
   *   console.log(tools.map(({ name }) => name).join())
   *   // => hello
   * })
   *
   * await Effect.runPromise(Effect.scoped(program))
   * ```
   */
  readonly listTools: Stream.Stream<ToolModel.Tool, ClientError>
  /** All resources, page by page, like `listTools`. */
  readonly listResources: Stream.Stream<ResourceModel.Resource, ClientError>
  /** All resource templates, page by page, like `listTools`. */
  readonly listResourceTemplates: Stream.Stream<ResourceModel.ResourceTemplate, ClientError>
  /** All prompts, page by page, like `listTools`. */
  readonly listPrompts: Stream.Stream<PromptModel.Prompt, ClientError>
  /**
   * Reads the contents of a resource. Fails with the server's `McpError` if the URI is unknown.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#reading-resources
   *
   * @example
   * ```ts
   * import { Resources } from "@effect-mcp/core"
   * import { McpTest } from "@effect-mcp/testing"
   * import { Effect } from "effect"
   *
   * const features = Resources.layer({ uri: "config://app", name: "config" }, Effect.succeed("debug=false"))
   *
   * const program = Effect.gen(function* () {
   *   const client = yield* McpTest.connect(features, "2025-11-25")
   *   const { contents } = yield* client.readResource("config://app")
   *   console.log(contents.length, yield* client.readResourceText("config://app"))
   *   // => 1 debug=false
   * })
   *
   * await Effect.runPromise(Effect.scoped(program))
   * ```
   */
  readonly readResource: (
    uri: string,
    options?: CallOptions
  ) => Effect.Effect<ResourceModel.ReadResourceResult, ClientError>
  /** Reads a resource and joins its text contents with newlines, ignoring binary contents. */
  readonly readResourceText: (uri: string, options?: CallOptions) => Effect.Effect<string, ClientError>
  /**
   * Gets a prompt by name.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/prompts#getting-a-prompt
   */
  readonly getPromptByName: (
    name: string,
    args?: { readonly [argument: string]: string },
    options?: CallOptions
  ) => Effect.Effect<PromptModel.GetPromptResult, ClientError>
  /**
   * Gets a prompt through its typed `Prompt` value.
   *
   * @example
   * ```ts
   * import { Prompt, Prompts } from "@effect-mcp/core"
   * import { McpTest } from "@effect-mcp/testing"
   * import { Effect, Schema } from "effect"
   *
   * const Review = Prompt.make("review", { description: "Reviews a file", arguments: { file: Schema.String } })
   *
   * const program = Effect.gen(function* () {
   *   const client = yield* McpTest.connect(
   *     Prompts.layer(Review, ({ file }) => Effect.succeed(`Review ${file}`)),
   *     "2025-11-25"
   *   )
   *   const { messages } = yield* client.getPrompt(Review, { file: "main.ts" })
   *   console.log(messages[0]?.content.type)
   *   // => text
   * })
   *
   * await Effect.runPromise(Effect.scoped(program))
   * ```
   */
  readonly getPrompt: <A>(
    prompt: Prompt<A>,
    args: A,
    options?: CallOptions
  ) => Effect.Effect<PromptModel.GetPromptResult, ClientError>
  /**
   * Requests suggestions for an argument of a prompt or resource template.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion
   */
  readonly complete: (
    params: CompleteParams,
    options?: CallOptions
  ) => Effect.Effect<CompleteResult["completion"], ClientError>
  /**
   * Emits whenever the resource should be read again: once subscribed, after each update, and after a lost subscription is renewed. All
   * watchers of a URI share one subscription. Fails with `Closed` if the subscription cannot be renewed.
   *
   * @see https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
   *
   * @example
   * ```ts
   * import { McpClient } from "@effect-mcp/client"
   * import { Effect, Stream } from "effect"
   *
   * export const follow = (uri: string) =>
   *   Effect.flatMap(McpClient.McpClient, (client) =>
   *     client.watchResource(uri).pipe(
   *       Stream.mapEffect(() => client.readResourceText(uri)),
   *       Stream.runForEach((text) => Effect.log(text))
   *     )
   *   )
   * ```
   */
  readonly watchResource: (uri: string) => Stream.Stream<Watch.WatchEvent, ClientError>
  /** Sends `resources/subscribe` only. Updates arrive in `resourceUpdates`; a lost subscription is not renewed. Prefer `watchResource`. */
  readonly subscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  readonly unsubscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  /** URIs of updated resources, from all subscriptions. */
  readonly resourceUpdates: Stream.Stream<string>
  /** Asks the server for log messages of at least this level. Sent once per session, or with every later request in 2026-07-28. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** Log messages that the server sends while the stream runs. */
  readonly logs: Stream.Stream<LogMessageParams>
  /**
   * Emits when the list of tools may have changed, including after a lost connection. Bursts of changes become one event. Ends when the
   * server stops announcing changes.
   */
  readonly toolChanges: Stream.Stream<void>
  readonly resourceChanges: Stream.Stream<void>
  readonly promptChanges: Stream.Stream<void>
  /**
   * Waits until the server announces changes of its lists. A running stream of changes, such as `toolChanges`, then emits every later
   * change, so a list that you read afterwards cannot become stale unnoticed. Fails if the server rejects the subscription (2026-07-28).
   */
  readonly changesReady: Effect.Effect<void, ClientError>
  /** Ids of the URL elicitations that the server reports as completed. */
  readonly elicitationsCompleted: Stream.Stream<string>
  /** Pings the server and returns how long the answer took. */
  readonly ping: Effect.Effect<Duration.Duration, ClientError>
  /**
   * Sends any request: a method of the revision by name, or a request of an extension by value. Does not ask `Consent`. Answers questions
   * and caches results like the other members.
   *
   * @example
   * ```ts
   * import { McpClient } from "@effect-mcp/client"
   * import { Extension } from "@effect-mcp/core"
   * import { Effect, Schema } from "effect"
   *
   * const Clock = Extension.make("com.example/clock", {
   *   requests: { now: Extension.request("com.example/clock/now", { result: { time: Schema.String } }) }
   * })
   *
   * export const times = Effect.gen(function* () {
   *   const { request } = yield* McpClient.McpClient
   *   const { tools } = yield* request("tools/list", {})
   *   const { time } = yield* request(Clock.requests.now, {})
   *   return [tools.length, time]
   * })
   * ```
   */
  readonly request: {
    <M extends keyof Requests>(
      method: M,
      params: Requests[M]["params"],
      options?: CallOptions
    ): Effect.Effect<Requests[M]["result"], ClientError>
    /**
     * Fails with `CapabilityMissing`, before sending anything, unless both sides declared the extension. Fails with the failure that the
     * method declares, or with `McpError` for any other error of the server.
     */
    <P, A, F>(
      request: Extension.Request<P, A, F, "client">,
      params: NoInfer<P>,
      options?: CallOptions
    ): Effect.Effect<A, F | ClientError>
  }
  /**
   * Completes when the server ends the conversation or the client is closed. Fails when the connection breaks; a client that reconnects
   * fails only if a request needed a connection that could not be reopened.
   */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

/** The service of a client for one server. */
export class McpClient extends Context.Service<McpClient, Client>()("@effect-mcp/client/McpClient") {}
