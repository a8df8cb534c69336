/** What listens to a conversation that passes: it hears all, unchanged, before it is passed on. */
import type { Exchanged, HttpRequest } from "@effect-mcp/fuzz/Traffic"

/** Of one client and a server over stdio. */
export interface LineEar {
  /** Bytes of the client. */
  readonly sent: (chunk: Uint8Array) => void
  /** Bytes of the server. */
  readonly received: (chunk: Uint8Array) => void
  /** The client has ended the input of the server. */
  readonly inputEnded: () => void
  /** The server exited; `how` says with which code. */
  readonly exited: (how: string) => void
  /** The server runs on, though its input ended long enough ago. */
  readonly stillRuns: () => void
}

/** Of any clients and a server over HTTP. */
export interface HttpEar {
  readonly begin: (request: HttpRequest) => Exchanged
  /** Whether the server has named the URL as that for messages of HTTP with SSE. */
  readonly isPlace: (url: string) => boolean
}

/** Either, for a tap that is started. */
export interface Ears {
  readonly lines: () => LineEar
  readonly http: () => HttpEar
}
