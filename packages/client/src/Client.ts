/**
 * The interface of an MCP client, a service for one server, and its options.
 *
 * Closing the client's scope ends its requests, subscriptions and connection. The context that the client is built in decides which
 * questions the server may ask (`Sampling`, `Elicitation`, `Roots`) and which actions are allowed (`Consent`).
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

/** A decoded notification of the server: `params` has the canonical type of `method`. */
export type Announcement = {
  [M in keyof Method.ServerNotifications]: { readonly method: M; readonly params: Method.ServerNotifications[M] }
}[keyof Method.ServerNotifications]

export interface Options {
  /** How the client names itself. Default: this library. */
  readonly clientInfo?: Implementation | undefined
  /** The revisions that the client may speak; the newest that the server speaks is used. Default: all. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /**
   * How long a request waits for its answer, or for its next progress. Default 60 seconds. Opening a connection may take as long in
   * all, probe and handshake together.
   */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress restarts `timeout`. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long a request waits in all, whatever its progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** How long a request that was refused until URLs are visited (-32042) waits for them. Default 10 minutes. */
  readonly urlTimeout?: Duration.Input | undefined
  /**
   * How long a server may take to answer the probe of the stateless era before the older handshake is tried, too. Default 3 seconds, and
   * at most half of `timeout`. A server that answers the handshake then has a tenth of it more for the probe.
   */
  readonly probeTimeout?: Duration.Input | undefined
  /** Rounds of questions that one request may take (2026-07-28). Default 10. */
  readonly maxRounds?: number | undefined
  /** Results that are cached at most, where the server allows it (2026-07-28). Default 256; 0 caches none. */
  readonly cacheSize?: number | undefined
  /** Bytes of all cached results together, about; a larger result is not cached. Default 32 Mi. */
  readonly cacheBytes?: number | undefined
  /** Pages that a listing reads at most. Default 1000. */
  readonly maxPages?: number | undefined
  /** Bytes that a listing reads at most over all of its pages, about; then it fails with `InvalidResult`. Default 64 Mi. */
  readonly maxListBytes?: number | undefined
  /** Checks results of `callToolByName` against the output schemas that were listed. Default true. */
  readonly validateOutput?: boolean | undefined
  /**
   * Whether tools are listed before the first call of one that is not known: its arguments may belong in headers, or it may become a task.
   * `false`: once the server has refused a call for its headers. Default true.
   */
  readonly listsTools?: boolean | undefined
  /** Log messages that wait for a slow reader at most; the oldest are dropped. Default 256. */
  readonly logBuffer?: number | undefined
  /**
   * Called with each notification before the next message is read; must not block. `relatedTo` is the id of the request that it belongs
   * to, where the wire says so. For proxies; other programs use the client's streams.
   */
  readonly onAnnouncement?: ((announcement: Announcement, relatedTo: JsonRpc.Id | undefined) => void) | undefined
  /** The same for notifications that neither the revision nor an extension of the client describes. */
  readonly onUnknownNotification?: ((notification: RawNotification) => void) | undefined
  /** Pings the server, and closes the connection when it does not answer. Default off. */
  readonly keepAlive?: KeepAlive | undefined
  /**
   * What happens when the connection is lost. It is opened again when a request needs it; a child process is started again. Requests
   * that are safe to repeat are sent again, and subscriptions are renewed. `false`: none of this. Default: see `Policy`.
   */
  readonly reconnect?: Backoff.RetryPolicy | false | undefined
  /**
   * Whether a tool's `readOnlyHint` and `idempotentHint` are trusted: then its calls are sent again when their answer is lost. Only for
   * servers that are trusted. Default false.
   */
  readonly trustAnnotations?: boolean | undefined
  /**
   * Whether calls may become tasks at the server: then `callTool` and the like follow the task to its result. `false` declares no
   * extension for them, and asks for none. Default true.
   */
  readonly tasks?: boolean | undefined
  /** The client's experimental capabilities, by name. Default: none. */
  readonly experimental?: Connection.Options["experimental"]
  /** The client's extensions, by prefixed id. Default: none. */
  readonly extensions?: Connection.Options["extensions"]
  /**
   * What takes the place of `experimental` and `extensions` in a revision: sessions are declared in one of them, before the revision is
   * agreed on. For programs that declare what another client declared, such as a gateway. Default: the two are the same in all revisions.
   */
  readonly declaredIn?: Connection.Options["declaredIn"]
  /** Entries of the `_meta` of the requests that open a connection: `server/discover` and `initialize`. Default: none. */
  readonly openingMeta?: Connection.Options["openingMeta"]
  /** Called with the reason for which a message is dropped: invalid, unknown, or an answer to no request. Default: it is logged. */
  readonly dropped?: ((reason: string, level: "Warn" | "Debug") => void) | undefined
}

export type ConnectError = Negotiation.NegotiationError | TransportError

/**
 * The requests and streams of one server; `McpClient` is the service of this shape.
 *
 * Names are the methods of the specification, verb first: `tools/call` is `callTool`, `resources/read` is `readResource`. `callTool` and
 * `getPrompt` take a `Tool` or `Prompt` value and are typed by it; `...ByName` takes a name and untyped arguments. `list...` is a Stream
 * over all pages; `...Stream` shows progress before the result. Every request may fail with a `ClientError`.
 */
