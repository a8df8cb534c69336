/**
 * What a request with rounds has settled so far: the answers it was given, the steps it recorded, and the questions that are open.
 *
 * Pure data, carried by the client between rounds under seal. Answers and steps live apart, or a client could forge a step.
 */
import * as Schema from "effect/Schema"

export { canonicalJson } from "@effect-mcp/core/internal/canonicalJson"

const Entries = Schema.Record(Schema.String, Schema.Unknown)

export const RoundJournal = Schema.Struct({
  /** Wire answers by question key. */
  answers: Entries,
  /** Encoded values by step name. */
  steps: Entries,
  /** The questions that were sent in the last round, by the name they were sent under: only those may be answered. */
  open: Schema.Record(Schema.String, Schema.String),
  /** The number of rounds so far. */
  round: Schema.Int,
  /** The caller that the handler acted for; absent until it ran. */
  caller: Schema.optionalKey(Schema.String)
})
export type RoundJournal = typeof RoundJournal.Type

export const empty: RoundJournal = { answers: {}, steps: {}, open: {}, round: 0 }

/** Admits the answers to questions that are open. Anything else the client sends is ignored; what is missing stays unanswered. */
export const settle = (journal: RoundJournal, responses: { readonly [key: string]: unknown }): RoundJournal => {
  const admitted = Object.entries(journal.open).flatMap(([name, key]) =>
    Object.hasOwn(responses, name) ? [[key, responses[name]] as const] : []
  )
  return { ...journal, open: {}, answers: { ...journal.answers, ...Object.fromEntries(admitted) } }
}
