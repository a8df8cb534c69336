/**
 * Rules about clients. They judge the observations of a misbehaving server, just as the rules about servers judge the observations of a
 * client.
 */
import { type Count, count, type Found, holdsIn, type Statement, type Verdict } from "../../model/Rule.ts"
import type { ClientRequest, ClientModel, CutStream, Ending, SentQuestion, Sent } from "./ClientModel.ts"

/** Events that rules can observe, by name. */
export interface ClientObservations {
  /** Any HTTP request or line. `json` is its body, or `undefined` if the body is not JSON. */
  readonly Sent: { readonly sent: Sent; readonly json: unknown }
  /** Input that is not JSON, or not a JSON-RPC message. */
  readonly Invalid: { readonly text: string; readonly reason: string }
  readonly Requested: { readonly asked: ClientRequest }
  readonly Notified: { readonly method: string; readonly params: unknown; readonly sent: Sent }
  /** A response, with the question that has its id. */
  readonly Replied: {
    readonly id: unknown
    readonly result: unknown
    readonly error: unknown
    readonly question: SentQuestion | undefined
  }
  /** A question that a connected client did not answer in time. */
  readonly Unanswered: { readonly question: SentQuestion }
  /** A GET that resumes a stream. */
  readonly Resumed: { readonly lastEventId: string; readonly cut: CutStream | undefined; readonly at: number }
  readonly Ended: { readonly ending: Ending }
}

export type ClientObservation = {
  readonly [N in keyof ClientObservations]: { readonly _tag: N } & ClientObservations[N]
}[keyof ClientObservations]

/** A rule about clients. It sees the model as it was before the observation. */
export interface ClientRule extends Statement {
  readonly on: {
    readonly [N in keyof ClientObservations]?: (observation: ClientObservations[N], model: ClientModel) => Verdict
  }
}

const verdictOf = <N extends keyof ClientObservations>(
  on: ClientRule["on"],
  observation: { readonly _tag: N } & ClientObservations[N],
  model: ClientModel
): Verdict => {
  const handler: ClientRule["on"][N] = on[observation._tag]
  return handler?.(observation, model)
}

/** Checks the observations of one conversation against rules. */
export class ClientJudge {
  readonly counts = new Map<string, Count>()
  readonly found: Array<Found> = []
  private readonly rules: ReadonlyArray<ClientRule>
  private readonly model: ClientModel

  constructor(rules: ReadonlyArray<ClientRule>, model: ClientModel) {
    this.rules = rules.filter(
      (rule) => holdsIn(rule, model.revision) && (rule.transport ?? model.transport) === model.transport
    )
    this.model = model
  }

  judge(observation: ClientObservation): void {
    for (const rule of this.rules) {
      const verdict = verdictOf(rule.on, observation, this.model)
      if (verdict === undefined) continue
      const counted = count(this.counts, rule.name)
      if (verdict === "pass") counted.kept++
      else {
        counted.broken++
        this.found.push({ ...verdict, rule, command: 0 })
      }
    }
  }
}
