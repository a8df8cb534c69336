/**
 * What comes in response to HTTP requests of one client: its session, and the events of its streams, as observations and messages.
 *
 * The requests may be those of the player, or of any client that is listened to.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { type Call, type StreamEvent, type CallHeaders, isStream, isTaken } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Exchange, Observation } from "../model/Observation.ts"
import type { HttpEvent } from "../target/Target.ts"
import { at, parse } from "../model/json.ts"

/** What is done with what comes. */
export interface ReceiverListener {
  readonly observe: (observation: Observation) => void
  /** A message of the server; `carrier`: the request on whose stream it came. */
  readonly hear: (text: string, carrier: Exchange | undefined) => void
  /** Writes down what crossed the wire. */
  readonly note: (from: "client" | "server", text: string) => void
  /** There was no response at all. */
  readonly lost: (why: string) => void
}

/** Events that are remembered of a session. */
const mostEvents = 10_000

export const sessionHeader = "mcp-session-id"

/** What a body is by its shape. */
export const carried = (json: unknown): Call["carries"] => {
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

/** The part of a call that its response does not change. */
export type Opening = Omit<
  Call,
  | "overtaken"
  | "status"
  | "answered"
  | "body"
  | "events"
  | "lastEventId"
  | "retry"
  | "ended"
  | "isOpen"
  | "needsSession"
  | "session"
>

export interface Options {
  readonly model: Model
  readonly to: ReceiverListener
  /** Whether a session id was never given before. */
  readonly isNewId: (id: string) => boolean
}

export class MessageReceiver {
  /** Of the session, given by the server. */
  id: string | undefined
  /** Whether the session was ended by a DELETE. */
  isEnded = false
  /** Of sessions that are not ended yet. */
  readonly ids = new Set<string>()
  /** Of sessions whose DELETE was sent and not refused. */
  private readonly ending = new Set<string>()
  private readonly byEventId = new Map<string, Call>()
  private readonly byData = new Map<string, Call>()
  private readonly model: Model
  private readonly to: ReceiverListener
  private readonly isNewId: (id: string) => boolean

  constructor({ isNewId, model, to }: Options) {
    this.model = model
    this.to = to
    this.isNewId = isNewId
  }

  /** The call of a request that is sent now. */
  begin(opening: Opening): Call {
    const given = opening.headers[sessionHeader]
    if (opening.method === "DELETE" && given !== undefined) this.ending.add(given)
    return {
      ...opening,
      session: given === undefined ? "none" : given !== this.id ? "unknown" : this.isEnded ? "ended" : "own",
      needsSession: this.id !== undefined,
      isOpen: this.model.phase !== "new" && this.model.phase !== "opening",
      overtaken: false,
      status: undefined,
      answered: {},
      body: "",
      events: 0,
      lastEventId: undefined,
      retry: undefined,
      ended: undefined
    }
  }

  /** The call on whose stream the event came. */
  callOf(eventId: string): Call | undefined {
    return this.byEventId.get(eventId)
  }

  /** Takes what comes in response to a call. */
  receive(call: Call, event: HttpEvent): void {
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
        this.to.note("server", event.why)
        return this.to.lost(call.status === undefined ? event.why : "")
    }
  }

  private begun(call: Call, status: number, headers: CallHeaders): void {
    const session = call.headers[sessionHeader]
    if (call.method === "DELETE" && !isTaken({ status })) this.ending.delete(session ?? "")
    const overtaken = call.method !== "DELETE" && this.ending.has(session ?? "")
    Object.assign(call, { status, answered: headers, overtaken })
    const given = headers[sessionHeader]
    const isNewId = given !== undefined && given !== this.id && this.isNewId(given)
    if (isStream(call) || status !== 200) this.to.note("server", `${status} ${headers["content-type"] ?? ""}`.trim())
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
    this.model.forgetAsked()
  }

  private event(call: Call, event: StreamEvent): void {
    const { data, id } = event
    call.events++
    // An id that is inherited from the event before names no other event.
    const isOwn = id !== undefined && id !== "" && id !== call.lastEventId
    const sameId = isOwn ? this.byEventId.get(id) : undefined
    const sameData = data === "" ? undefined : this.byData.get(data)
    if (isOwn) this.byEventId.set(id, call)
    if (data !== "") this.byData.set(data, call)
    this.forget()
    this.to.observe({ _tag: "Streamed", call, event, sameData, sameId })
    if (id !== undefined && id !== "") call.lastEventId = id
    // A client that is observed may ask for events again that it already has.
    if (this.model.observed && call.resumes !== undefined && sameData !== undefined) return
    if (data !== "" && event.event === "message") this.to.hear(data, call.exchange ?? call.resumes?.exchange)
  }

  /** Events are remembered up to a bound: a session may last for days. */
  private forget(): void {
    for (const calls of [this.byEventId, this.byData]) {
      const [oldest] = calls.size > mostEvents ? calls.keys() : []
      if (oldest !== undefined) calls.delete(oldest)
    }
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
    // What is refused because its session has ended is no answer of the method.
    const isRefusal = call.overtaken || id === undefined || id === null
    const isMessage = isTaken(call) ? body !== "" && call.carries !== "nothing" : !isRefusal
    if (isMessage) this.to.hear(body, call.exchange)
    else if (body !== "") this.to.note("server", body)
    if (!isTaken(call)) for (const exchange of call.exchanges) exchange.refused = true
  }
}
