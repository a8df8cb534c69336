/**
 * Options of a client: its target, its answers to the server's questions, and its timeouts. Times are in milliseconds.
 */
import type {
  ElicitationAnswer,
  FormQuestion,
  Implementation,
  ProgressEvent,
  Root,
  SamplingParams,
  SamplingResult,
  UrlQuestion
} from "../model/Results.ts"
import type { Meta } from "../model/Content.ts"
import type { McpServer } from "../server/McpServer.ts"
import type { PrincipalInput } from "../server/HttpOptions.ts"
import type { Revision } from "../server/Options.ts"

/** A server to start as a child process. Closing the client stops it. */
export interface CommandTarget {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables, in addition to the few that are inherited. */
  readonly env?: { readonly [name: string]: string }
  /** Working directory. Default: the current one. */
  readonly cwd?: string
  /** `inherit` forwards the server's stderr to this process; `ignore` drops it. Default `keep`: errors include its last lines. */
  readonly stderr?: "keep" | "inherit" | "ignore"
}

/** A server at a URL: Streamable HTTP, or HTTP with SSE if the server supports nothing newer. */
export interface UrlTarget {
  readonly url: string | URL
  /** Headers to send with every request, such as `authorization`. */
  readonly headers?: { readonly [name: string]: string }
}

/** The server to connect to: a command, a URL (an `http:` or `https:` string also counts), or a server in this process. */
export type Target = CommandTarget | UrlTarget | URL | string | McpServer

/** The second argument of functions that answer a question. */
export interface AnswerContext {
  /** Aborts if the server cancels its question or the client closes. */
  readonly signal: AbortSignal
  /** The server that asks, as it names itself. Show it to the user, but do not base decisions on it. */
  readonly server: Implementation | undefined
}

type Async<A> = A | PromiseLike<A>

/**
 * Functions that answer the server's questions. The client declares a capability for each one you pass. A thrown `McpError` is sent
 * unchanged; for any other error only the message is sent.
 */
export interface Answers {
  /** Asks the user. Answers to a form are validated against its schema. */
  readonly elicitation?: {
    readonly form?: (question: FormQuestion, context: AnswerContext) => Async<ElicitationAnswer>
    readonly url?: (question: UrlQuestion, context: AnswerContext) => Async<ElicitationAnswer>
  }
  /** Asks the model. Throw an `McpError` with code -1 if the user rejects the request. */
  readonly sampling?: (params: SamplingParams, context: AnswerContext) => Async<SamplingResult>
  /** True if `sampling` supports tools in its params. Default false. */
  readonly samplingTools?: boolean
  /** The folders to offer to the server. */
  readonly roots?: ReadonlyArray<Root> | (() => Async<ReadonlyArray<Root>>)
}

/** Options of `McpClient.connect`. */
export interface ConnectOptions extends Answers {
  /** Name and version to report to the server. Default: the name and version of this library. */
  readonly clientInfo?: Implementation
  /** Revisions to allow. The client uses the newest one that the server supports. Default: all. */
  readonly revisions?: ReadonlyArray<Revision>
  /** How long a request waits for its response or its next progress. Default 60 seconds. */
  readonly timeout?: number
  /** How long a request waits in total, with any amount of progress. Default 10 minutes. */
  readonly maxTotal?: number
  /** Set to `false` to stay disconnected after the connection is lost. Default true: reconnects and resends requests that are safe to repeat. */
  readonly reconnect?: boolean
  /**
   * The user that an `McpServer` in this process sees, to test `visible`, hooks and `context.principal`. Default: an anonymous user.
   * `connect` rejects this option for other servers, because they authenticate the client by its `headers`.
   */
  readonly principal?: PrincipalInput
}

/** Options of one request. */
export interface RequestOptions {
  /** Aborting it cancels the request, whose promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** How long to wait for the response or the next progress, in milliseconds. Default: the client's `timeout`. */
  readonly timeout?: number
  /** How long to wait in total, in milliseconds. Default: the client's `maxTotal`. */
  readonly maxTotal?: number
  /** Called for each progress notification of the request. */
  readonly onProgress?: (event: ProgressEvent) => void
  /** Entries to add to the request's `_meta`. */
  readonly meta?: Meta
}
