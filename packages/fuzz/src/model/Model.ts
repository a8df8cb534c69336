/**
 * The model of one conversation: the client's messages, the responses it may expect, and the server's self-description. Turns text into
 * observations but leaves judging them to the rules. Doesn't depend on a transport or a clock.
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

// Shared by conversations that need no set, because creating a model should not cost more than a message.
const noTexts: ReadonlySet<string> = new Set()
const noExchanges: ReadonlyMap<string, Exchange> = new Map()

/** The notification that opens a subscription. */
export const acknowledged = "notifications/subscriptions/acknowledged"

/** Options of a model. */
export interface Options {
  /**
   * Whether to model a client other than the fuzzer. Such a client may know more about the server than the model does. Without sessions,
   * several clients may also use the same IDs at the same time. Default false.
   */
  readonly observed?: boolean | undefined
}

/** Maximum number of exchanges to keep in observed traffic, because a conversation may last for days. */
const keptExchanges = 1000

export class Model {
  readonly revision: Revision.Revision
  readonly exchanges: Array<Exchange> = []
  private readonly byId = new Map<string, Exchange>()
  readonly tasks = new TaskBook()
  /** Tasks of the first client, or `undefined` if this is the first client. */
  foreign: ForeignTasks | undefined
  private lazyTokens: Map<string, Exchange> | undefined
  private lazyAmbiguous: Set<string> | undefined
  private lazyAsked: Set<string> | undefined
  private lazyUnanswered: Set<string> | undefined
  /** The cursor of the newest page by method. */
  readonly next = new Map<string, string>()
  private lazyCursors: Set<string> | undefined
  phase: "new" | "opening" | "open" | "ready" = "new"
  /** Capabilities from `initialize` or `server/discover`. */
  capabilities: JsonObject
  declares: JsonObject = none
  server: Survey.Survey["server"]
  /** The version that the server chose, or `undefined` before the handshake. */
  agreed: string | undefined
  /** A version that the server supports, because it chose it in an earlier conversation. */
  readonly known: string | undefined
  level: string | undefined
  /** True if a resource was ever subscribed to. */
  subscribed = false
  offers: Offers.Offers
  /** Index of the running script command. */
  command = 0
  /** Number of sent texts whose error may lack an id. */
  unreadable = 0

  readonly observed: boolean
  /** Completely known features: `capabilities`, and lists that were read to the end after their last change. */
  private readonly whole: Set<string> | undefined
  private readonly begun: Set<string> | undefined

  constructor(survey: Survey.Survey, { observed = false }: Options = {}) {
    this.observed = observed
    this.whole = observed ? new Set() : undefined
    this.begun = observed ? new Set() : undefined
    // A survey's schema only allows known versions.
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

  /** Tokens that two requests used at the same time. Their progress cannot be attributed. */
  get ambiguous(): ReadonlySet<string> {
    return this.lazyAmbiguous ?? noTexts
  }

  /** The ids of the server's requests. */
  get asked(): ReadonlySet<string> {
    return this.lazyAsked ?? noTexts
  }

  /** Ids of questions that the client has not answered. The server may be waiting for the answers. */
  get unanswered(): ReadonlySet<string> {
    return this.lazyUnanswered ?? noTexts
  }

  /** All cursors that the server has issued. */
  get cursors(): ReadonlySet<string> {
    return this.lazyCursors ?? noTexts
  }

  /** Forgets the ids of the server's requests, which are unique only within a session. Call it when a session begins. */
  forgetAsked(): void {
    this.lazyAsked = undefined
    this.lazyUnanswered = undefined
  }

  /** True if the model is complete in this respect. Unlisted resources may exist, and cursors may predate the observation. */
  knows(what: "capabilities" | "tools" | "prompts" | "resources" | "cursors"): boolean {
    if (!this.observed) return true
    return what === "cursors"
      ? this.revision.era === "stateful"
      : what !== "resources" && this.whole?.has(what) === true
  }

  /** Returns the known facts about the server, for later conversations. */
  survey(): Survey.Survey {
    return {
      revision: this.revision.version,
      ...(this.server === undefined ? undefined : { server: this.server }),
      // The round trip narrows the type to JSON values.
      capabilities: JSON.parse(JSON.stringify(this.capabilities)),
      ...Offers.surveyed(this.offers)
    }
  }

  /** Returns the newest exchange that satisfies the predicate. */
  newest(predicate: (exchange: Exchange) => boolean): Exchange | undefined {
    return this.exchanges.findLast(predicate)
  }

  /** Records a text from the client. `right` is false if no correct client sends it this way. `json` is the parsed text. */
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
    // A server that failed to read the id answers without it.
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
    // A second request with the id of an open request breaks the rules itself, so only the first is followed until all are answered.
    // The answer to a cancelled request may be on its way or never come.
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

  /** Drops the older half of the exchanges. */
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
   * Returns the observations in a text from the server. Call `learn` with each of them after judging it. `carrier` is the request on whose
   * stream the text arrived, if requests have streams.
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

  /** Updates the model with an observation. */
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

  /** Attributes an error without an id to the oldest malformed request. */
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
      case "notifications/resources/list_changed":
        this.offers = Offers.without(this.offers, "skills")
        return
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

  /** Records whether a list was read from its first page to its last. */
  private learnPage(method: string, cursor: unknown, isLast: boolean): void {
    if (this.whole === undefined || this.begun === undefined) return
    const [, list] = /^(tools|prompts)\/list$/.exec(method) ?? []
    if (list === undefined) return
    if (cursor === undefined) this.begun.add(list)
    if (isLast && this.begun.has(list)) this.whole.add(list)
  }

  /** Returns the request that opened the notification's subscription. */
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
