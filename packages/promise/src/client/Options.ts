/** Client options: the target, functions that answer the server's questions, and timeouts. Times are in milliseconds. */
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

/** A server to start as a child process. Closing the client stops the process. */
export interface CommandTarget {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables to set in addition to the few that are inherited. */
  readonly env?: { readonly [name: string]: string }
  /** Working directory. Default: the current directory. */
  readonly cwd?: string
  /** `inherit` forwards the server's stderr to this process, and `ignore` discards it. Default `keep`: errors quote the last lines. */
  readonly stderr?: "keep" | "inherit" | "ignore"
}

/** A server at a URL. The client uses Streamable HTTP, or HTTP with SSE for older servers. */
export interface UrlTarget {
  readonly url: string | URL
  /** Headers to send with every request, such as `authorization`. */
  readonly headers?: { readonly [name: string]: string }
}

/** The server to connect to: a command, a URL (as an object or an `http:` or `https:` string), or a server in this process. */
export type Target = CommandTarget | UrlTarget | URL | string | McpServer

/** Second argument of the functions that answer questions. */
export interface AnswerContext {
  /** Aborts if the server cancels its question or the client closes. */
  readonly signal: AbortSignal
  /** The server's self-reported name and version. Show them to the user, but don't base decisions on them. */
  readonly server: Implementation | undefined
}

type Async<A> = A | PromiseLike<A>

/**
 * Functions that answer the server's questions. The client declares the matching capability for each function you pass. A thrown `McpError`
 * is sent as it is; for any other error, only the message is sent.
 */
export interface Answers {
  /** Asks the user. Form answers are validated against the form's schema. */
  readonly elicitation?: {
    readonly form?: (question: FormQuestion, context: AnswerContext) => Async<ElicitationAnswer>
    readonly url?: (question: UrlQuestion, context: AnswerContext) => Async<ElicitationAnswer>
  }
  /** Asks the model. If the user rejects the request, throw an `McpError` with code -1. */
  readonly sampling?: (params: SamplingParams, context: AnswerContext) => Async<SamplingResult>
  /** True if `sampling` can handle tools in its params. Default false. */
  readonly samplingTools?: boolean
  /** Folders to offer to the server. */
  readonly roots?: ReadonlyArray<Root> | (() => Async<ReadonlyArray<Root>>)
}

/** A number of questions in a span of time. They may arrive in one burst. */
export interface QuestionRate {
  readonly requests: number
  /** The span of time in milliseconds. */
  readonly per: number
}

/** Limits on the questions of a server. A question that exceeds a limit is answered with error -31429, and your function is not called. */
export interface QuestionLimits {
  /** How often the server may ask the model, or `false` for no limit. Default 1000 times in 10 seconds. */
  readonly sampling?: QuestionRate | false
  /** How often the server may ask the user, or `false` for no limit. Default 1000 times in 10 seconds. */
  readonly elicitation?: QuestionRate | false
  /** How many times the model may use tools in one conversation. Default 100. */
  readonly toolIterations?: number
}

/** Options for `McpClient.connect`. */
export interface ConnectOptions extends Answers {
  /** Name and version to report to the server. Default: this library's name and version. */
  readonly clientInfo?: Implementation
  /** Revisions to allow. The client picks the newest one the server supports. Default: all. */
  readonly revisions?: ReadonlyArray<Revision>
  /** Limits on the server's questions. */
  readonly questionLimits?: QuestionLimits
  /** How long to wait for a response or the next progress notification. Default 60 seconds. */
  readonly timeout?: number
  /** Maximum total duration of a request, even if it keeps reporting progress. Default 10 minutes. */
  readonly maxTotal?: number
  /** Whether to reconnect after losing the connection and resend the requests that are safe to repeat. Default true. */
  readonly reconnect?: boolean
  /**
   * Whether to let the server turn tool calls into tasks. If so, `callTool` follows the task until it has a result. If false, the client
   * does not declare task support, as a test of a server's handles needs. Default true.
   */
  readonly tasks?: boolean
  /**
   * The user that an in-process `McpServer` sees, for testing `visible`, hooks and `context.principal`. Default: an anonymous user. Other
   * servers authenticate the client by its `headers`, so `connect` rejects this option for them.
   */
  readonly principal?: PrincipalInput
}

/** Options for a single request. */
export interface RequestOptions {
  /** Aborting this signal cancels the request. Its promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** How long to wait for the response or the next progress notification, in milliseconds. Default: the client's `timeout`. */
  readonly timeout?: number
  /** Maximum total duration of the request, in milliseconds. Default: the client's `maxTotal`. */
  readonly maxTotal?: number
  /** Called for each of the request's progress notifications. */
  readonly onProgress?: (event: ProgressEvent) => void
  /** Entries to add to the request's `_meta`. */
  readonly meta?: Meta
}
