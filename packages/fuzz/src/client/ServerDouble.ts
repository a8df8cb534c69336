/** A misbehaving server for one conversation, independent of the transport. It reports its observations but doesn't judge them. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Line } from "../play/Played.ts"
import { type ClientRequest, ClientModel, type SentQuestion, type Sent } from "./model/ClientModel.ts"
import type { ClientObservation } from "./model/ClientRule.ts"
import { isList, resultOf } from "./offer.ts"
import type { Act, ServerScript } from "./model/ServerScript.ts"
import { at } from "../model/json.ts"

/** Number of pages after which a list ends, regardless of the script. */
const mostPages = 120
/** Pause between the pieces of a message, in milliseconds. */
const pause = 2

/** The request with which a client finds out the server's era. */
const probe = "server/discover"

const keyOf = (id: unknown): string => JSON.stringify(id) ?? ""
const encoder = new TextEncoder()

/** Where the messages about a request are written: an event stream, or stdout. */
export interface MessageOutlet {
  /** Frames a message for this outlet. */
  readonly frame: (text: string) => string
  readonly write: (bytes: Uint8Array) => void
  /** Writes to stderr, if there is a stderr. */
  readonly log: (text: string) => void
  /** Closes the outlet before the response. */
  readonly cut: (act: Extract<Act, { _tag: "Cut" }>, text: string) => void
}

export interface Options {
  readonly script: ServerScript
  /** The transport that the client uses. */
  readonly transport: ClientModel["transport"]
  readonly observe: (observation: ClientObservation) => void
  readonly now: () => number
  /** How long the client may take to answer a question, in milliseconds. */
  readonly patience: number
}

/** Result of handling a client's message. `None` means that it needs no response. */
export type Heard =
  | { readonly _tag: "Asked"; readonly asked: ClientRequest }
  | { readonly _tag: "Invalid"; readonly reason: string }
  | { readonly _tag: "None" }

const none: Heard = { _tag: "None" }

export class ServerDouble {
  readonly model: ClientModel
  readonly script: ServerScript
  readonly options: Options
  readonly lines: Array<Line> = []
  private readonly counts = new Map<string, number>()
  private readonly replies = new Map<string, () => void>()
  private readonly ending = new AbortController()
  private next = 0

  constructor(options: Options) {
    this.options = options
    this.script = options.script
    this.model = new ClientModel(options.script.revision, options.script.faults, options.transport)
    for (const tool of options.script.tools) {
      if (isHeaderWrong(tool)) this.model.forbidden.add(String(at(tool, "name")))
    }
  }

  /** Ends everything that is still open. Call it when the client is gone. */
  close(): void {
    this.ending.abort()
  }

  note(from: Line["from"], text: string): void {
    this.lines.push({ from, text, at: this.options.now() })
  }

  /** Returns a number that is unique in this conversation. */
  fresh(): number {
    return ++this.next
  }

  /** Handles a message from the client. */
  hear(parsed: unknown, sent: Sent): Heard {
    const { observe } = this.options
    const message = JsonRpc.classify(parsed)
    if (JsonRpc.isInvalid(message)) {
      observe({ _tag: "Invalid", text: sent.body, reason: message.reason })
      return { _tag: "Invalid", reason: message.reason }
    }
    if (JsonRpc.isRequest(message)) {
      const asked: ClientRequest = { id: message.id, method: message.method, params: message.params, sent, over: false }
      observe({ _tag: "Requested", asked })
      this.learn(asked)
      return { _tag: "Asked", asked }
    }
    if (JsonRpc.isNotification(message)) {
      const { method, params } = message
      observe({ _tag: "Notified", method, params, sent })
      if (method === "notifications/initialized" && this.model.phase === "open") this.model.phase = "ready"
      return none
    }
    const same = this.model.questions.filter(({ id }) => keyOf(id) === keyOf(message.id))
    const question = same.find(({ answered }) => !answered) ?? same[0]
    observe({ _tag: "Replied", id: message.id, result: at(parsed, "result"), error: at(parsed, "error"), question })
    if (question !== undefined) question.answered = true
    this.replies.get(keyOf(message.id))?.()
    return none
  }

  private learn(asked: ClientRequest): void {
    const { model } = this
    const { id, method, params } = asked
    if (method === "initialize") model.reopen()
    model.asked.push(asked)
    model.ids.add(keyOf(id))
    const declared = model.stateless ? at(params, "_meta", Meta.clientCapabilities) : at(params, "capabilities")
    if (model.stateless || method === "initialize") model.declares = isJsonObject(declared) ? declared : {}
    if (isList(method)) model.pages++
  }

  /** Resolves when the client is gone. */
  get ended(): Promise<void> {
    const { signal } = this.ending
    return new Promise((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener("abort", () => resolve(), { once: true })
    })
  }

