/**
 * Checks one observed conversation between a client and a server against the rules.
 *
 * The revision is unknown until the server has responded. Earlier messages are kept until then and judged afterwards.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { isWaiting } from "../model/Exchange.ts"
import { Model } from "../model/Model.ts"
import type { Exchange, Observation } from "../model/Observation.ts"
import { concerned, type Found, Judge, type Rule } from "../model/Rule.ts"
import { unknown } from "../model/Survey.ts"
import type { Line } from "../play/Played.ts"
import { at, parse } from "../model/json.ts"

export interface Options {
  readonly rules: ReadonlyArray<Rule>
  readonly transport: "stdio" | "http" | "sse"
  /** How long a request may take before it counts as unanswered, in milliseconds. */
  readonly patience: number
  /** Returns the number of milliseconds since the traffic began. */
  readonly now: () => number
  readonly onFound: (found: Found, version: Revision.Version, lines: ReadonlyArray<Line>) => void
  /** Called with the counts of all rules once the conversation has ended. */
  readonly onEnd: (judge: Judge, version: Revision.Version) => void
}

/** Called with the model after it has processed a message, and with the message's requests. */
type Sent = (model: Model, exchanges: ReadonlyArray<Exchange>, right: boolean) => void

/** Maximum number of lines of a finding, and of messages kept until the revision is known. */
const shownLines = 6
const mostPending = 200

/** Returns the stateless revision a message declares. */
export const declaredIn = (json: unknown): Revision.Revision | undefined => {
  const version = at(json, "params", "_meta", Meta.protocolVersion)
  if (typeof version !== "string") return undefined
  const revision = Revision.get(version) ?? Revision.stateless.at(-1)
  return revision?.era === "stateless" ? revision : undefined
}

const membersOf = (json: unknown): ReadonlyArray<unknown> => (Array.isArray(json) ? json : [json])

/** True if it concerns observed traffic. An answer or progress may belong to an earlier request. */
const isOwn = (observation: Observation, { tokens }: Model): boolean => {
  if (observation._tag === "Stray") return false
  if (observation._tag !== "Told" || observation.method !== "notifications/progress") return true
  return tokens.has(JSON.stringify(observation.params.progressToken ?? null))
}

export class Conversation {
  /** True if its beginning was missed. */
  private joined = false
  private model: Model | undefined
  private judge: Judge | undefined
  private readonly pending: Array<(model: Model) => void> = []
  /** Requests that may determine the revision, keyed by their IDs as JSON. */
  private readonly asked = new Map<string, Revision.Revision | "initialize">()
  private offered: Revision.Revision | undefined
  private readonly lines: Array<Line> = []
  /** Lines by request. Weak, because the model decides how long it keeps a request. */
  private readonly requests = new WeakMap<Exchange, Line>()
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  get isDecided(): boolean {
    return this.model !== undefined
  }

  /** Passes an action to the model, now or once the revision is known. */
  run(act: (model: Model) => void): void {
    if (this.model !== undefined) return act(this.model)
    this.pending.push(act)
    if (this.pending.length <= mostPending) return
    if (this.offered === undefined) this.pending.shift()
    else this.decide(this.offered)
  }

  /**
   * Handles a client message before it is forwarded. `isRight` returns true if the message is sent the way the transport requires. `then`
   * is called with the requests in the message.
   */
  sent(text: string, isRight: (model: Model) => boolean = () => true, then?: Sent): void {
    const time = this.options.now()
    if (this.model === undefined) this.expect(text)
    this.run((model) => {
      this.giveUp(text, model)
      const right = isRight(model)
      const newest = model.exchanges.at(-1)
      model.sent(text, right)
      const exchanges = model.exchanges.slice(model.exchanges.findLastIndex((exchange) => exchange === newest) + 1)
      for (const exchange of exchanges) this.requests.set(exchange, { from: "client", text, at: time })
      then?.(model, exchanges, right)
    })
  }

  /** Handles a server message. `carrier` is the request on whose stream it arrived. */
  received(text: string, carrier?: Exchange): void {
    this.look(text)
    this.run((model) => {
      for (const observation of model.received(text, carrier)) {
        if (!this.joined || isOwn(observation, model)) this.observe(observation)
      }
    })
  }

