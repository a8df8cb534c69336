/**
 * Where a client connects to, what it tells and answers, and how long it waits. Times are in milliseconds.
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

/** A server that is started as a child process, and stopped with the client. */
export interface CommandTarget {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables beside the few that are inherited. */
  readonly env?: { readonly [name: string]: string }
  /** The working folder. Default: that of this process. */
  readonly cwd?: string
  /** `inherit` prints the server's stderr to that of this process. Default `keep`: its last lines are in errors. */
  readonly stderr?: "keep" | "inherit" | "ignore"
}

/** A server at a URL: Streamable HTTP, or HTTP with SSE where the server speaks only that. */
export interface UrlTarget {
  readonly url: string | URL
  /** Headers of every request, such as `authorization`. */
  readonly headers?: { readonly [name: string]: string }
}

/** A command, a URL (a text of `http:` or `https:` is one), or a server of this process. */
export type Target = CommandTarget | UrlTarget | URL | string | McpServer

/** What an answer may use. */
export interface AnswerContext {
  /** Aborts when the server takes its question back, or the client closes. */
  readonly signal: AbortSignal
  /** The server that asks, as it names itself: show it, and decide nothing by it. */
  readonly server: Implementation | undefined
}

type Async<A> = A | PromiseLike<A>

/** The answers to questions of the server: what is given is declared. A thrown `McpError` is sent as it is, of other errors the message. */
export interface Answers {
  /** Asks the user; the answer is checked against the form. */
  readonly elicitation?: {
    readonly form?: (question: FormQuestion, context: AnswerContext) => Async<ElicitationAnswer>
    readonly url?: (question: UrlQuestion, context: AnswerContext) => Async<ElicitationAnswer>
  }
  /** Asks the model. Throw an `McpError` with code -1 where the user refuses. */
  readonly sampling?: (params: SamplingParams, context: AnswerContext) => Async<SamplingResult>
  /** Whether `sampling` handles tools in its params. Default false. */
  readonly samplingTools?: boolean
  /** The folders that the server may know of. */
  readonly roots?: ReadonlyArray<Root> | (() => Async<ReadonlyArray<Root>>)
}

export interface ConnectOptions extends Answers {
  /** How the client names itself. Default: this library. */
  readonly clientInfo?: Implementation
  /** The revisions that the client may speak; the newest that the server speaks is used. Default: all. */
  readonly revisions?: ReadonlyArray<Revision>
  /** How long a request waits for its answer, or for its next progress. Default 60 seconds. */
  readonly timeout?: number
  /** How long a request waits in all. Default 10 minutes. */
  readonly maxTotal?: number
  /** Whether a lost connection is opened again, and what is safe to repeat is sent again. Default true. */
  readonly reconnect?: boolean
  /**
   * The user that an `McpServer` of this process sees, for tests of `visible`, hooks and `context.principal`. Default: an anonymous one.
   * Other servers verify the `headers` of a client: `connect` rejects this option with them.
   */
  readonly principal?: PrincipalInput
}

/** Options of one request. */
export interface RequestOptions {
  /** Cancels the request; its promise rejects with the reason. */
  readonly signal?: AbortSignal
  readonly timeout?: number
  readonly maxTotal?: number
  /** Called with each progress of the request. */
  readonly onProgress?: (event: ProgressEvent) => void
  /** Entries of the request's `_meta`. */
  readonly meta?: Meta
}
