/**
 * The client's side of a conversation over HTTP: a POST for each message, the session, streams that are opened, cut and resumed.
 *
 * It turns what comes into observations and messages; the player judges. Timers are the player's.
 */
import { type HeaderParam, parse as headerParams } from "@effect-mcp/protocol/HeaderParams"
import * as MirrorHeaders from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { type Call, type Event, type Headers, isStream, isTaken } from "./model/Call.ts"
import { at, type Model } from "./model/Model.ts"
import type { Exchange, Observation } from "./model/Observation.ts"
import type { Deviation } from "./model/Script.ts"
import type { HttpEvent, HttpWire } from "./target/Target.ts"

/** What the player does with what comes. */
export interface Listener {
  readonly observe: (observation: Observation) => void
  /** A message of the server; `carrier`: the request on whose stream it came. */
  readonly hear: (text: string, carrier: Exchange | undefined) => void
  /** Writes down what crossed the wire. */
  readonly note: (from: "client" | "server", text: string) => void
  /** There was no response at all. */
  readonly lost: (why: string) => void
}

const session = "mcp-session-id"
const unknownSession = "fuzz-0000-no-such-session"
const accepts = "application/json, text/event-stream"

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const carried = (json: unknown): Call["carries"] => {
  if (Array.isArray(json)) {
    const members = json.map((member: unknown) => carried(member))
    return members.includes("notification") && members.every((member) => member === "notification")
      ? "notification"
      : "batch"
  }
  const message = JsonRpc.classify(json)
  if (JsonRpc.isInvalid(message)) return "other"
  return JsonRpc.isRequest(message) ? "request" : JsonRpc.isNotification(message) ? "notification" : "response"
}

/** The part of a call that others may not change. */
type Opening = Pick<Call, "method" | "carries" | "exchange" | "exchanges" | "resumes"> & {
  readonly body: string | undefined
}

export class Dialogue {
  /** Given by the server. */
  id: string | undefined
  /** Whether the session was ended by a DELETE. */
  isEnded = false
  readonly calls: Array<Call> = []
  /** Of sessions that are not ended yet. */
  private readonly ids = new Set<string>()
  private readonly cuts = new Map<Call, () => void>()
  private readonly byEventId = new Map<string, Call>()
  private readonly byData = new Map<string, Call>()
  /** Whether what crosses the wire belongs to the conversation no more. */
  private isQuiet = false
  private readonly wire: HttpWire
  private readonly model: Model
  private readonly to: Listener

  constructor(wire: HttpWire, model: Model, to: Listener) {
    this.wire = wire
    this.model = model
    this.to = to
  }

  /** Whether a response has not even begun. */
  get isPending(): boolean {
    return this.calls.some(
      ({ ended, method, status }) => status === undefined && ended === undefined && method !== "GET"
    )
  }

  private get stateless(): boolean {
    return this.model.revision.era === "stateless"
  }

  /** Sends a message. */
  post(text: string, deviation?: Deviation): void {
    const json = parse(text)
    const carries = carried(json)
    const before = this.model.exchanges.length
    this.model.sent(text, deviation === undefined && (this.isEnded ? carries === "other" : true))
    const exchanges = this.model.exchanges.slice(before)
    const exchange = carries === "batch" ? undefined : exchanges[0]
    const headers = { accept: accepts, "content-type": "application/json", ...this.mirrored(json) }
    const isFirst = at(json, "method") === "initialize"
    this.send(
      { method: "POST", carries, exchange, exchanges, resumes: undefined, body: text },
      headers,
      deviation,
      isFirst
    )
  }

  /** Opens a stream of what the server sends by itself. */
  listen(deviation?: Deviation): void {
    this.get(undefined, {}, deviation)
  }

  /** Ends the session. */
  remove(deviation?: Deviation): void {
    if (this.id === undefined || this.isEnded) return
    const opening = { method: "DELETE", carries: "nothing", exchange: undefined, resumes: undefined } as const
    this.send({ ...opening, exchanges: [], body: undefined }, this.version(), deviation)
  }

  /** Closes the connection of a stream; default: the newest that is open. */
  cut(call = this.calls.findLast((call) => call.ended === undefined && isStream(call))): void {
    if (call === undefined || call.ended !== undefined) return
    call.ended = "client"
    this.cuts.get(call)?.()
    this.note("client", `the connection of ${shown(call)} is closed`)
    if (call.exchange !== undefined) call.exchange.cancelled = true
  }

  /** Resumes a stream; default: the newest that can be resumed. An open one is cut. */
  reconnect(given?: Call): void {
    const call = given ?? this.calls.findLast((call) => call.ended !== "server" && call.lastEventId !== undefined)
    if (call?.lastEventId === undefined) return
    this.cut(call)
    this.get(call.resumes ?? call, { "last-event-id": call.lastEventId })
  }

  /** Streams that ended without the response of their request, and may be asked for the rest of it. */
  get unfinished(): ReadonlyArray<Call> {
    const resumed = new Set(this.calls.map(({ resumes }) => resumes))
    return this.calls.filter(
      (call) =>
        call.ended === "server" &&
        call.lastEventId !== undefined &&
        call.exchange?.answer === undefined &&
        call.exchange?.cancelled === false &&
        !resumed.has(call)
    )
  }

  private note(from: "client" | "server", text: string): void {
    if (!this.isQuiet) this.to.note(from, text)
  }

  private version(): Headers {
    const { agreed, revision } = this.model
    return this.stateless
      ? { [MirrorHeaders.version]: revision.version }
      : agreed === undefined || agreed < "2025-06-18"
        ? {}
        : { [MirrorHeaders.version]: agreed }
  }

