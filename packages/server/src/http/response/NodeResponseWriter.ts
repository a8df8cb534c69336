/**
 * Server-sent events written straight to a response of Node's: no stream, and where it can be no fiber, for what waits most of the time.
 *
 * Refuses a response that is not as it was answered: what somebody made of the stream is sent as a stream. On Effect's server it is the
 * last of the pre-response handlers; one that is added after the endpoint has answered finds the events written.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Cookies from "effect/http/Cookies"
import * as HttpEffect from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Events } from "./SseResponse.ts"

const ignored = (): void => {}

/** Who waits behind another one of its connection, and has to be told that this was lost: Node 20 does not. */
const behind = new WeakMap<Socket, Set<() => void>>()

const lostWith = (socket: Socket): Set<() => void> => {
  const known = behind.get(socket)
  if (known !== undefined) return known
  const waiting = new Set<() => void>()
  behind.set(socket, waiting)
  // One listener for all of them: there may be many, and more than ten are taken for a leak.
  socket.on("close", () => {
    for (const over of waiting) over()
  })
  return waiting
}

/** Calls back when the response is over: written, or cut off. Maybe more than once. */
export const whenOver = (request: IncomingMessage, response: ServerResponse, over: () => void): void => {
  response.on("close", over)
  if (response.socket !== null) return
  const waiting = lostWith(request.socket).add(over)
  response.on("close", () => waiting.delete(over))
}

/** Writes all of them, as fast as the other side reads, to a response whose head was written. */
export const pipe = ({ flow, pulse }: Events, response: ServerResponse, failed: (defect: unknown) => void): void => {
  const { socket } = response
  // Something else ended it, and unheard that would end the process.
  response.on("error", ignored)
  // The head leaves by itself, though not sooner: sent with what follows, it would be kept in all the parts that it is made of.
  socket?.cork()
  response.flushHeaders()
  response.on("drain", flow.drive(pulse, response, failed))
  socket?.uncork()
}

const isServerResponse = (u: unknown): u is ServerResponse =>
  typeof u === "object" && u !== null && "writeHead" in u && "req" in u

/** The one of Effect's server on Node, over HTTP/1.1, if nobody waits to be told that the body may come. */
const responseOf = (http: HttpServerRequest): ServerResponse | undefined =>
  "response" in http &&
  isServerResponse(http.response) &&
  http.response.req.httpVersionMajor === 1 &&
  http.headers["expect"] === undefined
    ? http.response
    : undefined

/** Writes what nothing is left to be done to, and waits for its end; the server then finds it written. */
const written = (answer: HttpServerResponse, response: ServerResponse): Effect.Effect<HttpServerResponse> =>
  Effect.callback((resume) => {
    const { body, headers, status, statusText } = answer
    const over = (): void => {
      // Who hangs up interrupts the fiber.
      if (response.writableEnded) resume(Effect.succeed(answer))
    }
    try {
      response.writeHead(status, statusText, headers)
    } catch {
      // What Node does not take the server has a way to say.
      return resume(Effect.succeed(answer))
    }
    response.on("close", over)
    if (body instanceof Events) pipe(body, response, (defect) => resume(Effect.die(defect)))
    return Effect.sync(() => void response.destroy())
  })

/** An answer for Effect's server: if it is one of events, that is written when all middleware has seen it. */
export const answer = (
  http: HttpServerRequest,
  context: Context.Context<never>,
  answered: HttpServerResponse
): HttpServerResponse => {
  const response = answered.body instanceof Events ? responseOf(http) : undefined
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