  /** Sleeps for this many milliseconds, or until the client is gone. */
  sleep(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const slept = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))
    return Promise.race([slept, this.ended]).finally(() => clearTimeout(timer))
  }

  /** Returns the faults of the next request with this method. A probe gets no questions: its revision has no requests from servers. */
  actsOn(method: string): ReadonlyArray<Act> {
    const count = this.counts.get(method) ?? 0
    this.counts.set(method, count + 1)
    if (isList(method) && count >= mostPages) return []
    return this.script.faults
      .filter(({ nth, on }) => (on === method || (on === "*" && method !== "initialize")) && (nth ?? count) === count)
      .map(({ act }) => act)
      .filter(({ _tag }) => method !== probe || _tag !== "Ask")
  }

  /** Returns the response to a request, and records that the client may know its content. */
  answer(asked: ClientRequest, acts: ReadonlyArray<Act>): JsonObject {
    const response = this.responseOf(asked, acts)
    this.given(asked, response)
    if (asked.method === "initialize") this.agreed(asked, response)
    return response
  }

  private responseOf({ id, method, params }: ClientRequest, acts: ReadonlyArray<Act>): JsonObject {
    const cursor = at(params, "cursor")
    // A cursor that came from a fault leads to the first page.
    const isOdd = typeof cursor === "string" && this.model.cursors.has(cursor) && !this.script.pages.includes(cursor)
    const result = resultOf(method, isOdd ? {} : params, this.script)
    const found = { jsonrpc: "2.0", id, result }
    const none = { code: isList(method) ? -32602 : -32601, message: `There is no such ${method}` }
    const right: JsonObject = result === undefined ? { jsonrpc: "2.0", id, error: none } : found
    return acts.reduce<JsonObject>((response, act) => changed(response, act), right)
  }

  /** Records the cursors and questions in a response. */
  private given({ id, method, params }: ClientRequest, response: JsonObject): void {
    const { model } = this
    const { result } = response
    const cursor = at(result, "nextCursor")
    if (typeof cursor === "string") {
      model.endless ||= model.cursors.has(cursor)
      model.cursors.add(cursor)
    }
    if (at(result, "resultType") !== "input_required") return
    const keys = Object.keys(Object(at(result, "inputRequests")))
    model.rounds.push({ method, name: at(params, "name"), id, state: at(result, "requestState"), keys })
  }

  private agreed({ id }: ClientRequest, { id: given, result }: JsonObject): void {
    const { model, script } = this
    if (!isJsonObject(result) || keyOf(given) !== keyOf(id)) return
    model.session = script.sessions ? `fuzz-session-${this.fresh()}` : undefined
    model.agreed = at(result, "protocolVersion")
    model.impossible = typeof model.agreed !== "string" || /^(?:19|99)/.test(model.agreed)
  }

  /** Records that the response was sent or abandoned. */
  done(asked: ClientRequest): void {
    asked.over = true
    if (this.model.agreed !== undefined && asked.method === "initialize" && this.model.phase === "opening") {
      this.model.phase = "open"
    }
  }

  /** Performs the faults of a request, then writes its response. */
  async perform(acts: ReadonlyArray<Act>, asked: ClientRequest, text: string, outlet: MessageOutlet): Promise<void> {
    const tell = (message: string) => this.write(outlet, outlet.frame(message))
    for (const act of acts) {
      if (act._tag === "Tell") tell(JSON.stringify(act.message))
      if (act._tag === "Text") this.write(outlet, act.text)
      if (act._tag === "Log") outlet.log(act.text)
      if (act._tag === "Late") await this.sleep(act.milliseconds)
      if (act._tag === "Never") return this.ended
      if (act._tag === "Ask") await this.ask(act, tell)
      if (act._tag === "Cut") {
        // The client never learns the version, so later requests need not follow it.
        if (asked.method === "initialize" && !act.resumable) this.model.impossible = true
        this.done(asked)
        return outlet.cut(act, text)
      }
    }
    this.done(asked)
    const pieces = acts.find((act) => act._tag === "Pieces")
    if (pieces === undefined) tell(text)
    else await this.writePieces(outlet, outlet.frame(text), pieces.count)
    if (acts.some(({ _tag }) => _tag === "Twice")) tell(text)
  }

  write({ write }: MessageOutlet, text: string): void {
    this.note("server", text.trim())
    write(encoder.encode(text))
  }

  private async writePieces({ write }: MessageOutlet, text: string, count: number): Promise<void> {
    this.note("server", text.trim())
    const bytes = encoder.encode(text)
    const size = Math.max(1, Math.ceil(bytes.length / Math.max(1, count)))
    for (let start = 0; start < bytes.length; start += size) {
      write(bytes.subarray(start, start + size))
      await this.sleep(pause)
    }
  }

  /** Asks a question, and waits until the client has answered or the patience is over. */
  private async ask(
    { id, method, params }: Extract<Act, { _tag: "Ask" }>,
    tell: (text: string) => void
  ): Promise<void> {
    const question: SentQuestion = {
      id: id ?? `question-${this.fresh()}`,
      method,
      params,
      at: this.options.now(),
      isDue: this.model.phase === "ready",
      answered: false
    }
    this.model.questions.push(question)
    const replied = new Promise<void>((resolve) => this.replies.set(keyOf(question.id), resolve))
    tell(JSON.stringify({ jsonrpc: "2.0", id: question.id, method, params }))
    // In 2026-07-28 a client must not answer, so wait only briefly.
    await Promise.race([replied, this.sleep(this.model.stateless ? 50 : this.options.patience)])
    if (!question.answered && !this.ending.signal.aborted) this.options.observe({ _tag: "Unanswered", question })
  }
}

const changed = (response: JsonObject, act: Act): JsonObject => {
  const { error: _, result: __, ...head } = response
  switch (act._tag) {
    case "Result":
      return { ...head, result: act.result }
    case "Merge":
      return isJsonObject(response.result) ? { ...head, result: { ...response.result, ...act.members } } : response
    case "Error":
      return { ...head, error: act.error }
    case "Id":
      return { ...response, id: act.id }
    case "Huge":
      return isJsonObject(response.result)
        ? { ...head, result: { ...response.result, _meta: { "com.example/huge": "x".repeat(act.characters) } } }
        : response
    default:
      return response
  }
}

/** True if a tool has a header annotation that clients must reject (2026-07-28). */
const isHeaderWrong = (tool: unknown): boolean =>
  Object.values(Object(at(tool, "inputSchema", "properties"))).some((property) => {
    const header = at(property, "x-mcp-header")
    return header !== undefined && (typeof header !== "string" || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header))
  })
