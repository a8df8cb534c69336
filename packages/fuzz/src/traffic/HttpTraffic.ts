/** Checks traffic over Streamable HTTP or HTTP with SSE, with one conversation per session. */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as MirrorHeaders from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Revision from "@effect-mcp/protocol/Revision"
import { type Call, isStream, isTaken } from "../model/Call.ts"
import { type Model } from "../model/Model.ts"
import type { Exchange } from "../model/Observation.ts"
import { carried, MessageReceiver, sessionHeader } from "../play/Receiver.ts"
import type { HttpEvent, TargetRequest } from "../target/Target.ts"
import { Conversation, declaredIn, type Options } from "./Conversation.ts"
import { at, parse } from "../model/json.ts"
import { type Exchanged, SseTraffic } from "./SseTraffic.ts"

export type { Exchanged } from "./SseTraffic.ts"

/** Maximum number of sessions to follow at once. Any beyond that were most likely abandoned by their clients. */
const mostSessions = 1000
/** Maximum number of session IDs to remember. */
const mostIds = 100_000
/** The revision of a request without a version header. */
const assumed = "2025-03-26"

/** A conversation, with the known state of its session and streams. */
interface Followed {
  readonly conversation: Conversation
  receiver: MessageReceiver | undefined
  /** True if its beginning was missed. */
  readonly joined: boolean
}

/** A request and its conversation. */
interface Part {
  readonly request: TargetRequest
  readonly json: unknown
  readonly begun: number
  readonly followed: Followed
  /** Undefined until the conversation has a model. */
  call: Call | undefined
}

/** True if a correct client could send the headers. */
const isRight = ({ body = "", headers, method }: TargetRequest, model: Model): boolean => {
  const { accept = "", "content-type": type = "", origin } = headers
  if (method === "DELETE") return true
  if (origin !== undefined || !accept.includes("text/event-stream")) return false
  if (method === "GET") return true
  const message = JsonRpc.classify(parse(body))
  const isJson = /^application\/json\s*(;|$)/i.test(type) && accept.includes("application/json")
  if (!isJson || (JsonRpc.isInvalid(message) && !Array.isArray(parse(body)))) return false
  if (model.revision.era === "stateless") {
    return (
      JsonRpc.isInvalid(message) ||
      !JsonRpc.isRequest(message) ||
      MirrorHeaders.mismatch(headers, message) === undefined
    )
  }
  return model.agreed === undefined || model.agreed < "2025-06-18" || headers[MirrorHeaders.version] === model.agreed
}

const isOpening = (json: unknown): boolean => at(json, "method") === "initialize"

/** The stateless revision that a request is in. */
const statelessIn = (json: unknown, version: string | undefined): Revision.Revision | undefined => {
  const named = version === undefined ? undefined : Revision.get(version)
  return declaredIn(json) ?? (named?.era === "stateless" ? named : undefined)
}

/** Reports a stream that is still open long after its response was sent. */
const runsOn = ({ begun, call, followed: { conversation } }: Part): void => {
  if (call?.ended !== undefined || call?.exchange?.answer === undefined || !isStream(call) || !call.right) return
  if (conversation.isLate(begun)) conversation.observe({ _tag: "Running", call })
}

const unfollow = ({ conversation }: Followed): void => conversation.end()

export class HttpTraffic {
  private readonly sessions = new BoundedMap<string, Followed>(mostSessions, unfollow)
  /** Conversations without a session ID, by the client's credentials. */
  private readonly others = new BoundedMap<string, Followed>(mostSessions, unfollow)
  private readonly ids = new Set<string>()
  /** Requests whose responses have not ended. */
  private readonly open = new Set<Part>()
  private readonly options: Omit<Options, "transport">
  private readonly onBegin: (what: "conversation" | "message") => void
  private readonly sse: SseTraffic

  constructor(options: Omit<Options, "transport">, onBegin: (what: "conversation" | "message") => void) {
    this.options = options
    this.onBegin = onBegin
    this.sse = new SseTraffic(options, onBegin)
  }

  /** True if an HTTP with SSE server has announced this URL for messages. */
  isPlace(url: string): boolean {
    return this.sse.isPlace(url)
  }

  /** Handles a request before it is forwarded. Header names must be lower-case. */
  begin(request: TargetRequest): Exchanged {
    return this.sse.begin(request, () => this.beginStreamable(request))
  }