  /** Records a message that crossed the wire. */
  note(from: Line["from"], text: string): void {
    const line: Line = { from, text, at: this.options.now() }
    this.run(() => {
      this.lines.push(line)
      if (this.lines.length > shownLines) this.lines.shift()
    })
  }

  observe(observation: Observation): void {
    this.run((model) => {
      this.judge?.judge(observation)
      for (const found of this.judge?.found.splice(0) ?? []) {
        this.options.onFound(found, model.revision.version, this.around(observation))
      }
      model.learn(observation)
    })
  }

  /** Returns the request that an observation is about, along with the latest messages. */
  private around(observation: Observation): ReadonlyArray<Line> {
    const request = "exchange" in observation ? this.requests.get(observation.exchange) : undefined
    const isShown =
      request === undefined || this.lines.some(({ at, text }) => text === request.text && at === request.at)
    return isShown ? [...this.lines] : [request, ...this.lines]
  }

  /** If a client cancels after a long wait, the request counts as unanswered. */
  private giveUp(text: string, model: Model): void {
    const json = text.includes("notifications/cancelled") ? parse(text) : undefined
    if (at(json, "method") !== "notifications/cancelled") return
    const id = JSON.stringify(at(json, "params", "requestId"))
    const exchange = model.newest((exchange) => JSON.stringify(exchange.id) === id)
    if (exchange !== undefined) this.late(exchange)
  }

  private late(exchange: Exchange): void {
    const sent = this.requests.get(exchange)
    if (sent === undefined || !isWaiting(exchange) || !this.isLate(sent.at)) return
    this.observe({ _tag: "Unanswered", exchange })
  }

  /** True if more time has passed than the patience allows. */
  isLate(begun: number): boolean {
    return this.options.now() - begun >= this.options.patience
  }

  /** Remembers which client requests can determine the revision. */
  private expect(text: string): void {
    for (const json of membersOf(parse(text))) {
      const [id, revision] = [JSON.stringify(at(json, "id")), declaredIn(json)]
      if (at(json, "method") === "initialize") {
        this.asked.set(id, "initialize")
        this.offered = Revision.get(String(at(json, "params", "protocolVersion")))
      } else if (revision !== undefined) this.asked.set(id, revision)
    }
  }

  /** Detects the revision from the server's answer. */
  look(text: string): void {
    if (this.model !== undefined) return
    for (const json of membersOf(parse(text))) {
      const message = JsonRpc.classify(json)
      if (JsonRpc.isInvalid(message) || !("result" in message)) continue
      const asked = this.asked.get(JSON.stringify(message.id))
      if (asked === undefined) continue
      if (asked !== "initialize") return this.decide(asked)
      return this.decide(Revision.get(String(at(message.result, "protocolVersion"))) ?? Revision.latestStateful)
    }
  }

  decide(revision: Revision.Revision): void {
    if (this.model !== undefined) return
    const { rules, transport } = this.options
    this.model = new Model(unknown(revision.version), { observed: true })
    this.judge = new Judge(concerned(rules, revision.version, transport), this.model)
    for (const act of this.pending.splice(0)) act(this.model)
  }

  /** Joins a conversation whose beginning was missed. A correct beginning is assumed. */
  join(version: string): void {
    this.joined = true
    this.decide(Revision.get(version) ?? Revision.latestStateful)
    this.run((model) => {
      if (model.revision.era === "stateless") return
      model.agreed = version
      model.subscribed = true
    })
  }

  /** Called when the server has accepted a message in a joined conversation, which confirms that it exists. */
  confirm(): void {
    if (this.joined) this.run((model) => void (model.phase = "ready"))
  }

  /** If the server rejected the handshake, only the client's offer determines the revision. */
  refused(): void {
    if (this.offered !== undefined) this.decide(this.offered)
  }

  /** Ends the conversation. Requests that are overdue count as unanswered. */
  end(): void {
    for (const exchange of this.model?.exchanges ?? []) this.late(exchange)
    if (this.judge !== undefined && this.model !== undefined)
      this.options.onEnd(this.judge, this.model.revision.version)
  }
}
