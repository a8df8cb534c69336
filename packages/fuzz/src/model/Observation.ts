/** The observations that rules judge: every event on the wire, expressed in protocol terms. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Call, StreamEvent } from "./Call.ts"
import type { ResponseContent, ObservedExchange, ServerQuestion } from "./Exchange.ts"

export type { ResponseContent as Answer, ObservedExchange as Exchange, ServerQuestion as Question } from "./Exchange.ts"

/** Events that rules can observe, by name. */
export interface Observations {
  /** Text that is not JSON. */
  readonly Unreadable: { readonly text: string }
  /** JSON that is not a message. */
  readonly Invalid: { readonly json: unknown; readonly reason: string }
  /** The first response to a request. */
  readonly Answered: { readonly exchange: ObservedExchange; readonly answer: ResponseContent }
  /** Another response to the same request. Expected if the client has reused its ID. */
  readonly AnsweredAgain: {
    readonly exchange: ObservedExchange
    readonly answer: ResponseContent
    readonly expected: boolean
  }
  /** A response whose ID doesn't belong to any request. */
  readonly Stray: { readonly id: unknown; readonly answer: ResponseContent }
  /** An error without an ID, and the number of requests it could belong to. */
  readonly Anonymous: { readonly code: number; readonly expected: number }
  readonly Asked: { readonly question: ServerQuestion }
  readonly Told: { readonly method: string; readonly params: JsonObject }
  /** A request that was not answered in time. */
  readonly Unanswered: { readonly exchange: ObservedExchange }
  /** Every request has been answered or given up, and the server is still reading. */
  readonly Alive: { readonly answered: boolean }
  /** The server ended the conversation on its own. */
  readonly Gone: {
    readonly how: string
    /** True if the client was silent and had received all answers. Default false. */
    readonly isIdle?: boolean | undefined
  }
  /** The server's input was closed. `exited` is true if the server then exited. */
  readonly Closed: { readonly exited: boolean }
  /** 2025-03-26: an array of responses. */
  readonly Batch: { readonly members: number }
  /** HTTP: the head of a response. `isNewId` is true if its session id is new. */
  readonly Responded: { readonly call: Call; readonly isNewId: boolean }
  /** HTTP: an event on a stream. */
  readonly Streamed: {
    readonly call: Call
    readonly event: StreamEvent
    /** The call on whose stream the same event id arrived earlier, and the call with the same data. */
    readonly sameId: Call | undefined
    readonly sameData: Call | undefined
  }
  /** HTTP: the end of a response that the client did not cut. */
  readonly Finished: { readonly call: Call }
  /** HTTP: a response that is still open at the end of the conversation. */
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
