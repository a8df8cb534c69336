/**
 * HTTP requests of a conversation, and what is known of their responses.
 */
import type { ObservedExchange } from "./Exchange.ts"

/** Names are lower-case. */
export type CallHeaders = { readonly [name: string]: string | undefined }

/** An event of an SSE stream. */
export interface StreamEvent {
  readonly id: string | undefined
  /** Its type. */
  readonly event: string
  readonly data: string
}

/** One HTTP request. */
export interface Call {
  readonly method: "POST" | "GET" | "DELETE"
  /** As sent. */
  readonly headers: CallHeaders
  /** What the body is by its shape. */
  readonly carries: "request" | "notification" | "response" | "batch" | "other" | "nothing"
  /** The request in its body, where that is one. */
  readonly exchange: ObservedExchange | undefined
  /** All requests in its body. */
  readonly exchanges: ReadonlyArray<ObservedExchange>
  /** Whether its session id is that of the conversation; `ended`: that was, before a DELETE. */
  readonly session: "own" | "none" | "unknown" | "ended"
  /** Whether the server gave a session id. */
  readonly needsSession: boolean
  /** Whether the server had answered `initialize` when it was sent. */
  readonly isOpen: boolean
  /** Whether its headers are those of a right client. */
  readonly right: boolean
  /** The call whose stream a GET with `Last-Event-ID` resumes. */
  readonly resumes: Call | undefined
  /** The place in the script of the command that sent it. */
  readonly command: number
  /** Whether a DELETE of its session was sent before its response began: the server may have ended the session first. */
  overtaken: boolean
  /** Undefined until the response begins. */
  status: number | undefined
  answered: CallHeaders
  /** The whole body, unless it is a stream of events. */
  body: string
  /** How many events came. */
  events: number
  lastEventId: string | undefined
  /** The newest `retry`, in milliseconds. */
  retry: number | undefined
  /** Which side ended it; undefined as long as it is open. */
  ended: "client" | "server" | undefined
}

/** The media type of the response. */
export const typeOf = ({ answered }: Pick<Call, "answered">): string =>
  (answered["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

export const isStream = (call: Pick<Call, "answered">): boolean => typeOf(call) === "text/event-stream"

/** Whether the response says that the request was taken. */
export const isTaken = ({ status = 0 }: Pick<Call, "status">): boolean => status >= 200 && status < 300
