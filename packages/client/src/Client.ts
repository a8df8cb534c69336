/**
 * An MCP client: one server, wherever it runs, as a service; and what it is told when it is opened.
 *
 * Owns the conversation for as long as its Scope: closing it ends everything below. What it lets the server ask (`Sampling`,
 * `Elicitation`, `Roots`) and what it lets leave (`Consent`) is taken from the context that it is built in.
 */
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
import type * as Negotiation from "./connection/Negotiation.ts"
import type * as Watch from "./features/Watch.ts"

type CallEvent<A> = Calls.CallEvent<A>
type Requests = Method.ClientRequests

/** A notification of the server's, decoded: `params` has the canonical type of `method`. */
export type Announcement = {
  [M in keyof Method.ServerNotifications]: { readonly method: M; readonly params: Method.ServerNotifications[M] }
}[keyof Method.ServerNotifications]

export interface Options {
  /** Who asks. Default: this library. */
  readonly clientInfo?: Implementation | undefined
  /** The revisions to speak; the newest of them is offered. Default: all. */
  readonly revisions?: ReadonlyArray<Version> | undefined
  /**
   * How long a request waits for its answer, or for its next progress. Default 60 seconds. Opening the conversation may take as long,
   * whatever is tried for it.
   */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress starts the wait anew. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long a request waits whatever its progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** How long a request that needs pages visited first (-32042) waits for them. Default 10 minutes. */
  readonly urlTimeout?: Duration.Input | undefined
  /**
   * How long a server may take to show that it is of the stateless era, before the older handshake is tried, too. Default 3 seconds;
   * never more than half of `timeout`.
   */
  readonly probeTimeout?: Duration.Input | undefined
  /** Rounds of questions that one request may take (2026-07-28). Default 10. */
  readonly maxRounds?: number | undefined
  /** Answers kept at most, where the server allows keeping them (2026-07-28). Default 256; 0 keeps none. */
  readonly cacheSize?: number | undefined
  /** Bytes that all kept answers may have together, about; a larger one is not kept. Default 32 Mi. */
  readonly cacheBytes?: number | undefined
  /** Pages that a listing reads at most. Default 1000. */
  readonly maxPages?: number | undefined
  /** Bytes that a listing reads at most over all of its pages, about; then it fails with `InvalidResult`. Default 64 Mi. */
  readonly maxListBytes?: number | undefined
  /** Checks results of `callToolByName` against the output schemas that were listed. Default true. */
  readonly validateOutput?: boolean | undefined
  /** Log messages that wait for a slow reader at most; the oldest are dropped. Default 256. */
  readonly logBuffer?: number | undefined
  /**
   * Told of whatever the server says without being asked, before the next message is read: it must not block. `relatedTo` is the id of
   * the request that it belongs to, where the wire says so. For whoever passes it on; the client's streams are for everybody else.
   */
  readonly onAnnouncement?: ((announcement: Announcement, relatedTo: JsonRpc.Id | undefined) => void) | undefined
  /** Pings the server, and gives the connection up when it does not answer. Default off. */
  readonly keepAlive?: KeepAlive | undefined
  /**
   * How to come back when the server is lost: a connection that someone needs is opened again (a child process is started again), what
   * is safe to send again is sent again, subscriptions are asked for again. `false`: everything ends as it ends. Default: see `Policy`.
   */
  readonly reconnect?: Backoff.Policy | false | undefined
  /**
   * Takes the server's word for it that a tool only reads or may run twice (`readOnlyHint`, `idempotentHint`): its calls are sent again
   * when their answer is lost. Only for servers that are trusted. Default false.
   */
  readonly trustAnnotations?: boolean | undefined
  readonly experimental?: Connection.Options["experimental"]
  /** By prefixed id. */
  readonly extensions?: Connection.Options["extensions"]
  /** Told of what is dropped by rule: junk on the wire, answers to nothing, unknown notifications. Default: it is logged. */
  readonly dropped?: ((reason: string, level: "Warn" | "Debug") => void) | undefined
}

export type ConnectError = Negotiation.NegotiationError | TransportError

/**
 * What a program does with one server; `McpClient` is the service, this is its shape.
 *
 * Names are the methods of the specification, verb first: `tools/call` is `callTool`, `resources/read` is `readResource`. `callTool` and
 * `getPrompt` take a `Tool` or `Prompt` value and are typed by it; `...ByName` takes a name and untyped arguments. `list...` is a Stream
 * over all pages; `...Stream` shows progress before the result. Progress also goes to `CallOptions.onProgress`.
 */
