/**
 * The misbehaving server of one conversation, as a web handler. It tells what it observes, and judges nothing.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { at } from "../model/Model.ts"
import type { Line } from "../Player.ts"
import { type ClientRequest, ClientModel, type Question, type Sent } from "./model/ClientModel.ts"
import type { ClientObservation } from "./model/ClientRule.ts"
import { isList, resultOf } from "./offer.ts"
import type { Act, ServerScript } from "./model/ServerScript.ts"

/** Requests of one list after which the server has no more pages, whatever its script says. */
const mostPages = 120

/** Writes to a stream of events. */
type Emit = (text: string) => void

const headersOf = ({ headers }: Request): Sent["headers"] => Object.fromEntries(headers.entries())

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const keyOf = (id: unknown): string => JSON.stringify(id) ?? ""
const event = (text: string): string => `event: message\ndata: ${text}\n\n`

const json = (body: string, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(body, { status, headers: { "content-type": "application/json", ...headers } })

const refusal = (status: number, code: number, message: string): Response =>
  json(JSON.stringify({ jsonrpc: "2.0", error: { code, message } }), status)

export interface Options {
  readonly script: ServerScript
  readonly observe: (observation: ClientObservation) => void
  readonly now: () => number
  /** How long the client may take to answer a question, in milliseconds. */
  readonly patience: number
}

export class ServerDouble {
  readonly model: ClientModel
  readonly lines: Array<Line> = []
  private readonly script: ServerScript
  private readonly options: Options
  private readonly counts = new Map<string, number>()
  private readonly replies = new Map<string, () => void>()
  /** What the client gets that resumes a stream, by the id of its last event. */
  private readonly rests = new Map<string, string>()
  private readonly ending = new AbortController()
  private next = 0

  constructor(options: Options) {
    this.options = options
    this.script = options.script
    this.model = new ClientModel(options.script.revision, options.script.faults)
    for (const tool of options.script.tools) {
      if (isHeaderWrong(tool)) this.model.forbidden.add(String(at(tool, "name")))
    }
  }

  /** The client is gone: ends all that is open. */
  close(): void {
    this.ending.abort()
  }

  /** Answers one HTTP request of the client. */
  readonly handle = async (request: Request): Promise<Response> => {
    const body = await request.text()
    const path = new URL(request.url).pathname
    const sent: Sent = { method: request.method, path, headers: headersOf(request), body, at: this.options.now() }
    const parsed = parse(body)
    this.note("client", `${request.method}${/mcp\/?$/.test(path) ? "" : ` ${path}`} ${body}`.trim())
    this.options.observe({ _tag: "Sent", sent, json: parsed })
    if (!/mcp\/?$/.test(path)) return new Response(null, { status: 404 })
    const response = this.refused(sent, parsed) ?? (await this.take(sent, parsed))
    if (response.status !== 200) this.note("server", `${response.status}`)
    return response
  }

  private note(from: Line["from"], text: string): void {
    this.lines.push({ from, text, at: this.options.now() })
  }

  /** What is said to a request of a session that is none. */
  private refused({ headers }: Sent, parsed: unknown): Response | undefined {
    const { model } = this
    const given = headers["mcp-session-id"]
    if (given !== undefined && model.expired.has(given)) {
      model.expired.set(given, true)
      return refusal(404, -32001, "Session not found")
    }
    if (model.stateless || model.session === undefined || at(parsed, "method") === "initialize") return undefined
    return given === model.session
      ? undefined
      : refusal(given === undefined ? 400 : 404, -32600, "The request needs the id of its session")
  }

  private take(sent: Sent, parsed: unknown): Promise<Response> {
    switch (sent.method) {
      case "POST":
        return this.post(sent, parsed)
      case "GET":
        return Promise.resolve(this.model.stateless ? new Response(null, { status: 405 }) : this.get(sent))
      case "DELETE":
        this.model.removed = true
        return Promise.resolve(new Response(null, { status: 200 }))
      default:
        return Promise.resolve(new Response(null, { status: 405 }))
    }
  }

  private get({ at: now, headers }: Sent): Response {
    const lastEventId = headers["last-event-id"]
    if (lastEventId === undefined) return this.stream(() => this.ended)
    const cut = this.model.cuts.find((cut) => cut.lastEventId === lastEventId)
    this.options.observe({ _tag: "Resumed", lastEventId, cut, at: now })
    if (cut !== undefined) cut.resumed = true
    const rest = this.rests.get(lastEventId)
    if (rest === undefined) return refusal(400, -32600, "No such event")
    return this.stream((emit) => {
      this.write(emit, event(rest))
      return Promise.resolve()
    })
  }

  private async post(sent: Sent, parsed: unknown): Promise<Response> {
    if (Array.isArray(parsed) && this.script.revision === "2025-03-26") {
      const answers = await Promise.all(parsed.map((member: unknown) => this.message(member, sent)))
      const texts = await Promise.all(answers.filter(({ status }) => status === 200).map((answer) => answer.text()))
      return texts.length === 0 ? new Response(null, { status: 202 }) : json(`[${texts.join(",")}]`)
    }
    return this.message(parsed, sent)
  }

  private async message(parsed: unknown, sent: Sent): Promise<Response> {
    const { observe } = this.options
    const message = JsonRpc.classify(parsed)
    if (JsonRpc.isInvalid(message)) {
      observe({ _tag: "Invalid", text: sent.body, reason: message.reason })
      return refusal(400, -32600, message.reason)
    }
    if (JsonRpc.isRequest(message)) {
      const asked: ClientRequest = { id: message.id, method: message.method, params: message.params, sent, over: false }
      observe({ _tag: "Requested", asked })
      this.learn(asked)
      return this.respond(asked)
    }
    if (JsonRpc.isNotification(message)) {
      const { method, params } = message
      observe({ _tag: "Notified", method, params, sent })
      if (method === "notifications/initialized" && this.model.phase === "open") this.model.phase = "ready"
      return new Response(null, { status: 202 })
    }
    const same = this.model.questions.filter(({ id }) => keyOf(id) === keyOf(message.id))
    const question = same.find(({ answered }) => !answered) ?? same[0]
    observe({ _tag: "Replied", id: message.id, result: at(parsed, "result"), error: at(parsed, "error"), question })
    if (question !== undefined) question.answered = true
    this.replies.get(keyOf(message.id))?.()
    return new Response(null, { status: 202 })
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

  private get ended(): Promise<void> {
    const { signal } = this.ending
    return new Promise((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener("abort", () => resolve(), { once: true })
    })
  }

  private sleep(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const slept = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))
    return Promise.race([slept, this.ended]).finally(() => clearTimeout(timer))
  }

  private faultsOf(method: string): ReadonlyArray<Act> {
    const count = this.counts.get(method) ?? 0
    this.counts.set(method, count + 1)
    if (isList(method) && count >= mostPages) return []
    return this.script.faults
      .filter(({ nth, on }) => (on === method || (on === "*" && method !== "initialize")) && (nth ?? count) === count)
      .map(({ act }) => act)
  }

  private responseOf({ id, method, params }: ClientRequest, acts: ReadonlyArray<Act>): JsonObject {
    const cursor = at(params, "cursor")
    // A cursor that only a fault gave away leads to the first page.
    const isOdd = typeof cursor === "string" && this.model.cursors.has(cursor) && !this.script.pages.includes(cursor)
    const result = resultOf(method, isOdd ? {} : params, this.script)
    const found = { jsonrpc: "2.0", id, result }
    const none = { code: isList(method) ? -32602 : -32601, message: `There is no such ${method}` }
    const right: JsonObject = result === undefined ? { jsonrpc: "2.0", id, error: none } : found
    return acts.reduce<JsonObject>((response, act) => changed(response, act), right)
  }

  private async respond(asked: ClientRequest): Promise<Response> {
    const { method } = asked
    if (this.model.stateless && method === "subscriptions/listen") return this.stream(() => this.ended)
    const acts = this.faultsOf(method)
    for (const act of acts) {
      if (act._tag === "Status")
        return new Response(act.body, { status: act.status, headers: { "content-type": act.type } })
      if (act._tag === "Expire" && this.model.session !== undefined) return this.forget(this.model.session)
    }
    const response = this.responseOf(asked, acts)
    this.given(asked, response)
    const headers = this.opened(asked, response)
    const text = JSON.stringify(response)
    const isOnStream = acts.some(({ _tag }) => onStream.has(_tag))
    if (this.script.streams || isOnStream) return this.stream((emit) => this.perform(acts, asked, text, emit), headers)
    for (const act of acts) {
      if (act._tag === "Late") await this.sleep(act.milliseconds)
      if (act._tag === "Never") await this.ended
    }
    this.note("server", text)
    this.done(asked)
    return json(text, 200, headers)
  }

  private forget(session: string): Response {
    this.model.expired.set(session, true)
    this.model.session = undefined
    return refusal(404, -32001, "Session not found")
  }

  /** What the client may know from now on. */
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

  /** The headers of the response to `initialize`. */
  private opened({ id, method }: ClientRequest, response: JsonObject): Record<string, string> {
    const { model, script } = this
    const { result } = response
    if (method !== "initialize" || !isJsonObject(result) || keyOf(response.id) !== keyOf(id)) return {}
    model.session = script.sessions ? `fuzz-session-${++this.next}` : undefined
    model.agreed = at(result, "protocolVersion")
    model.impossible = typeof model.agreed !== "string" || /^(?:19|99)/.test(model.agreed)
    return model.session === undefined ? {} : { "mcp-session-id": model.session }
  }

  private done(asked: ClientRequest): void {
    asked.over = true
    if (this.model.agreed !== undefined && asked.method === "initialize" && this.model.phase === "opening") {
      this.model.phase = "open"
    }
  }

  private stream(produce: (emit: Emit) => Promise<void>, headers: Record<string, string> = {}): Response {
    const encoder = new TextEncoder()
    let isOpen = true
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        await produce((text) => {
          if (isOpen) controller.enqueue(encoder.encode(text))
        })
        if (isOpen) controller.close()
        isOpen = false
      },
      cancel: () => {
        isOpen = false
      }
    })
    return new Response(body, { status: 200, headers: { "content-type": "text/event-stream", ...headers } })
  }

  private write(emit: Emit, text: string): void {
    this.note("server", text.trim())
    emit(text)
  }

  private async perform(acts: ReadonlyArray<Act>, asked: ClientRequest, text: string, emit: Emit): Promise<void> {
    for (const act of acts) {
      if (act._tag === "Tell") this.write(emit, event(JSON.stringify(act.message)))
      if (act._tag === "Text") this.write(emit, act.text)
      if (act._tag === "Late") await this.sleep(act.milliseconds)
      if (act._tag === "Never") return this.ended
      if (act._tag === "Ask") await this.ask(act, emit)
      if (act._tag === "Cut") return this.cut(act, asked, text, emit)
    }
    this.done(asked)
    this.write(emit, event(text))
    if (acts.some(({ _tag }) => _tag === "Twice")) this.write(emit, event(text))
  }

  private cut(
    { resumable, retry = 50 }: Extract<Act, { _tag: "Cut" }>,
    asked: ClientRequest,
    text: string,
    emit: Emit
  ): void {
    this.done(asked)
    if (!resumable) return
    const id = `event-${++this.next}`
    this.rests.set(id, text)
    this.model.cuts.push({ lastEventId: id, retry, at: this.options.now(), resumed: false })
    this.write(emit, `id: ${id}\nretry: ${retry}\ndata:\n\n`)
  }

  /** Waits until the client has answered, or the patience is over. */
  private async ask({ id, method, params }: Extract<Act, { _tag: "Ask" }>, emit: Emit): Promise<void> {
    const question: Question = {
      id: id ?? `question-${++this.next}`,
      method,
      params,
      at: this.options.now(),
      isDue: this.model.phase === "ready",
      answered: false
    }
    this.model.questions.push(question)
    const replied = new Promise<void>((resolve) => this.replies.set(keyOf(question.id), resolve))
    this.write(emit, event(JSON.stringify({ jsonrpc: "2.0", id: question.id, method, params })))
    // In 2026-07-28 a client must not answer: it has the rest soon.
    await Promise.race([replied, this.sleep(this.model.stateless ? 50 : this.options.patience)])
    if (!question.answered && !this.ending.signal.aborted) this.options.observe({ _tag: "Unanswered", question })
  }
}

/** What can only be done on a stream. */
const onStream = new Set<Act["_tag"]>(["Tell", "Ask", "Text", "Cut", "Twice"])

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

/** Whether a tool has an annotation of a header that no client may accept (2026-07-28). */
const isHeaderWrong = (tool: unknown): boolean =>
  Object.values(Object(at(tool, "inputSchema", "properties"))).some((property) => {
    const header = at(property, "x-mcp-header")
    return header !== undefined && (typeof header !== "string" || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header))
  })
