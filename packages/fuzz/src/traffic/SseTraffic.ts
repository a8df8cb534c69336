/** Judges traffic over HTTP with SSE, the transport of 2024-11-05, one conversation per stream. */
import { isTaken } from "../model/Call.ts"
import { notTaken } from "../model/notTaken.ts"
import type { HttpEvent, TargetRequest } from "../target/Target.ts"
import { sessionHeader } from "../play/Receiver.ts"
import { Conversation, type Options } from "./Conversation.ts"

/** Called with each message received in response to a request. */
export interface Exchanged {
  readonly receive: (event: HttpEvent) => void
  /** The client closed the connection. */
  readonly cut: () => void
}

/** The URL for messages, which the first event of a stream names; undefined for another event. */
export const placeIn = (event: HttpEvent, url: string): string | undefined =>
  event._tag === "Event" && event.event.event === "endpoint" && URL.canParse(event.event.data, url)
    ? new URL(event.event.data, url).href
    : undefined

/** True if it may open a stream of this transport. Later revisions name a session or a version. */
const mayOpen = ({ headers, method, url }: TargetRequest): boolean =>
  method === "GET" &&
  url !== undefined &&
  headers[sessionHeader] === undefined &&
  headers["mcp-protocol-version"] === undefined

export class SseTraffic {
  /** By the URLs for their messages. */
  private readonly conversations = new Map<string, Conversation>()
  private readonly options: Omit<Options, "transport">
  private readonly onBegin: (what: "conversation" | "message") => void

  constructor(options: Omit<Options, "transport">, onBegin: (what: "conversation" | "message") => void) {
    this.options = options
    this.onBegin = onBegin
  }

  /** True if clients post messages of this transport to the URL. */
  isPlace(url: string): boolean {
    return this.conversations.has(url)
  }

  /** Takes a request that is of this transport, or turns out to be; `otherwise` begins one that is not. */
  begin(request: TargetRequest, otherwise: () => Exchanged): Exchanged {
    const { body = "", method, url = "" } = request
    const conversation = this.conversations.get(url)
    if (conversation !== undefined && method === "POST") return this.post(body, conversation)
    return mayOpen(request) ? this.undecided(url, otherwise) : otherwise()
  }

  /** Ends every conversation. */
  end(): void {
    for (const conversation of this.conversations.values()) conversation.end()
    this.conversations.clear()
  }

  private post(body: string, conversation: Conversation): Exchanged {
    this.onBegin("message")
    conversation.note("client", body)
    conversation.sent(body)
    const refused = (how: string): void => {
      conversation.note("server", how)
      conversation.run((model) => notTaken(body, model))
    }
    return {
      cut: () => {},
      receive: (event) => {
        if (event._tag === "Head" && !isTaken(event)) refused(`status ${event.status}`)
        if (event._tag === "Failed") refused(event.why)
      }
    }
  }

  /** A stream of unknown kind until its first event arrives. */
  private undecided(url: string, otherwise: () => Exchanged): Exchanged {
    const early: Array<HttpEvent> = []
    let decided: Exchanged | undefined
    const decide = (exchanged: Exchanged): Exchanged => {
      decided = exchanged
      for (const event of early.splice(0)) exchanged.receive(event)
      return exchanged
    }
    return {
      cut: () => (decided ?? decide(otherwise())).cut(),
      receive: (event) => {
        const place = decided === undefined ? placeIn(event, url) : undefined
        if (decided === undefined && event._tag === "Head") early.push(event)
        else if (place !== undefined) decide(this.stream(place))
        else (decided ?? decide(otherwise())).receive(event)
      }
    }
  }

  private stream(place: string): Exchanged {
    const conversation = new Conversation({ ...this.options, transport: "sse" })
    this.onBegin("conversation")
    this.conversations.set(place, conversation)
    const over = (): void => {
      if (this.conversations.delete(place)) conversation.end()
    }
    const gone = (how: string): void => {
      conversation.observe({ _tag: "Gone", how })
      over()
    }
    return {
      cut: over,
      receive: (event) => {
        if (event._tag === "Failed") return gone(event.why)
        if (event._tag === "End") return gone("its stream ended")
        if (event._tag !== "Event" || event.event.event !== "message") return
        this.onBegin("message")
        conversation.note("server", event.event.data)
        conversation.received(event.event.data)
      }
    }
  }
}
