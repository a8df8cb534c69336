/**
 * The interface and options of a client for a single MCP server.
 *
 * Closing the client's scope ends its requests, subscriptions and connection. The services in the context where the client is built
 * determine which questions the server may ask (`Sampling`, `Elicitation`, `Roots`) and which actions are allowed (`Consent`).
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
import type { ChangeMembers, ListMembers } from "./features/ListMembers.ts"
import type { ExtensionCalls, RawNotification } from "./extension/ExtensionCalls.ts"
import type { TaskMembers } from "./tasks/TaskHandle.ts"
import type * as Negotiation from "./connection/Negotiation.ts"
import type * as Watch from "./features/Watch.ts"

type CallEvent<A> = Calls.CallEvent<A>
type Requests = Method.ClientRequests

/** A decoded server notification. `method` determines the type of `params`. */
export type Announcement = {
  [M in keyof Method.ServerNotifications]: { readonly method: M; readonly params: Method.ServerNotifications[M] }
}[keyof Method.ServerNotifications]

export interface Options {
  /** Name and version to report to the server. Default: this library's name and version. */
  readonly clientInfo?: Implementation | undefined
  /** Protocol revisions the client may use. The client and server agree on the newest one they both support. Default: all revisions. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /**
   * How long to wait for a response or the next progress notification. Also limits how long opening a connection may take, including the
   * probe and handshake. Default 60 seconds.
   */
  readonly timeout?: Duration.Input | undefined
  /** Whether to restart `timeout` on each progress notification. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** Maximum total duration of a request, even if it keeps reporting progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** How long to wait for the user to visit the URLs a server requires before it accepts a request (error -32042). Default 10 minutes. */
  readonly urlTimeout?: Duration.Input | undefined
  /**
   * How long to wait for a response to the `server/discover` probe before also trying the older handshake. Default 3 seconds, but at most
   * half of `timeout`. If the server responds to the handshake first, the client waits another tenth of this time for the probe.
   */
  readonly probeTimeout?: Duration.Input | undefined
  /** Maximum number of question rounds per request (2026-07-28). Default 10. */
  readonly maxRounds?: number | undefined
  /** Maximum number of results to cache when the server allows caching (2026-07-28). Default 256; 0 disables the cache. */
  readonly cacheSize?: number | undefined
  /** Approximate cache size in bytes. A result larger than this is never cached. Default 32 MiB. */
  readonly cacheBytes?: number | undefined
  /** Maximum number of pages to fetch per list. Default 1000. */
  readonly maxPages?: number | undefined
  /** Approximate maximum size of a list in bytes, across all pages. A larger list fails with `InvalidResult`. Default 64 MiB. */
  readonly maxListBytes?: number | undefined
  /** Whether to validate `callToolByName` results against the server's output schemas. Default true. */
  readonly validateOutput?: boolean | undefined
  /**
   * Whether to list the server's tools before calling a tool the client hasn't seen yet. The listing shows which arguments to send as
   * headers and whether the call may become a task. If false, the client lists tools only after the server rejects a call's headers.
   * Default true.
   */
  readonly listsTools?: boolean | undefined
  /** Number of log messages to buffer for a slow reader. When the buffer is full, the oldest message is dropped. Default 256. */
  readonly logBuffer?: number | undefined
  /**
   * Called with each notification before the client reads the next message, so it must not block. `relatedTo` is the ID of the request the
   * notification belongs to, if the transport reports it. Intended for proxies; other programs should use the client's streams.
   */
  readonly onAnnouncement?: ((announcement: Announcement, relatedTo: JsonRpc.Id | undefined) => void) | undefined
  /** Like `onAnnouncement`, but for notifications that neither the revision nor any of the client's extensions defines. */
  readonly onUnknownNotification?: ((notification: RawNotification) => void) | undefined
  /** Pings the server periodically and closes the connection if it doesn't respond. Default off. */
  readonly keepAlive?: KeepAlive | undefined
  /**
   * How to recover from a lost connection. By default, the next request reopens the connection (restarting the child process if there is
   * one), requests that are safe to repeat are resent, and subscriptions are reopened. See `Policy` for the defaults. Set to false to
   * disable recovery.
   */
  readonly reconnect?: Backoff.RetryPolicy | false | undefined
  /**
   * Whether to trust the `readOnlyHint` and `idempotentHint` tool annotations and repeat such a call if its response is lost. Enable this
   * only for servers you trust. Default false.
   */
  readonly trustAnnotations?: boolean | undefined
  /**
   * Whether to let the server turn tool calls into tasks. If so, `callTool` and its variants follow the task until it has a result. If
   * false, the client neither declares task support nor requests tasks. Default true.
   */
  readonly tasks?: boolean | undefined
  /** Experimental client capabilities, by name. Default none. */
  readonly experimental?: Connection.Options["experimental"]
  /** Extensions the client declares, by ID. Default none. */
  readonly extensions?: Connection.Options["extensions"]
  /**
   * Overrides `experimental` and `extensions` for individual revisions. Meant for programs such as gateways that pass on another client's
   * declaration. Default: the same declaration in every revision.
   */
  readonly declaredIn?: Connection.Options["declaredIn"]
  /** Entries to add to `_meta` in the requests that open a connection (`server/discover` and `initialize`). Default none. */
  readonly openingMeta?: Connection.Options["openingMeta"]
  /**
   * Called with the reason when the client drops a message that is invalid, unknown, or a response to no known request. Default: logs the
   * reason.
   */
  readonly dropped?: ((reason: string, level: "Warn" | "Debug") => void) | undefined
}

