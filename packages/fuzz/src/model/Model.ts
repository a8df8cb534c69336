/**
 * The model of one conversation: what the client has sent, what it may expect, and what the server has said of itself.
 *
 * `sent` and `received` turn texts into observations and never judge; rules judge. The model knows no transport and no clock.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Revision from "@effect-mcp/protocol/Revision"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isOpen, mayBeAnswered } from "./Exchange.ts"
import type { Answer, Exchange, Observation } from "./Observation.ts"
import * as Offers from "./Offers.ts"
import type * as Survey from "./Survey.ts"
import { at, parse } from "./json.ts"
import { type ForeignTasks, TaskBook } from "./TaskBook.ts"

const none: JsonObject = {}

const objectAt = (json: unknown, ...path: ReadonlyArray<string>): JsonObject => {
  const value = at(json, ...path)
  return isJsonObject(value) ? value : none
}

const keyOf = (id: unknown): string => JSON.stringify(id)

const answerOf = (response: JsonRpc.Response): Answer =>
  "error" in response
    ? { _tag: "Error", code: response.error.code, message: response.error.message, data: response.error.data }
    : { _tag: "Result", result: response.result }

// Most conversations need no sets of their own: a model that is made costs as much as a message.
const noTexts: ReadonlySet<string> = new Set()
const noExchanges: ReadonlyMap<string, Exchange> = new Map()

/** The notification that opens a subscription. */
export const acknowledged = "notifications/subscriptions/acknowledged"

/** Whose conversation it is. */
export interface Options {
  /**
   * Whether a client that is not the fuzzer speaks: it may know more of the server than the model does. Where there are no
   * sessions, several clients with the same ids may speak at once. Default false.
   */
  readonly observed?: boolean | undefined
}

/** Exchanges that are kept of a client that is observed: a conversation may last for days. */
const keptExchanges = 1000

export class Model {
  readonly revision: Revision.Revision
  readonly exchanges: Array<Exchange> = []
  private readonly byId = new Map<string, Exchange>()
  readonly tasks = new TaskBook()
  /** Undefined where it is the first client of its conversation. */
  foreign: ForeignTasks | undefined
  private lazyTokens: Map<string, Exchange> | undefined
  private lazyAmbiguous: Set<string> | undefined
  private lazyAsked: Set<string> | undefined
  private lazyUnanswered: Set<string> | undefined
  /** The cursor of the newest page by method. */
  readonly next = new Map<string, string>()
  private lazyCursors: Set<string> | undefined
  phase: "new" | "opening" | "open" | "ready" = "new"
  /** What `initialize` or `server/discover` said. */
  capabilities: JsonObject
  declares: JsonObject = none
  server: Survey.Survey["server"]
  /** The version that the server chose; undefined before. */
  agreed: string | undefined
  /** The version that the server is known to speak, because it chose it before. */
  readonly known: string | undefined
  level: string | undefined
  /** Whether a resource was ever subscribed to. */
  subscribed = false
  private offers: Offers.Offers
  /** The place in the script of the command that runs. */
  command = 0
  /** Texts that were sent and may be answered by an error without an id. */
  unreadable = 0

  readonly observed: boolean
  /** What was learnt in whole: `capabilities`, and lists that were read to their end since they last changed. */
  private readonly whole: Set<string> | undefined
  private readonly begun: Set<string> | undefined

  constructor(survey: Survey.Survey, { observed = false }: Options = {}) {
    this.observed = observed
    this.whole = observed ? new Set() : undefined
    this.begun = observed ? new Set() : undefined
    // The schema of a survey admits known versions only.
    this.revision = Revision.get(survey.revision) ?? Revision.latestStateful
    this.capabilities = this.revision.era === "stateless" ? survey.capabilities : none
    if (this.revision.era === "stateless") this.phase = "ready"
    this.known = survey.server === undefined ? undefined : survey.revision
    this.offers = Offers.ofSurvey(survey)
  }

  get tools(): Offers.Offers["tools"] {
    return this.offers.tools
  }

