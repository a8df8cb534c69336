/**
 * Writes server-sent events directly to a `node:http` response, so that a waiting response needs no Stream and, on a
 * listener, no fiber.
 *
 * A response that middleware changed is sent by Effect's server like any Stream. On Effect's server this is the last
 * pre-response handler; a handler that is added after the endpoint has answered runs when the events are already
 * written.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Cookies from "effect/http/Cookies"
import * as HttpEffect from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { SseHttpBody } from "./SseBody.ts"

const ignored = (): void => {}

/** Called when a connection is lost, for all but its first response: Node 22 does not report their loss. */
const lostWith = memoize((socket: Socket) => {
  const waiting = new Set<() => void>()
  // One listener for all responses, because Node reports more than ten as a leak.
  socket.on("close", () => {
    for (const over of waiting) over()
  })
  return waiting
})

/** Calls `over` when the response was written or cut off, possibly more than once. */
export const whenOver = (request: IncomingMessage, response: ServerResponse, over: () => void): void => {
  // Neither event follows if the connection was already lost.
  if (request.socket.destroyed) return over()
  response.on("close", over)
  if (response.socket !== null) return
  const waiting = lostWith(request.socket).add(over)
  response.on("close", () => waiting.delete(over))
}

/**
 * Receives the number of bytes of a response that are waiting for the client, or 0 once it has read them. `close`
 * closes the connection.
 */
export type OnUnread = (bytes: number, close: () => void) => void

/**
 * Closes the connection, or over HTTP/2 the stream. Uses the request's socket, because a response that is queued behind
 * another one has no socket.
 */
const closeOf = (response: ServerResponse) => (): void => {
  if (response.req.httpVersionMajor === 1) response.req.socket.destroy()
  else response.destroy()
}

/** Size of the body in bytes, 0 if it is empty or a stream. */
const lengthOf = ({ body }: HttpServerResponse): number => (body._tag === "Uint8Array" ? body.contentLength : 0)

/** Reports the bytes of a response that is waiting for its client, until the exchange ends. */
export const reportUnread = (response: ServerResponse, answer: HttpServerResponse, unread: OnUnread): void =>
  unread(lengthOf(answer), closeOf(response))

/** Writes the body as fast as the client reads, to a response whose head was set with `writeHead`. */
export const pipe = (
  { keepAlive, sse }: SseHttpBody,
  response: ServerResponse,
  failed: (defect: unknown) => void,
  unread: OnUnread
): void => {
  const { socket } = response
  const close = closeOf(response)
  // An error event without a listener would end the process.
  response.on("error", ignored)
  // Writes the head as a separate chunk in the same write. If it were joined with the first event, the parts of both strings would stay
  // alive.
  socket?.cork()
  response.flushHeaders()
  response.on(
    "drain",
    sse.drive(keepAlive, response, failed, (bytes) => unread(bytes, close))
  )
  socket?.uncork()
}

const isServerResponse = (u: unknown): u is ServerResponse =>
  typeof u === "object" && u !== null && "writeHead" in u && "req" in u

/** Returns the Node response of Effect's server, or `undefined` on other platforms. */
const nodeResponseOf = (http: HttpServerRequest): ServerResponse | undefined =>
  "response" in http && isServerResponse(http.response) ? http.response : undefined

/** Returns the Node response if events can be written to it directly: for HTTP/1.1 without an `Expect` header. */
const responseOf = (http: HttpServerRequest): ServerResponse | undefined => {
  const response = nodeResponseOf(http)
  return response?.req.httpVersionMajor === 1 && http.headers["expect"] === undefined ? response : undefined
}

/** Makes this response the last one on its connection. */
export const closeConnection = (http: HttpServerRequest): void => {
  const response = nodeResponseOf(http)
  if (response !== undefined) response.shouldKeepAlive = false
}

/** Size in bytes from which a connection may not accept a response at once, even if nothing else is waiting. */
const longAnswer = 16 * 1024

/** Returns the Node response if the connection may not accept the entire response at once. */
const waitingOf = (http: HttpServerRequest, answer: HttpServerResponse): ServerResponse | undefined => {
  const response = nodeResponseOf(http)
  const length = lengthOf(answer)
  if (response === undefined || length === 0) return undefined
  const { socket } = response
  return length >= longAnswer || socket === null || socket.writableLength > 0 ? response : undefined
}

/** True if the connection may not accept the entire response at once. */
export const mayWait = (http: HttpServerRequest, answer: HttpServerResponse): boolean =>
  waitingOf(http, answer) !== undefined

/**
 * Calls `over` once the connection has accepted the response or is lost, or immediately if the response was never
 * written.
 */
export const whenRead = (http: HttpServerRequest, over: () => void): void => {
  const response = nodeResponseOf(http)
  const isOver =
    response === undefined || response.destroyed || !response.writableEnded || response.writableLength === 0
  if (isOver) over()
  else whenOver(response.req, response, over)
}

/** Writes the response and waits for its end. The server then finds it already written. */
const written = (
  answer: HttpServerResponse,
  response: ServerResponse,
  unread: OnUnread
): Effect.Effect<HttpServerResponse> =>
  Effect.callback((resume) => {
    const { body, headers, status, statusText } = answer
    const over = (): void => {
      // A client that hangs up interrupts the fiber.
      if (response.writableEnded) resume(Effect.succeed(answer))
    }
    try {
      response.writeHead(status, statusText, headers)
    } catch {
      // The server reports headers that Node rejects.
      return resume(Effect.succeed(answer))
    }
    response.on("close", over)
    if (body instanceof SseHttpBody) pipe(body, response, (defect) => resume(Effect.die(defect)), unread)
    return Effect.sync(() => void response.destroy())
  })

/** Converts a response for Effect's server. A response with events is written directly once all middleware has run. */
export const answer = (
  http: HttpServerRequest,
  context: Context.Context<never>,
  answered: HttpServerResponse,
  unread: OnUnread
): HttpServerResponse => {
  const whole = waitingOf(http, answered)
  if (whole !== undefined) reportUnread(whole, answered, unread)
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
      : Effect.interruptible(written(last, response, unread))
  )
  return answered
}
