/** Listens to a connection: its messages for the page, and for the rules of the fuzzer. */
import * as Transport from "@effect-mcp/core/Transport"
import * as Traffic from "@effect-mcp/fuzz/Traffic"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type { HttpInfo } from "../messages/Events.ts"
import type { Board } from "./Board.ts"
import { masked, WireRecorder } from "./Recorder.ts"

const encoder = new TextEncoder()

/** A connection that is listened to. */
export interface Tapped {
  readonly recorder: WireRecorder
  /** Listens to a transport without HTTP requests. */
  readonly tap: (transport: Transport.Transport) => Transport.Transport
  /** Listens to HTTP requests. */
  readonly fetch: typeof globalThis.fetch
  /** Stops listening, and checks the rules that need the end of the conversation. */
  readonly end: () => void
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Transport over stdio, memory or a socket: a line for each message. */
const lines = (recorder: WireRecorder, heard: Traffic.LineTraffic) => {
  const received = (item: Transport.Inbound): void => {
    if (item._tag === "Batch") return item.members.forEach(received)
    if (item._tag === "RequestAborted") return
    if (item._tag === "InvalidMessage") {
      const { error, text = error.message } = item
      recorder.text("server", text)
      return heard.received(encoder.encode(`${text.replaceAll("\n", " ")}\n`))
    }
    recorder.message("server", item.message, undefined, item.envelope.relatedTo)
    heard.received(encoder.encode(`${JsonRpc.encode(item.message)}\n`))
  }
  const sent = (message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): void => {
    recorder.message("client", message)
    heard.sent(encoder.encode(`${JSON.stringify(message)}\n`))
  }
  return (transport: Transport.Transport): Transport.Transport => {
    if (transport.headers === true) return transport
    const tapped = Transport.tap(transport, received)
    const { sink } = transport
    return {
      ...tapped,
      sink: {
        send: (message, lane, relatedTo, headers) => {
          sent(message)
          sink.send(message, lane, relatedTo, headers)
        },
        noAnswer: (relatedTo) => sink.noAnswer?.(relatedTo),
        writable: () => sink.writable(),
        ready: Effect.suspend(() => sink.ready),
        room: Effect.suspend(() => sink.room ?? sink.ready),
        backlog: () => sink.backlog?.() ?? 0
      }
    }
  }
}

const idOf = (json: unknown): JsonRpc.Id | undefined =>
  isJsonObject(json) && JsonRpc.isId(json["id"]) ? json["id"] : undefined

const methodOf = (method: string) => (method === "POST" || method === "GET" || method === "DELETE" ? method : undefined)

/** Passes a body on while it is read. */
const passing = (
  response: Response,
  feed: (chunk: Uint8Array) => void,
  end: () => void,
  failed: () => void
): Response => {
  const { body, headers, status, statusText } = response
  if (body === null) {
    end()
    return response
  }
  const reader = body.getReader()
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (done) {
          end()
          return controller.close()
        }
        feed(value)
        controller.enqueue(value)
      } catch (error) {
        failed()
        controller.error(error)
      }
    },
    cancel: (reason) => {
      failed()
      return reader.cancel(reason)
    }
  })
  return new Response(stream, { status, statusText, headers })
}

const bodyOf = (body: unknown): string | undefined => {
  if (typeof body === "string") return body
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : undefined
}

/** One HTTP request to the endpoint, with everything that it and its response are recorded with. */
class Exchange {
  private readonly recorder: WireRecorder
  private readonly heard: Traffic.Exchanged | undefined
  private readonly info: HttpInfo
  private readonly id: JsonRpc.Id | undefined

  constructor(
    recorder: WireRecorder,
    heard: Traffic.Exchanged | undefined,
    info: HttpInfo,
    id: JsonRpc.Id | undefined
  ) {
    this.recorder = recorder
    this.heard = heard
    this.info = info
    this.id = id
  }

  /** Returns the response, which is recorded while it is read. */
  answered(response: Response): Response {
    const { heard, id, info, recorder } = this
    const answered = { ...info, status: response.status, headers: masked(response.headers) }
    const note = (body: string) => recorder.response(answered, body, recorder.runOf(id))
    if (heard === undefined) {
      note("")
      return response
    }
    const take = (text: string, isEvent: boolean): void => {
      const message = parsed(text)
      if (message !== undefined) recorder.message("server", message, answered, id)
      else if (isEvent) recorder.text("server", text, answered)
      else if (text !== "" || response.status !== 200) note(text)
    }
    const head = { status: response.status, headers: Object.fromEntries(response.headers) }
    const reading = Traffic.reading(head, (event) => {
      heard.receive(event)
      if (event._tag === "Event" && event.event.data !== "") take(event.event.data, true)
      if (event._tag === "End") take(event.body, false)
    })
    let isOver = false
    const once = (last: () => void) => () => {
      if (!isOver) last()
      isOver = true
    }
    return passing(response, reading.feed, once(reading.end), once(heard.cut))
  }

  failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.heard?.receive({ _tag: "Failed", why })
    this.recorder.response(this.info, why, this.recorder.runOf(this.id))
  }
}

/** `fetch` that records JSON-RPC messages and other responses. Requests to other paths, such as logins, are recorded without bodies. */
const fetching =
  (recorder: WireRecorder, heard: Traffic.HttpTraffic, endpoint: URL): typeof globalThis.fetch =>
  async (input, init) => {
    const { headers, method: name, url: href } = new Request(input, { ...init, body: null })
    const url = new URL(href)
    const isEndpoint = url.origin === endpoint.origin && (url.pathname === endpoint.pathname || heard.isPlace(href))
    const body = bodyOf(init?.body)
    const json = body === undefined ? undefined : parsed(body)
    const info = { method: name, url: href, headers: masked(headers) }
    if (isEndpoint && json !== undefined) recorder.message("client", json, info)
    const method = methodOf(name)
    const begun =
      isEndpoint && method !== undefined
        ? heard.begin({ method, headers: Object.fromEntries(headers), body, url: href })
        : undefined
    const exchange = new Exchange(recorder, begun, info, isEndpoint ? idOf(json) : undefined)
    try {
      return exchange.answered(await fetch(input, init))
    } catch (error) {
      exchange.failed(error)
      throw error
    }
  }

/** Listens to a new connection. `url` is the endpoint of a server over HTTP. */
export const make = Effect.fnUntraced(function* (
  board: Board,
  { name, now, url }: { readonly name: string; readonly now: () => number; readonly url: string | undefined }
) {
  const recorder = new WireRecorder(board, now)
  const traffic = yield* Traffic.make({
    name,
    // A person may take minutes to answer a question.
    patience: 600_000,
    onFinding: ({ detail, key, level, rule, script }) =>
      board.finding({
        key,
        rule: rule.name,
        level,
        text: rule.text,
        detail,
        section: rule.section,
        revision: script.revision,
        at: now()
      })
  })
  const line = traffic.lines()
  const http = traffic.http()
  const listening: Tapped = {
    recorder,
    tap: lines(recorder, line),
    fetch: url === undefined ? globalThis.fetch : fetching(recorder, http, new URL(url)),
    end: () => {
      line.end()
      http.end()
    }
  }
  return listening
})
