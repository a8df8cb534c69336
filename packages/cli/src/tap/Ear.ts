/** What is told of a conversation that passes: all of it, unchanged, before it is passed on. */
import type { Exchanged, HttpRequest } from "@effect-mcp/testing/Traffic"

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
}

/** How a tap tells what passes, where its end is reached, and what it came to. */
export interface Ears {
  readonly lines: () => LineEar
  readonly http: () => HttpEar
}