  private beginStreamable(request: TargetRequest): Exchanged {
    const { body, method } = request
    const json = parse(body ?? "")
    const part: Part = {
      request,
      json,
      begun: this.options.now(),
      followed: this.followed(request, json),
      call: undefined
    }
    this.open.add(part)
    const { conversation } = part.followed
    this.onBegin("message")
    conversation.note("client", `${method}${body === undefined ? "" : ` ${body}`}`)
    if (body === undefined) conversation.run((model) => this.enter(part, model, [], isRight(request, model)))
    else {
      conversation.sent(
        body,
        (model) => isRight(request, model) && part.followed.receiver?.isEnded !== true,
        (model, exchanges, right) => this.enter(part, model, exchanges, right)
      )
    }
    return {
      receive: (event) => this.receive(part, event),
      cut: () => {
        this.open.delete(part)
        conversation.run(() => {
          if (part.call === undefined || part.call.ended !== undefined) return
          runsOn(part)
          part.call.ended = "client"
          if (part.call.exchange !== undefined) part.call.exchange.cancelled = true
        })
      }
    }
  }

  /** Ends every conversation. */
  end(): void {
    this.sse.end()
    for (const part of this.open) part.followed.conversation.run(() => runsOn(part))
    this.open.clear()
    for (const { conversation } of new Set([...this.sessions.values(), ...this.others.values()])) conversation.end()
    this.sessions.clear()
    this.others.clear()
  }

  /** Returns the conversation a request belongs to. */
  private followed({ headers }: TargetRequest, json: unknown): Followed {
    if (isOpening(json)) return this.follow(false)
    const [id, version] = [headers[sessionHeader], headers[MirrorHeaders.version]]
    const stateless = statelessIn(json, version)
    const key = `${stateless?.version ?? ""} ${headers["authorization"] ?? ""}`
    const known = stateless === undefined && id !== undefined ? this.sessions.get(id) : this.others.get(key)
    if (known !== undefined) return known
    const made = this.follow(stateless === undefined)
    if (stateless === undefined && id !== undefined) this.sessions.set(id, made)
    else this.others.set(key, made)
    if (stateless === undefined) made.conversation.join(version ?? assumed)
    return made
  }

  private follow(joined: boolean): Followed {
    this.onBegin("conversation")
    return { conversation: new Conversation({ ...this.options, transport: "http" }), receiver: undefined, joined }
  }

  private enter(part: Part, model: Model, exchanges: ReadonlyArray<Exchange>, right: boolean): void {
    const { followed, json, request } = part
    const { body, headers, method } = request
    const receiver = (followed.receiver ??= this.receiver(followed.conversation, model))
    if (followed.joined) receiver.id ??= headers[sessionHeader]
    const carries = body === undefined ? "nothing" : carried(json)
    const resumed = headers["last-event-id"]
    const earlier = method === "GET" && resumed !== undefined ? receiver.callOf(resumed) : undefined
    part.call = receiver.begin({
      method,
      headers,
      carries,
      exchange: carries === "batch" ? undefined : exchanges[0],
      exchanges,
      // The stream of an event that was not seen is not known.
      right: right && !followed.joined && (resumed === undefined || earlier !== undefined),
      resumes: earlier?.resumes ?? earlier,
      command: 0
    })
  }

  private receiver(conversation: Conversation, model: Model): MessageReceiver {
    return new MessageReceiver({
      model,
      isNewId: (id) => this.isNewId(id),
      to: {
        observe: (observation) => conversation.observe(observation),
        hear: (text, carrier) => {
          conversation.note("server", text)
          conversation.received(text, carrier)
        },
        note: (from, text) => conversation.note(from, text),
        lost: (how) => {
          if (how !== "") conversation.observe({ _tag: "Gone", how })
        }
      }
    })
  }

  private isNewId(id: string): boolean {
    const isNew = !this.ids.has(id)
    if (this.ids.size < mostIds) this.ids.add(id)
    return isNew
  }

  private receive(part: Part, event: HttpEvent): void {
    const { followed, json, request } = part
    const { conversation } = followed
    if (event._tag === "Head" && isOpening(json) && isTaken(event)) {
      const id = event.headers[sessionHeader]
      if (id !== undefined) this.sessions.set(id, followed)
      else this.others.set(` ${request.headers["authorization"] ?? ""}`, followed)
    }
    if (event._tag === "Head" && isTaken(event)) conversation.confirm()
    if (event._tag === "End" || event._tag === "Failed") this.open.delete(part)
    if (event._tag === "Event" && event.event.event === "message") conversation.look(event.event.data)
    if (event._tag === "End") conversation.look(event.body)
    if ((event._tag === "End" || event._tag === "Failed") && isOpening(json)) conversation.refused()
    conversation.run(() => {
      if (part.call !== undefined) followed.receiver?.receive(part.call, event)
    })
  }
}
