/** Listeners that receive all traffic, unchanged, before it is forwarded. */
import type { Exchanged, HttpRequest } from "@effect-mcp/fuzz/Traffic"

/** Listens to one client and a server over stdio. */
export interface LineEar {
  /** Receives bytes from the client. */
  readonly sent: (chunk: Uint8Array) => void
  /** Receives bytes from the server. */
  readonly received: (chunk: Uint8Array) => void
  /** Called when the client has closed the server's input. */
  readonly inputEnded: () => void
  /** Called when the server has exited. `how` contains the exit code. */
  readonly exited: (how: string) => void
  /** Called if the server is still running long after its input was closed. */
  readonly stillRuns: () => void
}

/** Listens to any number of clients and a server over HTTP. */
export interface HttpEar {
  readonly begin: (request: HttpRequest) => Exchanged
  /** Returns true if the server has announced this URL for messages (HTTP with SSE). */
  readonly isPlace: (url: string) => boolean
}

/** Creates the listener for either transport. */
export interface Ears {
  readonly lines: () => LineEar
  readonly http: () => HttpEar
}