  private mirrored(json: unknown): Headers {
    if (!this.stateless) return this.version()
    const message = JsonRpc.classify(json)
    if (JsonRpc.isInvalid(message) || !("method" in message)) return this.version()
    return { ...this.version(), ...MirrorHeaders.of(message, this.params(message)) }
  }

  private params({
    method,
    params
  }: {
    readonly method: string
    readonly params?: unknown
  }): ReadonlyArray<HeaderParam> {
    const tool = method === "tools/call" ? this.model.tools.get(String(at(params, "name"))) : undefined
    return tool === undefined ? [] : headerParams(tool.inputSchema).params
  }

  private get(resumes: Call | undefined, more: Headers, deviation?: Deviation): void {
    const headers = { accept: "text/event-stream", ...this.version(), ...more }
    this.send(
      { method: "GET", carries: "nothing", exchange: undefined, exchanges: [], resumes, body: undefined },
      headers,
      deviation
    )
  }

  private send(
    opening: Opening,
    usual: Headers,
    { headers = {}, session: kind }: Deviation = {},
    isFirst = false
  ): void {
    const id = kind === "unknown" ? unknownSession : kind === "none" || isFirst ? undefined : this.id
    const all = Object.entries({ ...usual, ...(id === undefined ? undefined : { [session]: id }), ...headers })
    const sent = Object.fromEntries(all.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])))
    const given = sent[session]
    const call: Call = {
      ...opening,
      headers: sent,
      session: given === undefined ? "none" : given !== this.id ? "unknown" : this.isEnded ? "ended" : "own",
      needsSession: this.id !== undefined,
      right: kind === undefined && Object.keys(headers).length === 0,
      command: this.model.command,
      status: undefined,
      answered: {},
      body: "",
      events: 0,
      lastEventId: undefined,
      retry: undefined,
      ended: undefined
    }
    this.calls.push(call)
    const odd = [...all.filter(([name]) => name in headers), ...all.filter(([name]) => name === "last-event-id")]
    const differences = odd.map(([name, value]) => ` ${name}: ${value ?? "(none)"}`).join("")
    const which = call.session === "own" || id === undefined ? "" : ` (session: ${call.session})`
    const text = opening.body === undefined ? "" : ` ${opening.body}`
    this.note("client", `${opening.method}${which}${differences}${text}`)
    this.cuts.set(
      call,
      this.wire.begin({ method: call.method, headers: sent, body: opening.body }, (event) => this.receive(call, event))
    )
  }

  private receive(call: Call, event: HttpEvent): void {
    switch (event._tag) {
      case "Head":
        return this.begun(call, event.status, event.headers)
      case "Retry":
        call.retry = event.milliseconds
        return
      case "Event":
        return this.event(call, event.event)
      case "End":
        return this.finish(call, event.body)
      case "Failed":
        call.ended = "server"
        if (call.status === undefined) for (const exchange of call.exchanges) exchange.refused = true
        this.note("server", event.why)
        return this.to.lost(call.status === undefined ? event.why : "")
    }
  }

  private begun(call: Call, status: number, headers: Headers): void {
    Object.assign(call, { status, answered: headers })
    const given = headers[session]
    const isNewId = given !== undefined && given !== this.id && this.wire.isNewId(given)
    if (isStream(call) || status !== 200) this.note("server", `${status} ${headers["content-type"] ?? ""}`.trim())
    if (call.exchange?.method === "initialize" && isTaken(call) && given !== undefined) this.enter(given)
    if (call.method === "DELETE" && call.session === "own" && isTaken(call)) {
      this.isEnded = true
      this.ids.delete(this.id ?? "")
    }
    this.to.observe({ _tag: "Responded", call, isNewId })
  }

  /** Ids of events and requests are of one session. */
  private enter(id: string): void {
    this.id = id
    this.ids.add(id)
    this.isEnded = false
    this.byEventId.clear()
    this.byData.clear()
    this.model.asked.clear()
  }

  /** Ends every session, and closes every connection that is still open. */
  leave(): void {
    this.isQuiet = true
    for (const call of this.calls) if (call.ended === undefined) this.cut(call)
    for (const id of this.ids) {
      this.id = id
      this.isEnded = false
      this.remove()
    }
  }

  private event(call: Call, event: Event): void {
    const { data, id } = event
    call.events++
    // An id that is inherited from the event before names no other event.
    const isOwn = id !== undefined && id !== "" && id !== call.lastEventId
    const sameId = isOwn ? this.byEventId.get(id) : undefined
    const sameData = data === "" ? undefined : this.byData.get(data)
    if (isOwn) this.byEventId.set(id, call)
    if (data !== "") this.byData.set(data, call)
    this.to.observe({ _tag: "Streamed", call, event, sameData, sameId })
    if (id !== undefined && id !== "") call.lastEventId = id
    if (data !== "" && event.event === "message") this.to.hear(data, call.exchange ?? call.resumes?.exchange)
  }

  private finish(call: Call, body: string): void {
    call.ended = "server"
    call.body = body
    if (!isStream(call)) this.take(call, body)
    this.to.observe({ _tag: "Finished", call })
  }

  /** A body that is no stream: a message, or the reason of a refusal. */
  private take(call: Call, body: string): void {
    const json = parse(body)
    const id = at(json, "id")
    const isMessage = isTaken(call) ? body !== "" && call.carries !== "nothing" : id !== undefined && id !== null
    if (isMessage) this.to.hear(body, call.exchange)
    else if (body !== "") this.note("server", body)
    if (!isTaken(call)) for (const exchange of call.exchanges) exchange.refused = true
  }
}

const shown = ({ exchange, method }: Call): string => exchange?.method ?? method
