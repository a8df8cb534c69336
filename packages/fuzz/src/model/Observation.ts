/**
 * What a conversation consists of for its rules: every event on the wire, told in terms of the protocol.
 */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Call, StreamEvent } from "./Call.ts"
import type { ResponseContent, ObservedExchange, ServerQuestion } from "./Exchange.ts"

export type { ResponseContent as Answer, ObservedExchange as Exchange, ServerQuestion as Question } from "./Exchange.ts"

/** What is observed, by the name that rules use. */
export interface Observations {
  /** A text that is no JSON. */
  readonly Unreadable: { readonly text: string }
  /** JSON that is no message. */
  readonly Invalid: { readonly json: unknown; readonly reason: string }
  /** The first response to a request. */
  readonly Answered: { readonly exchange: ObservedExchange; readonly answer: ResponseContent }
  /** Another response to the same request; expected where the client used its id again. */
  readonly AnsweredAgain: {
    readonly exchange: ObservedExchange
    readonly answer: ResponseContent
    readonly expected: boolean
  }
  /** A response with an id that no request had. */
  readonly Stray: { readonly id: unknown; readonly answer: ResponseContent }
  /** An error without id, and how many it could belong to. */
  readonly Anonymous: { readonly code: number; readonly expected: number }
  readonly Asked: { readonly question: ServerQuestion }
  readonly Told: { readonly method: string; readonly params: JsonObject }
  /** A request that was not answered within the patience. */
  readonly Unanswered: { readonly exchange: ObservedExchange }
  /** All that was sent is answered or given up, and the server still reads. */
  readonly Alive: { readonly answered: boolean }
  /** The server ended the conversation by itself. */
  readonly Gone: {
    readonly how: string
    /** Whether its client was silent, and had all answers. Default false. */
    readonly isIdle?: boolean | undefined
  }
  /** The input of the server was ended; whether it exited then. */
  readonly Closed: { readonly exited: boolean }
  /** 2025-03-26: an array of responses. */
  readonly Batch: { readonly members: number }
  /** HTTP: the response begins. `isNewId`: whether the session id that it gives was never given before. */
  readonly Responded: { readonly call: Call; readonly isNewId: boolean }
  /** HTTP: an event of a stream. */
  readonly Streamed: {
    readonly call: Call
    readonly event: StreamEvent
    /** The call on whose stream the same event id came before, and the one with the same data. */
    readonly sameId: Call | undefined
    readonly sameData: Call | undefined
  }
  /** HTTP: the response ended, and not because the client cut it. */
  readonly Finished: { readonly call: Call }
  /** HTTP: at the end of the conversation the response still runs. */
  readonly Running: { readonly call: Call }
}

export type Name = keyof Observations

/** One observation. */
export type Observation = { readonly [N in Name]: { readonly _tag: N } & Observations[N] }[Name]

const byName: { readonly [N in Name]: N } = {
  Unreadable: "Unreadable",
  Invalid: "Invalid",
  Answered: "Answered",
  AnsweredAgain: "AnsweredAgain",
  Stray: "Stray",
  Anonymous: "Anonymous",
  Asked: "Asked",
  Told: "Told",
  Unanswered: "Unanswered",
  Alive: "Alive",
  Gone: "Gone",
  Closed: "Closed",
  Batch: "Batch",
  Responded: "Responded",
  Streamed: "Streamed",
  Finished: "Finished",
  Running: "Running"
}

/** The names of all observations. */
export const names: ReadonlyArray<Name> = Object.values(byName)
