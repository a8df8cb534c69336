/**
 * A Streamable HTTP server that follows the instructions in each request and counts open exchanges: the counterpart of the client's model.
 */
import { Effect, Queue } from "effect"
import type { HttpClient } from "effect/http"
import * as Fake from "./fake.ts"

/** Ways in which a server handles a request; `params.mode` selects one. */
export const modes = ["json", "sse", "note", "resume", "cut", "broken", "error", "hang"] as const
export type Mode = (typeof modes)[number]

export interface Post {
  readonly method: string
  readonly message: any
  readonly session: string | undefined
  readonly version: string | undefined
}

export interface Server {
  readonly http: HttpClient.HttpClient
  /** The messages that were posted, one by one. */
  readonly posts: Queue.Queue<Post>
  /** The GETs of the session's own stream, with the event id each one continues from. */
  readonly listens: Queue.Queue<string | undefined>
  readonly deleted: ReadonlyArray<string | undefined>
  /** Sends an event on the session's own stream, with or without an id. */
  readonly say: (method: string, id?: string) => void
  readonly cut: () => void
  /** Counts requests without an answer, and bodies that neither side has ended. */
  readonly open: () => number
}

const encoder = new TextEncoder()
const event = (data: object | "", id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${data === "" ? "" : JSON.stringify(data)}\n\n`
const headers = { "content-type": "text/event-stream" }
const answer = (id: unknown) => ({ jsonrpc: "2.0", id, result: { mode: "answered" } })
const note = { jsonrpc: "2.0", method: "notifications/message" }

export const make = Effect.gen(function* () {
  const posts = yield* Queue.unbounded<Post>()
  const listens = yield* Queue.unbounded<string | undefined>()
  const deleted: Array<string | undefined> = []
  let gives = true
  let open = 0
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined

  /** A stream of events that stays open until the client leaves or `end` is called. */
  const standing = (): Response => {
    open++
    let mine: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        stream = mine = controller
      },
      cancel: () => {
        open--
        if (stream === mine) stream = undefined
      }
    })
    return new Response(body, { headers })
  }

  const request = (message: any): Response | Effect.Effect<Response> => {
    const { id, params } = message
    switch (params.mode as Mode | "gone") {
      case "json":
        return Fake.json(answer(id))
      case "sse":
        return new Response(event(answer(id)), { headers })
      case "note":
        return new Response(event(note) + event(answer(id)), { headers })
      case "resume":
        return new Response(event("", `r:${id}`), { headers })
      case "cut":
        return new Response(event(note), { headers })
      case "broken": {
        const body = new ReadableStream<Uint8Array>({
          pull: (controller) => controller.error(new Error("The connection broke"))
        })
        return new Response(body, { headers })
      }
      case "error":
        return Fake.json({}, 500)
      case "gone":
        return new Response(null, { status: 404 })
      default:
        return Effect.never
    }
  }

  const initialize = ({ id, params }: any): Response => {
    const { protocolVersion, mode, named, streams } = params
    if (mode === "error") return Fake.json({}, 500)
    gives = streams
    const result = { jsonrpc: "2.0", id, result: { protocolVersion, capabilities: {}, serverInfo: {} } }
    const session: Record<string, string> = named === undefined ? {} : { "mcp-session-id": named }
    return mode === "sse"
      ? new Response(event(result), { headers: { ...headers, ...session } })
      : Fake.json(result, 200, session)
  }

  const http = Fake.client(({ message, request: { headers: sent, method } }) => {
    const session = sent["mcp-session-id"]
    if (method === "DELETE") {
      deleted.push(session)
      return new Response(null, { status: 204 })
    }
    if (method === "GET") {
      const last = sent["last-event-id"]
      if (last?.startsWith("r:") === true) return new Response(event(answer(Number(last.slice(2)))), { headers })
      Queue.offerUnsafe(listens, last)
      return gives ? standing() : new Response(null, { status: 405 })
    }
    Queue.offerUnsafe(posts, { method: message.method, message, session, version: sent["mcp-protocol-version"] })
    if (message.method === "initialize") return initialize(message)
    if (message.id === undefined) return new Response(null, { status: 202 })
    const answered = request(message)
    if (!Effect.isEffect(answered)) return answered
    open++
    return Effect.ensuring(
      answered,
      Effect.sync(() => open--)
    )
  })

  const server: Server = {
    http,
    posts,
    listens,
    deleted,
    say: (method, id) => stream?.enqueue(encoder.encode(event({ jsonrpc: "2.0", method }, id))),
    cut: () => {
      stream?.close()
      if (stream !== undefined) open--
      stream = undefined
    },
    open: () => open
  }
  return server
})
