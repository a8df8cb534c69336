/** Records the messages exchanged by clients and a server as the lines of a cassette. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isTaken } from "../model/Call.ts"
import { sessionHeader } from "../play/Receiver.ts"
import type { Exchanged } from "../traffic/Traffic.ts"
import { declaredIn } from "../traffic/Conversation.ts"
import { lines } from "../traffic/LineTraffic.ts"
import { placeIn } from "../traffic/SseTraffic.ts"
import type { HttpEvent, TargetRequest } from "../target/Target.ts"
import { head } from "./Entry.ts"
import * as Redact from "./redact.ts"
import { at, parse } from "../model/json.ts"

export interface Options extends Redact.Options {
  /** Name of the server, which is recorded without any secrets in its command or URL. */
  readonly server: string
  /** Returns the number of milliseconds since the recording began. */
  readonly now: () => number
  /** Writes one line, without its line ending. The first line is written along with the first message. */
  readonly write: (line: string) => void
}

/** Maximum number of event ids to remember, so that a resumed stream is recorded only once. */
const mostEvents = 10_000

interface More {
  readonly session?: number
  readonly of?: unknown
}

export class Recorder {
  /** Redacted locations: methods or message kinds, with paths. */
  readonly redacted = new Set<string>()
  messages = 0
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  private put(from: "client" | "server", json: unknown, { of, session = 1 }: More = {}): void {
    // Record each message of a batch separately.
    if (Array.isArray(json)) {
      for (const member of json) this.put(from, member, { of, session })
      return
    }
    const { paths, value } = Redact.redact(json, this.options)
    const method = at(json, "method")
    for (const path of paths) this.redacted.add(`${typeof method === "string" ? `${method} ` : ""}${path}`)
    if (this.messages++ === 0) this.options.write(head(Redact.redactName(this.options.server)))
    const more = { ...(session === 1 ? undefined : { session }), ...(JsonRpc.isId(of) ? { of } : undefined) }
    this.options.write(JSON.stringify({ from, at: Math.round(this.options.now()), ...more, message: value }))
  }

  private text(from: "client" | "server", text: string, more?: More): void {
    const json = parse(text)
    if (json !== undefined) this.put(from, json, more)
  }

  /** Records one client of a server over stdio. */
  lines() {
    const nothing = () => {}
    return {
      sent: lines((text) => this.text("client", text)),
      received: lines((text) => this.text("server", text)),
      inputEnded: nothing,
      exited: nothing,
      stillRuns: nothing
    }
  }

  /** Records any number of clients of a server over Streamable HTTP or HTTP with SSE. */
  http(): { readonly begin: (request: TargetRequest) => Exchanged; readonly isPlace: (url: string) => boolean } {
    const sessions = new Map<string, number>()
    /** The sessions of HTTP with SSE, by the URLs for their messages. */
    const places = new Map<string, number>()
    const seen = new Set<string>()
    let count = 0
    const sessionOf = ({ headers, url = "" }: TargetRequest, json: unknown): number => {
      const place = places.get(url)
      if (place !== undefined) return place
      if (at(json, "method") === "initialize") return ++count
      const key = headers[sessionHeader] ?? (declaredIn(json) === undefined ? "" : "stateless")
      const known = sessions.get(key)
      if (known !== undefined) return known
      sessions.set(key, ++count)
      return count
    }
    return {
      isPlace: (url) => places.has(url),
      begin: (request) => {
        const json = request.body === undefined ? undefined : parse(request.body)
        // A GET belongs to the session that it names.
        let session = sessionOf(request, json)
        const isRequest = at(json, "id") !== undefined && at(json, "method") !== undefined
        const of = isRequest ? at(json, "id") : undefined
        if (json !== undefined) this.put("client", json, { session })
        const opens = at(json, "method") === "initialize"
        return {
          cut: () => {},
          receive: (event) => {
            if (event._tag === "Head" && opens && isTaken(event))
              sessions.set(event.headers[sessionHeader] ?? "", session)
            const place = request.method === "GET" ? placeIn(event, request.url ?? "") : undefined
            if (place !== undefined) {
              if ([...places.values()].includes(session)) session = ++count
              places.set(place, session)
            }
            this.receive(event, { session, of }, seen)
          }
        }
      }
    }
  }

  private receive(event: HttpEvent, more: Required<Pick<More, "session">> & More, seen: Set<string>): void {
    switch (event._tag) {
      case "Event": {
        const { data, event: type, id } = event.event
        const key = `${more.session} ${id} ${data}`
        if (data === "" || type !== "message" || (id !== undefined && id !== "" && seen.has(key))) return
        if (seen.size < mostEvents) seen.add(key)
        return this.text("server", data, more)
      }
      case "End":
        return this.ended(event.body, more)
      default:
    }
  }

  private ended(body: string, more: Required<Pick<More, "session">> & More): void {
    const json = parse(body)
    if (at(json, "jsonrpc") !== undefined || Array.isArray(json)) this.put("server", json, more)
  }
}
