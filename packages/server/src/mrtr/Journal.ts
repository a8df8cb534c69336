/**
 * The state of a request with rounds: the answers it has received, the steps it has recorded, and the open questions.
 *
 * It is plain data that the client carries, sealed, between rounds. Answers and steps are separate, so that a client can't forge a step.
 */
import * as Schema from "effect/Schema"

export { canonicalJson } from "@effect-mcp/core/internal/digest"

const Entries = Schema.Record(Schema.String, Schema.Unknown)

export const RoundJournal = Schema.Struct({
  /** Answers as sent by the client, by question key. */
  answers: Entries,
  /** Encoded values by step name. */
  steps: Entries,
  /** Questions sent in the last round: the name they were sent under, and their key. Only these can be answered. */
  open: Schema.Record(Schema.String, Schema.String),
  /** Number of rounds so far. */
  round: Schema.Int,
  /** The caller that the handler acted for. Absent until it ran. */
  caller: Schema.optionalKey(Schema.String)
})
export type RoundJournal = typeof RoundJournal.Type

export const empty: RoundJournal = { answers: {}, steps: {}, open: {}, round: 0 }

/** Accepts answers to open questions and ignores everything else that the client sends. Unanswered questions stay open. */
export const settle = (journal: RoundJournal, responses: { readonly [key: string]: unknown }): RoundJournal => {
  const admitted = Object.entries(journal.open).flatMap(([name, key]) =>
    Object.hasOwn(responses, name) ? [[key, responses[name]] as const] : []
  )
  return { ...journal, open: {}, answers: { ...journal.answers, ...Object.fromEntries(admitted) } }
}