export interface Client extends Omit<ExtensionCalls, "request">, TaskMembers {
  /** The negotiated revision. This and the next three members may change when the client reconnects. */
  readonly revision: Revision
  /** How the server names itself; not verified. */
  readonly serverInfo: Implementation
  readonly serverCapabilities: ServerCapabilities
  /** The server's instructions for the model. */
  readonly instructions: string | undefined
  /** The requests that are forwarded for callers of another server; see `Sources`. */
  readonly forwarded: Pick<ForwardedRequests, "forward">
  /**
   * Calls a tool by its contract (spec: server/tools). A failure that the contract declares is the error itself; any other failure of
   * the tool is a `ToolFailure`.
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
  /** The same call as a stream of its progress, with the result last. Ending the stream early cancels the call. */
  readonly callToolStream: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<O>, F | ToolFailure | ClientError>
  /** Calls a tool by its name, with untyped arguments. A failure of the tool is a result with `isError`. */
  readonly callToolByName: Calls.Calls["callToolByName"]
  /** The same call as a stream of its progress, with the result last. Ending the stream early cancels the call. */
  readonly callToolByNameStream: (
    name: string,
    args?: Calls.CallArguments,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<ToolModel.CallToolResult>, ClientError>
  /**
   * All tools; pages are read as the stream is pulled (spec: server/utilities/pagination).
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
  /** All resources, as `listTools`. */
  readonly listResources: Stream.Stream<ResourceModel.Resource, ClientError>
  /** All resource templates, as `listTools`. */
  readonly listResourceTemplates: Stream.Stream<ResourceModel.ResourceTemplate, ClientError>
  /** All prompts, as `listTools`. */
  readonly listPrompts: Stream.Stream<PromptModel.Prompt, ClientError>
  /**
   * The contents of a resource (spec: server/resources). Fails with the server's `McpError` for an unknown URI.
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
  /** The texts of a resource, joined by newlines; binary parts are left out. */
  readonly readResourceText: (uri: string, options?: CallOptions) => Effect.Effect<string, ClientError>
  /** Gets a prompt by its name (spec: server/prompts). */
  readonly getPromptByName: (
    name: string,
    args?: { readonly [argument: string]: string },
    options?: CallOptions
  ) => Effect.Effect<PromptModel.GetPromptResult, ClientError>
  /**
   * Gets a prompt by its contract.
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
  /** Suggestions for an argument of a prompt or of a resource template (spec: server/utilities/completion). */
  readonly complete: (
    params: CompleteParams,
    options?: CallOptions
  ) => Effect.Effect<CompleteResult["completion"], ClientError>
  /**
   * Emits when the resource should be read again: at once, after each update, and after each renewal of a lost subscription. All
   * watchers of a URI share one subscription. Fails with `Closed` when it cannot be renewed (spec: server/resources, subscriptions).
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
  /** The request `resources/subscribe` alone: its updates are in `resourceUpdates`, and it is not renewed when it is lost. */
  readonly subscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  readonly unsubscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  /** The URIs of all updates, of every subscription. */
  readonly resourceUpdates: Stream.Stream<string>
  /** Asks the server for log messages of at least this level: once in a session, else with every later request (2026-07-28). */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  /** Log messages of the server, from now on. */
  readonly logs: Stream.Stream<LogMessageParams>
  /**
   * One event when the list may have changed, also after the server was lost; bursts become one event. Ends when the server announces
   * no more changes.
   */
  readonly toolChanges: Stream.Stream<void>
  readonly resourceChanges: Stream.Stream<void>
  readonly promptChanges: Stream.Stream<void>
  /**
   * Waits until the server announces changes of its lists. While one of the streams above runs, it emits every change from then on, so a list
   * that is read afterwards does not go stale unnoticed. Fails if the server refuses the subscription (2026-07-28).
   */
  readonly changesReady: Effect.Effect<void, ClientError>
  /** The ids of URL elicitations that the server reports as completed. */
  readonly elicitationsCompleted: Stream.Stream<string>
  /** How long the server takes to answer a ping. */
  readonly ping: Effect.Effect<Duration.Duration, ClientError>
  /**
   * Any request of the revision by its method, or of an extension by its value; typed by either. `Consent` is not asked; questions and
   * caching are as in the members above.
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
     * Fails with `CapabilityMissing`, and sends nothing, unless both sides declared the extension; with the failure that the method
     * declares; with `McpError` for any other error of the server.
     */
    <P, A, F>(
      request: Extension.Request<P, A, F, "client">,
      params: NoInfer<P>,
      options?: CallOptions
    ): Effect.Effect<A, F | ClientError>
  }
  /**
   * Completes when the server ended the conversation or the client was closed; fails when the connection broke. A client that reconnects
   * fails only when a connection that a request needed could not be opened again.
   */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

/** The service of a client of one server. */
export class McpClient extends Context.Service<McpClient, Client>()("@effect-mcp/client/McpClient") {}
