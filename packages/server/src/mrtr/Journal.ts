/**
 * What a request with rounds has settled so far: the answers it was given, the steps it recorded, and the questions that are open.
 *
 * Pure data, carried by the client between rounds under seal. Answers and steps live apart, or a client could forge a step.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"

const Entries = Schema.Record(Schema.String, Schema.Unknown)

export const Journal = Schema.Struct({
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
export type Journal = typeof Journal.Type

export const empty: Journal = { answers: {}, steps: {}, open: {}, round: 0 }

/** Admits the answers to questions that are open. Anything else the client sends is ignored; what is missing stays unanswered. */
export const settle = (journal: Journal, responses: { readonly [key: string]: unknown }): Journal => {
  const admitted = Object.entries(journal.open).flatMap(([name, key]) =>
    Object.hasOwn(responses, name) ? [[key, responses[name]] as const] : []
  )
  return { ...journal, open: {}, answers: { ...journal.answers, ...Object.fromEntries(admitted) } }
}

/** JSON with sorted keys: equal questions have equal text. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner
  )

/**
 * A short name for a text (53 bits, cyrb53's mixing). Not a defence, and none is needed: only the handler chooses the questions.
 */
export const digest = (text: string): string => {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36)
}
