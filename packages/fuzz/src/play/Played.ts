/** What became of a conversation. */
import type { Count, Found } from "../model/Rule.ts"
import type { Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"

/** One line that crossed the wire. */
export interface Line {
  readonly from: "client" | "server"
  readonly text: string
  /** Whether it belongs to another client beside. */
  readonly beside?: true | undefined
  /** Milliseconds since the conversation began. */
  readonly at: number
}

/** A conversation that was played. */
export interface Played {
  readonly script: Script
  readonly found: ReadonlyArray<Found>
  readonly counts: ReadonlyMap<string, Count>
  readonly lines: ReadonlyArray<Line>
  /** How the server ended, where it did so by itself or with its input. */
  readonly ended: string | undefined
  /** The conversations that the same server had before, oldest first. */
  readonly before: ReadonlyArray<Script>
  /** What is known of the server afterwards. */
  readonly survey: () => Survey
  /** The version that the server chose; undefined where it was not asked. */
  readonly agreed: string | undefined
}
