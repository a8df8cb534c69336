/** Events that the process sends to the page. A page that connects receives a `Snapshot` first, and then each change. */
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Item, ListName } from "@effect-mcp/protocol/MethodInfo"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Root } from "@effect-mcp/protocol/model/Root"

/** The server, as the user named it. */
export interface ServerName {
  readonly name: string
  /** The words after `--`, or `undefined` if the server was named in another way. */
  readonly words: ReadonlyArray<string> | undefined
  readonly url: string | undefined
  /** True if tools' views can be opened. */
  readonly hasViews: boolean
}

/** The connection. Everything in it comes from the server. */
export interface ConnectionState {
  readonly status: "connecting" | "connected" | "closed"
  /** Why it is closed. */
  readonly error?: string | undefined
  /** The revision that the user chose, or `null` for the newest. */
  readonly wanted: string | null
  readonly revision?: string | undefined
  readonly server?: Implementation | undefined
  readonly capabilities?: ServerCapabilities | undefined
  readonly instructions?: string | undefined
  /** Duration of the handshake in milliseconds. */
  readonly took?: number | undefined
}

/** Everything the server lists. A list that fails is empty and in `errors`. */
export type Lists = { readonly [N in ListName]?: ReadonlyArray<Item<N>> } & {
  readonly errors: { readonly [list: string]: string }
}

/** Progress of a run. */
export interface ProgressEvent {
  readonly at: number
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** A state of the task that a call became. */
export interface TaskChange {
  readonly at: number
  readonly id: string
  readonly status: string
  readonly message?: string | undefined
}

/** Why a run failed. */
export interface RunError {
  readonly tag: string
  readonly message: string
  readonly code?: number | undefined
  readonly data?: unknown
}

/** A request that the user made. */
export interface UserRun {
  readonly id: number
  readonly kind: "tool" | "resource" | "prompt" | "ping" | "task"
  /** Name of the tool or prompt, URI of the resource, or ID of the task. */
  readonly name: string
  readonly input: { readonly [name: string]: unknown }
  readonly asTask: boolean
  readonly revision: string
  readonly startedAt: number
  readonly status: "running" | "done" | "failed" | "cancelled"
  /** Its duration in milliseconds. */
  readonly took?: number | undefined
  readonly progress: ReadonlyArray<ProgressEvent>
  readonly tasks: ReadonlyArray<TaskChange>
  readonly result?: unknown
  readonly error?: RunError | undefined
  /** Length of the run's JSON in characters, or 0 if its input and result were too long to keep. */
  readonly size?: number | undefined
}

/** HTTP details of a message. Secrets in headers are masked. */
export interface HttpInfo {
  readonly method: string
  readonly url: string
  readonly status?: number | undefined
  readonly headers: { readonly [name: string]: string }
}

/** A message on the wire. */
export interface WireEntry {
  readonly id: number
  readonly at: number
  readonly from: "client" | "server"
  readonly kind: "request" | "notification" | "result" | "error" | "invalid" | "http"
  /** The method of a request, a notification, or the request that this answers. */
  readonly method?: string | undefined
  readonly rpcId?: string | number | undefined
  /** The run that the message belongs to. */
  readonly run?: number | undefined
  readonly revision?: string | undefined
  /** Time between a request and this answer, in milliseconds. */
  readonly took?: number | undefined
  readonly bytes: number
  /** The message's JSON, truncated if it is very long. */
  readonly text: string
  readonly http?: HttpInfo | undefined
}

/** A log message, a line of the server's stderr, or a note of this program. */
export interface LogEntry {
  readonly id: number
  readonly at: number
  readonly source: "log" | "stderr" | "note"
  readonly level: LoggingLevel
  readonly logger?: string | undefined
  readonly text: string
}

/** A question from the server that is waiting for an answer. `params` come from the server. */
export interface OpenQuestion {
  readonly id: number
  readonly at: number
  readonly kind: "form" | "url" | "sampling"
  readonly run?: number | undefined
  readonly params: { readonly [name: string]: unknown }
}

/** A fuzzer rule that the server broke. */
export interface BrokenRule {
  readonly key: string
  readonly rule: string
  readonly level: string
  readonly text: string
  readonly detail: string
  readonly section?: string | undefined
  readonly revision: string
  readonly at: number
}

/** A watched resource, and its content as of the last update. */
export interface Watched {
  readonly uri: string
  readonly updates: number
  readonly changedAt: number
  readonly contents?: unknown
  readonly error?: string | undefined
}

/** Answers that don't need a person. */
export interface AnswerSettings {
  readonly roots: ReadonlyArray<Root>
  readonly replies: ReadonlyArray<string>
}

/** Everything that the page shows. */
export interface PageState {
  readonly name: ServerName
  readonly revisions: ReadonlyArray<string>
  readonly connection: ConnectionState
  readonly lists: Lists
  readonly runs: ReadonlyArray<UserRun>
  readonly wire: ReadonlyArray<WireEntry>
  readonly logs: ReadonlyArray<LogEntry>
  readonly questions: ReadonlyArray<OpenQuestion>
  readonly findings: ReadonlyArray<BrokenRule>
  readonly watched: ReadonlyArray<Watched>
  readonly settings: AnswerSettings
}

/** An event of the page's stream. */
export type UiEvent =
  | { readonly _tag: "Snapshot"; readonly state: PageState }
  | { readonly _tag: "Connection"; readonly connection: ConnectionState }
  | { readonly _tag: "Lists"; readonly lists: Lists }
  | { readonly _tag: "Run"; readonly run: UserRun }
  | { readonly _tag: "Runs"; readonly runs: ReadonlyArray<UserRun> }
  | { readonly _tag: "Wire"; readonly entry: WireEntry }
  | { readonly _tag: "Log"; readonly entry: LogEntry }
  | { readonly _tag: "Questions"; readonly questions: ReadonlyArray<OpenQuestion> }
  | { readonly _tag: "Finding"; readonly finding: BrokenRule }
  | { readonly _tag: "Watched"; readonly watched: ReadonlyArray<Watched> }
  | { readonly _tag: "Settings"; readonly settings: AnswerSettings }