export type ConnectError = Negotiation.NegotiationError | TransportError

/**
 * Requests to a server and streams from it. The corresponding service is `McpClient`.
 *
 * Members are named after the protocol's methods, verb first: `callTool` for `tools/call`, `readResource` for `resources/read`. `callTool`
 * and `getPrompt` take a typed `Tool` or `Prompt` value, and members ending in `ByName` take a name and untyped arguments. List members
 * (`listTools`, `listPrompts`, `listResources`, `listResourceTemplates`) stream the items of every page. Members ending in `Stream` emit
 * progress before the result. Every request can fail with a `ClientError`.
 */
export interface Client extends ListMembers, ChangeMembers, Omit<ExtensionCalls, "request">, TaskMembers {
  /**
   * The negotiated revision. Along with `serverInfo`, `serverCapabilities` and `instructions`, it may change when the client reconnects.
   */
  readonly revision: Revision
  /** The server's self-reported name and version. Not verified. */
  readonly serverInfo: Implementation
  readonly serverCapabilities: ServerCapabilities
  /** The server's instructions for the model, or `undefined` if it doesn't provide any. */
  readonly instructions: string | undefined
  /** Forwards requests on behalf of callers of another server; see `Sources`. */
  readonly forwarded: Pick<ForwardedRequests, "forward">
  /**
   * Calls a tool through its typed `Tool` value. Fails with the failure the tool declares, or with `ToolFailure` if the tool fails in any
   * other way.
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
  /** Like `callTool`, but streams progress followed by the result. Ending the stream early cancels the call. */
  readonly callToolStream: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<O>, F | ToolFailure | ClientError>
  /** Calls a tool by name with untyped arguments. If the tool fails, the result has `isError`. */
  readonly callToolByName: Calls.Calls["callToolByName"]
  /** Like `callToolByName`, but streams progress followed by the result. Ending the stream early cancels the call. */
  readonly callToolByNameStream: (
    name: string,
    args?: Calls.CallArguments,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<ToolModel.CallToolResult>, ClientError>
  /**
   * Lists the server's tools, fetching further pages as the stream is pulled. Every other list has a member like this one.
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
  readonly listTools: ListMembers["listTools"]
  /**
   * Reads a resource's contents. Fails with the server's `McpError` if the URI is unknown.
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
  /** Reads a resource and joins its text parts with newlines, skipping binary parts. */
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
   * Emits whenever you should read the resource again: right after subscribing, after each update, and after a lost subscription is
   * reopened. All watchers of a URI share one subscription. Fails with `Closed` if the subscription can't be reopened.
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
  /**
   * Only sends `resources/subscribe`. Updates arrive in `resourceUpdates`, and a lost subscription is not reopened. Prefer `watchResource`.
   */
  readonly subscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  readonly unsubscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  /** URIs of updated resources, across all subscriptions. */
  readonly resourceUpdates: Stream.Stream<string>
  /**
   * Sets the minimum level of the log messages the server sends. The level is sent once per session, or with every later request in
   * 2026-07-28.
   */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** Log messages received while the stream runs. */
  readonly logs: Stream.Stream<LogMessageParams>
  /**
   * Emits when the tool list may have changed, including after a lost connection. Several changes in quick succession produce one event.
   * Ends when the server stops announcing changes.
   */
  readonly toolChanges: ChangeMembers["toolChanges"]
  /**
   * Waits until the server has started to announce list changes. From then on, a running stream such as `toolChanges` emits every change,
   * so a list you read afterwards can't go stale unnoticed. Fails if the server rejects the subscription (2026-07-28).
   */
  readonly changesReady: Effect.Effect<void, ClientError>
  /** IDs of the URL elicitations the server reports as completed. */
  readonly elicitationsCompleted: Stream.Stream<string>
  /** Pings the server and returns the round-trip time. */
  readonly ping: Effect.Effect<Duration.Duration, ClientError>
  /**
   * Sends any request: a protocol method by name, or an extension's request by value. Handles questions and caching like the other members,
   * but does not ask `Consent`.
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
     * Fails with `CapabilityMissing`, without sending anything, unless both sides declared the extension. Otherwise fails with the method's
     * declared failure, or with `McpError` for any other server error.
     */
    <P, A, F>(
      request: Extension.Request<P, A, F, "client">,
      params: NoInfer<P>,
      options?: CallOptions
    ): Effect.Effect<A, F | ClientError>
  }
  /**
   * Completes when the server ends the session or the client is closed. Fails when the connection breaks. A client that reconnects fails
   * only if a request needs the connection and it can't be reopened.
   */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

/** The client service for a single server. */
export class McpClient extends Context.Service<McpClient, Client>()("@effect-mcp/client/McpClient") {}
