/**
 * Turns the responses to one client's HTTP requests into observations and messages. Tracks the client's session and its event streams.
 *
 * The requests may come from the player or from any client whose traffic is observed.
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { type Call, type StreamEvent, type CallHeaders, isStream, isTaken } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Exchange, Observation } from "../model/Observation.ts"
import type { HttpEvent } from "../target/Target.ts"
import { at, parse } from "../model/json.ts"

/** Receives the parsed events. */
export interface ReceiverListener {
  readonly observe: (observation: Observation) => void
  /** Receives a message from the server. `carrier` is the request on whose stream it arrived. */
  readonly hear: (text: string, carrier: Exchange | undefined) => void
  /** Records a line of the wire. */
  readonly note: (from: "client" | "server", text: string) => void
  /** Called if the connection failed. `why` is empty if a response had begun. */
  readonly lost: (why: string) => void
}

/** Maximum number of remembered events per session. */
const mostEvents = 10_000

export const sessionHeader = "mcp-session-id"

/** Returns the kind of a body, judged by its shape. */
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

/** The fields of a call that are known before its response. */
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
  /** Returns true if the session id is new. */
  readonly isNewId: (id: string) => boolean
}

export class MessageReceiver {
  /** The session id that the server issued. */
  id: string | undefined
  /** True if a DELETE ended the session. */
  isEnded = false
  /** Ids of open sessions. */
  readonly ids = new Set<string>()
  /** Ids of sessions whose DELETE was sent and not rejected. */
  private readonly ending = new Set<string>()
  private readonly byEventId = new BoundedMap<string, Call>(mostEvents)
  private readonly byData = new BoundedMap<string, Call>(mostEvents)
  private readonly model: Model
  private readonly to: ReceiverListener
  private readonly isNewId: (id: string) => boolean

  constructor({ isNewId, model, to }: Options) {
    this.model = model
    this.to = to
    this.isNewId = isNewId
  }

  /** Creates the record of a request that is about to be sent. */
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

  /** Returns the call on whose stream the event arrived. */
  callOf(eventId: string): Call | undefined {
    return this.byEventId.get(eventId)
  }

  /** Handles a part of the response to a call. */
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

  /** Starts a session. Forgets the event ids and request ids of the previous one. */
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
    // An event without an `id` inherits the previous one, which does not identify it.
    const isOwn = id !== undefined && id !== "" && id !== call.lastEventId
    const sameId = isOwn ? this.byEventId.get(id) : undefined
    const sameData = data === "" ? undefined : this.byData.get(data)
    if (isOwn) this.byEventId.set(id, call)
    if (data !== "") this.byData.set(data, call)
    this.to.observe({ _tag: "Streamed", call, event, sameData, sameId })
    if (id !== undefined && id !== "") call.lastEventId = id
    // A real client may ask again for events that it already has.
    if (this.model.observed && call.resumes !== undefined && sameData !== undefined) return
    if (data !== "" && event.event === "message") this.to.hear(data, call.exchange ?? call.resumes?.exchange)
  }

  private finish(call: Call, body: string): void {
    call.ended = "server"
    call.body = body
    if (!isStream(call)) this.take(call, body)
    this.to.observe({ _tag: "Finished", call })
  }

  /** Handles a body that is not a stream: a message, or the reason for a rejection. */
  private take(call: Call, body: string): void {
    const json = parse(body)
    const id = at(json, "id")
    // A rejection of an ended session is not the method's answer.
    const isRefusal = call.overtaken || id === undefined || id === null
    const isMessage = isTaken(call) ? body !== "" && call.carries !== "nothing" : !isRefusal
    if (isMessage) this.to.hear(body, call.exchange)
    else if (body !== "") this.to.note("server", body)
    if (!isTaken(call)) for (const exchange of call.exchanges) exchange.refused = true
  }
}