  get prompts(): Offers.Offers["prompts"] {
    return this.offers.prompts
  }

  get resources(): Offers.Offers["resources"] {
    return this.offers.resources
  }

  get templates(): Offers.Offers["templates"] {
    return this.offers.templates
  }

  /** The exchanges by their progress tokens. */
  get tokens(): ReadonlyMap<string, Exchange> {
    return this.lazyTokens ?? noExchanges
  }

  /** Tokens that two requests had at the same time: their progress cannot be told apart. */
  get ambiguous(): ReadonlySet<string> {
    return this.lazyAmbiguous ?? noTexts
  }

  /** The ids of the server's requests. */
  get asked(): ReadonlySet<string> {
    return this.lazyAsked ?? noTexts
  }

  /** Those of them that the client has not answered: what the server does may wait for it. */
  get unanswered(): ReadonlySet<string> {
    return this.lazyUnanswered ?? noTexts
  }

  /** All cursors that were ever handed out. */
  get cursors(): ReadonlySet<string> {
    return this.lazyCursors ?? noTexts
  }

  /** Another session begins: ids of requests are of one session. */
  forgetAsked(): void {
    this.lazyAsked = undefined
    this.lazyUnanswered = undefined
  }

  /** Whether the model has all of it. Resources need not be listed to exist, and cursors outlive an observation. */
  knows(what: "capabilities" | "tools" | "prompts" | "resources" | "cursors"): boolean {
    if (!this.observed) return true
    return what === "cursors"
      ? this.revision.era === "stateful"
      : what !== "resources" && this.whole?.has(what) === true
  }

  /** What was learnt, for later conversations. */
  survey(): Survey.Survey {
    return {
      revision: this.revision.version,
      ...(this.server === undefined ? undefined : { server: this.server }),
      // Parsed JSON holds JSON values only.
      capabilities: JSON.parse(JSON.stringify(this.capabilities)),
      tools: [...this.tools.values()],
      prompts: [...this.prompts.values()],
      resources: [...this.resources],
      templates: [...this.templates]
    }
  }

  /** The newest exchange that satisfies the predicate. */
  newest(predicate: (exchange: Exchange) => boolean): Exchange | undefined {
    return this.exchanges.findLast(predicate)
  }

  /** `right`: whether it is sent as the transport wants it. `json`: what the text says, where that is known. */
  sent(text: string, right = true, json: unknown = parse(text)): void {
    if (this.revision.rules.batches && Array.isArray(json) && json.length > 0) {
      const before = this.exchanges.length
      for (const member of json) this.sentOne(member, right, true)
      if (this.agreed === this.revision.version) return
      // Another revision is agreed on, or none yet: the server may refuse the array as a whole.
      this.unreadable++
      for (const exchange of this.exchanges.slice(before)) exchange.cancelled = true
    } else this.sentOne(json, right, false)
  }

