/** The outcome of a conversation. */
import type { Count, Found } from "../model/Rule.ts"
import type { Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"

/** One line that crossed the wire. */
export interface Line {
  readonly from: "client" | "server"
  readonly text: string
  /** True if the line belongs to the second client. */
  readonly beside?: true | undefined
  /** Milliseconds since the conversation began. */
  readonly at: number
}

/** The record of a played conversation. */
export interface Played {
  readonly script: Script
  readonly found: ReadonlyArray<Found>
  readonly counts: ReadonlyMap<string, Count>
  readonly lines: ReadonlyArray<Line>
  /** How the server exited, if it did so by itself or when its input was closed. */
  readonly ended: string | undefined
  /** Earlier conversations with the same server, oldest first. */
  readonly before: ReadonlyArray<Script>
  /** Returns the facts learned about the server. */
  readonly survey: () => Survey
  /** The version that the server chose, or `undefined` if there was no handshake. */
  readonly agreed: string | undefined
}