export interface Client {
  /** What both sides agreed to speak; after a reconnect this and the next three may be others. */
  readonly revision: Revision
  readonly serverInfo: Implementation
  readonly serverCapabilities: ServerCapabilities
  /** How to use the server, for the model. */
  readonly instructions: string | undefined
  /** The requests that are forwarded for callers of another server; see `Sources`. */
  readonly forwarded: ForwardedRequests
  /** Calls a tool by its contract. A failure that the contract declares comes back as itself, any other as `ToolFailure`. */
  readonly callTool: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Effect.Effect<O, F | ToolFailure | ClientError>
  /** The same, showing the progress; the result comes last. Leaving the stream cancels the call. */
  readonly callToolStream: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<O>, F | ToolFailure | ClientError>
  /** Calls a tool by its name. A failed tool is a result with `isError`. */
  readonly callToolByName: Calls.Calls["callToolByName"]
  /** The same, showing the progress; the result comes last. Leaving the stream cancels the call. */
  readonly callToolByNameStream: (
    name: string,
    args?: Calls.Arguments,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<ToolModel.CallToolResult>, ClientError>
  /** All tools, page after page as the stream is pulled. */
  readonly listTools: Stream.Stream<ToolModel.Tool, ClientError>
  readonly listResources: Stream.Stream<ResourceModel.Resource, ClientError>
  readonly listResourceTemplates: Stream.Stream<ResourceModel.ResourceTemplate, ClientError>
  readonly listPrompts: Stream.Stream<PromptModel.Prompt, ClientError>
  readonly readResource: (
    uri: string,
    options?: CallOptions
  ) => Effect.Effect<ResourceModel.ReadResourceResult, ClientError>
  /** The texts of a resource, joined by newlines; parts that are binary are left out. */
  readonly readResourceText: (uri: string, options?: CallOptions) => Effect.Effect<string, ClientError>
  /** A prompt by its name. */
  readonly getPromptByName: (
    name: string,
    args?: { readonly [argument: string]: string },
    options?: CallOptions
  ) => Effect.Effect<PromptModel.GetPromptResult, ClientError>
  /** A prompt by its contract. */
  readonly getPrompt: <A>(
    prompt: Prompt<A>,
    args: A,
    options?: CallOptions
  ) => Effect.Effect<PromptModel.GetPromptResult, ClientError>
  readonly complete: (
    params: CompleteParams,
    options?: CallOptions
  ) => Effect.Effect<CompleteResult["completion"], ClientError>
  /**
   * Says when to read a resource again: at once, after each update, and after each time that the subscription was lost and had again.
   * Subscribed for as long as someone watches. Fails with `Closed` when it cannot be had again.
   */
  readonly watchResource: (uri: string) => Stream.Stream<Watch.WatchEvent, ClientError>
  /** The bare request, for those who count watchers themselves; updates come with `resourceUpdates`. A lost one is not renewed. */
  readonly subscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  readonly unsubscribeResource: (uri: string) => Effect.Effect<void, ClientError>
  /** The URIs of all updates, whoever subscribed. */
  readonly resourceUpdates: Stream.Stream<string>
  /** Asks the server for log messages of at least this level; where there is no session, with every request from now on. */
  readonly setLogLevel: (level: LoggingLevel) => Effect.Effect<void, ClientError>
  readonly logs: Stream.Stream<LogMessageParams>
  /**
   * One event when the list may have changed, as it may have while the server was lost; bursts become one. Ends when the server will
   * not tell any more.
   */
  readonly toolChanges: Stream.Stream<void>
  readonly resourceChanges: Stream.Stream<void>
  readonly promptChanges: Stream.Stream<void>
  /** The ids of URL elicitations that the server reports as completed. */
  readonly elicitationsCompleted: Stream.Stream<string>
  /** How long the server takes to answer. */
  readonly ping: Effect.Effect<Duration.Duration, ClientError>
  /** Any request of the revision, typed by its name; consent is not asked. 2026-07-28: asks and caches as the methods above do. */
  readonly request: <M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<Requests[M]["result"], ClientError>
  /**
   * Completes when the server ended the conversation; fails when the wire broke. Closing the Scope ends it from this side. A client
   * that reconnects waits for as long as it can: it fails when a connection that someone needed could not be had again.
   */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

export class McpClient extends Context.Service<McpClient, Client>()("@effect-mcp/client/McpClient") {}