  private sentOne(json: unknown, right: boolean, inBatch: boolean): void {
    const message = JsonRpc.classify(json)
    const invalid = JsonRpc.isInvalid(message)
    const method = at(json, "method")
    // A server may answer it without the id, which it did not read.
    if (invalid) this.unreadable++
    if (!invalid && !JsonRpc.isRequest(message)) {
      if (typeof method === "string") this.sentNotification(method, at(json, "params"))
      else this.lazyUnanswered?.delete(keyOf(at(json, "id")))
      return
    }
    if (at(json, "id") === undefined) return
    const params = at(json, "params")
    const token = at(params, "_meta", "progressToken")
    const stateless = this.revision.era === "stateless"
    const others = this.exchanges.filter((exchange) => isOpen(exchange))
    for (const other of others) other.alone = false
    const exchange: Exchange = {
      id: at(json, "id"),
      method: typeof method === "string" ? method : "",
      params,
      wellFormed: !invalid,
      open: right && (stateless || this.phase === "open" || this.phase === "ready"),
      declares: stateless ? objectAt(params, "_meta", Meta.clientCapabilities) : this.declares,
      token: JsonRpc.isId(token) ? token : undefined,
      taskEnded: this.tasks.get(at(params, "taskId"))?.ended,
      command: this.command,
      alone: others.length === 0,
      answer: undefined,
      cancelled: false,
      inBatch,
      refused: false,
      progress: undefined,
      copies: 0,
      isCopy: false,
      acknowledged: false
    }
    this.exchanges.push(exchange)
    if (this.observed && this.exchanges.length > keptExchanges) this.forget()
    // The second request with the id of an open one breaks the rules itself: only the first is followed, until all of them are answered.
    // The answer to a cancelled one may be on its way, or never come.
    const before = this.byId.get(keyOf(exchange.id))
    const isTaken = before !== undefined && (mayBeAnswered(before) || before.copies > 0)
    if (!isTaken || (this.observed && stateless)) this.byId.set(keyOf(exchange.id), exchange)
    else {
      before.copies++
      Object.assign(exchange, { isCopy: true, cancelled: true })
    }
    if (exchange.token !== undefined) this.learnToken(keyOf(exchange.token), exchange)
    if (method === "initialize" && this.phase === "new") {
      this.phase = "opening"
      this.declares = objectAt(params, "capabilities")
    }
    if (method === "resources/subscribe") this.subscribed = true
  }

  /** Drops the older half of what is kept. */
  private forget(): void {
    for (const exchange of this.exchanges.splice(0, keptExchanges / 2)) {
      const [id, token] = [keyOf(exchange.id), keyOf(exchange.token ?? null)]
      if (this.byId.get(id) === exchange) this.byId.delete(id)
      if (this.tokens.get(token) === exchange) this.lazyTokens?.delete(token)
    }
  }

  private learnToken(token: string, exchange: Exchange): void {
    const other = this.tokens.get(token)
    if (other !== undefined && other.answer === undefined) (this.lazyAmbiguous ??= new Set()).add(token)
    ;(this.lazyTokens ??= new Map()).set(token, exchange)
  }

  private sentNotification(method: string, params: unknown): void {
    if (method === "notifications/initialized" && this.phase === "open") this.phase = "ready"
    if (method !== "notifications/cancelled") return
    const exchange = this.byId.get(keyOf(at(params, "requestId") ?? null))
    if (exchange !== undefined && exchange.answer === undefined) exchange.cancelled = true
  }

  /**
   * What a text of the server is; `learn` takes over what it changes, once it is judged. `carrier`: the request on whose own stream it
   * came, where requests have one.
   */
  received(text: string, carrier?: Exchange): ReadonlyArray<Observation> {
    const json = parse(text)
    if (json === undefined) return [{ _tag: "Unreadable", text }]
    if (!Array.isArray(json)) return [this.receivedOne(json, carrier)]
    if (!this.revision.rules.batches || json.length === 0) {
      return [{ _tag: "Invalid", json, reason: "An array is no message in this revision" }]
    }
    return [{ _tag: "Batch", members: json.length }, ...json.map((member) => this.receivedOne(member, carrier))]
  }

  private receivedOne(json: unknown, carrier: Exchange | undefined): Observation {
    const message = JsonRpc.classify(json)
    if (JsonRpc.isInvalid(message)) return { _tag: "Invalid", json, reason: message.reason }
    if (JsonRpc.isRequest(message)) {
      return { _tag: "Asked", question: { ...message, params: message.params ?? none } }
    }
    if (JsonRpc.isNotification(message)) return { _tag: "Told", method: message.method, params: message.params ?? none }
    const answer = answerOf(message)
    const id = keyOf(message.id ?? null)
    const exchange = carrier !== undefined && keyOf(carrier.id) === id ? carrier : this.byId.get(id)
    const isAnonymous = answer._tag === "Error" && (message.id === undefined || message.id === null)
    if (exchange === undefined || (isAnonymous && exchange.answer !== undefined)) {
      if (isAnonymous) {
        return { _tag: "Anonymous", code: answer.code, expected: this.unreadable }
      }
      return { _tag: "Stray", id: message.id, answer }
    }
    if (exchange.answer === undefined) return { _tag: "Answered", exchange, answer }
    return { _tag: "AnsweredAgain", exchange, answer, expected: exchange.copies-- > 0 }
  }

