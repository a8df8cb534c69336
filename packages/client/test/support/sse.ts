/** A scripted server of HTTP with SSE, and a bare peer connected to it. */
import * as Sse from "@effect-mcp/client/Sse"
import * as Peer from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import { Effect, Logger, Queue } from "effect"
import { FetchHttpClient } from "effect/http"
import * as http from "node:http"
import type { AddressInfo } from "node:net"

export interface Post {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly message: any
  readonly answer: (status: number, body?: string) => void
  readonly away: (location: string) => void
}

export interface Script {
  /** Starts the stream. Default: names `/messages?session=1`. */
  readonly open?: (response: http.ServerResponse) => void
  /** Called with every message. Default: accepts it. */
  readonly posted?: (post: Post, say: (message: object) => void) => void
}

export const begin = (response: http.ServerResponse, endpoint = "/messages?session=1") => {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
  response.write(`event: endpoint\ndata: ${endpoint}\n\n`)
}
export const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`

export const serving = Effect.fnUntraced(function* ({
  open = begin,
  posted = ({ answer }) => answer(202, "Accepted")
}: Script) {
  const streams = new Set<http.ServerResponse>()
  const gets: Array<http.IncomingHttpHeaders> = []
  const posts = yield* Queue.unbounded<Post>()
  const hungUp = yield* Queue.unbounded<void>()
  const server = http.createServer((request, response) => {
    if (request.method === "GET") {
      gets.push(request.headers)
      streams.add(response)
      response.on("close", () => {
        streams.delete(response)
        Queue.offerUnsafe(hungUp, undefined)
      })
      return open(response)
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    return request.on("end", () => {
      const post: Post = {
        path: request.url ?? "",
        headers: request.headers,
        message: JSON.parse(Buffer.concat(chunks).toString()),
        answer: (status, body) => void response.writeHead(status).end(body),
        away: (location) => void response.writeHead(307, { location }).end()
      }
      Queue.offerUnsafe(posts, post)
      posted(post, (message) => streams.forEach((stream) => stream.write(event(message))))
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))),
    () => Effect.sync(() => void (server.closeAllConnections(), server.close()))
  )
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, url: `${origin}/sse`, streams, gets, posts, hungUp }
})

export const open = (options: Sse.Options) => Effect.provide(Sse.open(options), FetchHttpClient.layer)

/** A bare peer connected to the server. */
export const peerOf = Effect.fnUntraced(function* (options: Sse.Options) {
  const told = yield* Queue.unbounded<string>()
  const peer = yield* Peer.make(yield* open(options), {
    request: () => Effect.succeed({ answered: true }),
    notification: ({ method }) => void Queue.offerUnsafe(told, method)
  })
  const request: Peer.Peer["request"] = (...asked) => peer.request(...asked)
  const notify: Peer.Peer["notify"] = (...said) => peer.notify(...said)
  return { request, notify, told, awaitClosed: peer.awaitClosed }
})

/** Accepts everything, and answers requests with their params. */
export const echoing: NonNullable<Script["posted"]> = ({ answer, message }, say) => {
  answer(202)
  if (message.id !== undefined && message.method !== undefined) {
    say({ jsonrpc: "2.0", id: message.id, result: message.params ?? {} })
  }
}
export const reasonOf = (error: unknown) => (error instanceof TransportError ? [error.reason, error.status] : error)
export const quiet = Effect.provide(Logger.layer([]))
