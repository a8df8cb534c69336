/** HTTP requests of a conversation, and their responses. */
import type { ObservedExchange } from "./Exchange.ts"

/** Headers by their lower-case names. */
export type CallHeaders = { readonly [name: string]: string | undefined }

/** An event of an SSE stream. */
export interface StreamEvent {
  readonly id: string | undefined
  /** Type of the event. */
  readonly event: string
  readonly data: string
}

/** One HTTP request. */
export interface Call {
  readonly method: "POST" | "GET" | "DELETE"
  /** Headers of the request. */
  readonly headers: CallHeaders
  /** The kind of body, judged by its shape. */
  readonly carries: "request" | "notification" | "response" | "batch" | "other" | "nothing"
  /** The request in its body, if it is one. */
  readonly exchange: ObservedExchange | undefined
  /** All requests in its body. */
  readonly exchanges: ReadonlyArray<ObservedExchange>
  /** Which session the request names. `ended` is the conversation's own session after a DELETE. */
  readonly session: "own" | "none" | "unknown" | "ended"
  /** True if the server issued a session id before. */
  readonly needsSession: boolean
  /** True if the server had answered `initialize` before the request was sent. */
  readonly isOpen: boolean
  /** True if a correct client could send its headers. */
  readonly right: boolean
  /** The call whose stream a GET with `Last-Event-ID` resumes. */
  readonly resumes: Call | undefined
  /** Index of the script command that sent the request. */
  readonly command: number
  /** True if a DELETE of the session was sent before the response began. The server may have handled the DELETE first. */
  overtaken: boolean
  /** Status of the response, or `undefined` until it begins. */
  status: number | undefined
  answered: CallHeaders
  /** Complete body of the response, unless it is an event stream. */
  body: string
  /** Number of events so far. */
  events: number
  lastEventId: string | undefined
  /** The newest `retry`, in milliseconds. */
  retry: number | undefined
  /** The side that ended the response, or `undefined` while it is open. */
  ended: "client" | "server" | undefined
}

/** The media type of the response. */
export const typeOf = ({ answered }: Pick<Call, "answered">): string =>
  (answered["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

export const isStream = (call: Pick<Call, "answered">): boolean => typeOf(call) === "text/event-stream"

/** True if the response's status accepts the request. */
export const isTaken = ({ status = 0 }: Pick<Call, "status">): boolean => status >= 200 && status < 300