  /** Takes over what an observation changes. */
  learn(observation: Observation): void {
    switch (observation._tag) {
      case "Answered":
        observation.exchange.answer = observation.answer
        if (!observation.exchange.wellFormed) this.unreadable--
        if (observation.answer._tag === "Result") this.learnResult(observation.exchange, observation.answer.result)
        return
      case "Anonymous":
        this.learnAnonymous()
        return
      case "Asked":
        ;(this.lazyAsked ??= new Set()).add(keyOf(observation.question.id))
        ;(this.lazyUnanswered ??= new Set()).add(keyOf(observation.question.id))
        return
      case "Told":
        return this.learnNotification(observation.method, observation.params)
      default:
    }
  }

  /** The error is taken for the oldest request that was malformed. */
  private learnAnonymous(): void {
    this.unreadable--
    const exchange = this.exchanges.find((exchange) => !exchange.wellFormed && isOpen(exchange))
    if (exchange !== undefined) exchange.cancelled = true
  }

  private learnNotification(method: string, params: JsonObject): void {
    switch (method) {
      case "notifications/tasks/status":
        return this.tasks.told(params)
      case "notifications/progress": {
        const progress = at(params, "progress")
        const exchange = this.tokens.get(keyOf(at(params, "progressToken") ?? null))
        if (exchange !== undefined && typeof progress === "number") exchange.progress = progress
        return
      }
      case "notifications/tools/list_changed":
        return this.forgetList("tools")
      case "notifications/prompts/list_changed":
        return this.forgetList("prompts")
      case acknowledged: {
        const subscription = this.subscription(params)
        if (subscription !== undefined) subscription.acknowledged = true
        return
      }
      default:
    }
  }

  private forgetList(list: "tools" | "prompts"): void {
    if (!this.observed) return
    this.whole?.delete(list)
    this.begun?.delete(list)
    this.offers = Offers.without(this.offers, list)
  }

  /** Takes over whether a list is read from its first page to its last one. */
  private learnPage(method: string, cursor: unknown, isLast: boolean): void {
    if (this.whole === undefined || this.begun === undefined) return
    const [, list] = /^(tools|prompts)\/list$/.exec(method) ?? []
    if (list === undefined) return
    if (cursor === undefined) this.begun.add(list)
    if (isLast && this.begun.has(list)) this.whole.add(list)
  }

  /** The request that opened the subscription which a notification names. */
  subscription(params: JsonObject): Exchange | undefined {
    return this.byId.get(keyOf(at(params, "_meta", Meta.subscriptionId) ?? null))
  }

  private learnResult(exchange: Exchange, result: unknown): void {
    const { method, params } = exchange
    this.tasks.answered(exchange, result)
    if (method === "initialize" && this.phase === "opening") {
      this.phase = "open"
      this.capabilities = objectAt(result, "capabilities")
      const version = at(result, "protocolVersion")
      this.agreed = typeof version === "string" ? version : undefined
      this.learnServer(at(result, "serverInfo"))
    }
    if (method === "initialize" || method === "server/discover") this.whole?.add("capabilities")
    if (method === "server/discover") {
      this.capabilities = objectAt(result, "capabilities")
      this.learnServer(at(result, "_meta", Meta.serverInfo))
    }
    const level = at(params, "level")
    if (method === "logging/setLevel" && typeof level === "string") this.level = level
    this.offers = Offers.learnt(this.offers, result)
    const cursor = at(result, "nextCursor")
    this.learnPage(method, at(params, "cursor"), cursor === undefined)
    if (typeof cursor === "string") {
      this.next.set(method, cursor)
      ;(this.lazyCursors ??= new Set()).add(cursor)
    } else this.next.delete(method)
  }

  private learnServer(info: unknown): void {
    const [name, version] = [at(info, "name"), at(info, "version")]
    if (typeof name === "string" && typeof version === "string") this.server = { name, version }
  }
}
