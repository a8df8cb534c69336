/**
 * Writes server-sent events directly to a response of `node:http`: a stream that waits is no Stream, and on a listener no fiber.
 *
 * Refuses a response that middleware changed: it is sent as Effect's server sends any Stream. On Effect's server it is the last of the
 * pre-response handlers; one that is added after the endpoint has answered runs when the events are written.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import * as HttpEffect from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { SseHttpBody } from "./SseResponse.ts"

const ignored = (): void => {}

/** Called when a connection is lost: for the responses behind the first one of it, whose loss Node 22 does not report. */
const behind = new WeakMap<Socket, Set<() => void>>()

const lostWith = (socket: Socket): Set<() => void> => {
  const known = behind.get(socket)
  if (known !== undefined) return known
  const waiting = new Set<() => void>()
  behind.set(socket, waiting)
  // One listener for all responses: Node takes more than ten for a leak.
  socket.on("close", () => {
    for (const over of waiting) over()
  })
  return waiting
}

/** Calls `over` when the response was written or cut off, maybe more than once. */
export const whenOver = (request: IncomingMessage, response: ServerResponse, over: () => void): void => {
  response.on("close", over)
  if (response.socket !== null) return
  const waiting = lostWith(request.socket).add(over)
  response.on("close", () => waiting.delete(over))
}

/** Writes the body, as fast as the client reads, to a response whose head was set by `writeHead`. */
export const pipe = (
  { keepAlive, sse }: SseHttpBody,
  response: ServerResponse,
  failed: (defect: unknown) => void
): void => {
  const { socket } = response
  // An error event without a listener would end the process.
  response.on("error", ignored)
  // The head is a chunk of its own in the same write: joined with the first event, the parts of both strings stay alive.
  socket?.cork()
  response.flushHeaders()
  response.on("drain", sse.drive(keepAlive, response, failed))
  socket?.uncork()
}

const isServerResponse = (u: unknown): u is ServerResponse =>
  typeof u === "object" && u !== null && "writeHead" in u && "req" in u

/** The response of Effect's server on Node, for HTTP/1.1 without an `Expect` header. */
const responseOf = (http: HttpServerRequest): ServerResponse | undefined =>
  "response" in http &&
  isServerResponse(http.response) &&
  http.response.req.httpVersionMajor === 1 &&
  http.headers["expect"] === undefined
    ? http.response
    : undefined

/** Ends the connection with this response. */
export const closeConnection = (http: HttpServerRequest): void => {
  if ("response" in http && isServerResponse(http.response)) http.response.shouldKeepAlive = false
}

/** Writes the response and waits for its end; the server then finds it written. */
const written = (answer: HttpServerResponse, response: ServerResponse): Effect.Effect<HttpServerResponse> =>
  Effect.callback((resume) => {
    const { body, headers, status, statusText } = answer
    const over = (): void => {
      // A client that hangs up interrupts the fiber.
      if (response.writableEnded) resume(Effect.succeed(answer))
    }
    try {
      response.writeHead(status, statusText, headers)
    } catch {
      // The server reports headers that Node refuses.
      return resume(Effect.succeed(answer))
    }
    response.on("close", over)
    if (body instanceof SseHttpBody) pipe(body, response, (defect) => resume(Effect.die(defect)))
    return Effect.sync(() => void response.destroy())
  })

/** A response for Effect's server: one of events is written directly once all middleware has run. */
export const answer = (
  http: HttpServerRequest,
  context: Context.Context<never>,
  answered: HttpServerResponse
): HttpServerResponse => {
  const response = answered.body instanceof SseHttpBody ? responseOf(http) : undefined
  if (response === undefined) return answered
  HttpEffect.appendPreResponseHandlerUnsafe(context, (_, last) =>
    last.body !== answered.body ||
    last.status !== answered.status ||
    last.headers["content-length"] !== undefined ||
    !Cookies.isEmpty(last.cookies) ||
    response.headersSent ||
    response.destroyed
      ? Effect.succeed(last)
      : Effect.interruptible(written(last, response))
  )
  return answered
}
