/**
 * Reads HTTP response bodies with limits, either as text or as SSE events as they arrive.
 *
 * Tracks the position in an event stream, which outlives its connections: the last event id and the delay before the next connection.
 * Ending early closes the connection.
 */
import * as Framing from "@effect-mcp/core/Framing"
import { type Decoded, TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Stream from "effect/Stream"
import type { HttpFailure, HttpResponse } from "./HttpSender.ts"

/** The position in an event stream, across all of its connections. */
export interface Position {
  /** Id of the last event that was delivered. */
  lastEventId: string | undefined
  /** The server's last `retry`: milliseconds to wait before the next connection. */
  retry: number | undefined
  /** Number of events and `retry` fields that have arrived. */
  signs: number
}

export const start = (): Position => ({ lastEventId: undefined, retry: undefined, signs: 0 })

export const isEventStream = (headers: HttpResponse["headers"]): boolean =>
  (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() === "text/event-stream"

const tooLarge = (limit: number) =>
  new TransportError({
    reason: "Overflow",
    message: `The response is larger than ${limit} bytes. Raise the transport's maxMessageBytes`
  })

const broken = (cause: HttpFailure) =>
  new TransportError({ reason: "Read", message: `The response was cut off: ${cause.message}`, cause })

const isBroken = (error: HttpFailure | TransportError): error is HttpFailure => error._tag !== "TransportError"

const nothing = "EmptyBodyError"

const whole = new TextDecoder()

/** Reads a complete body. If it has a content length and no content encoding, it is read in one step. */
export const text = (
  response: HttpResponse,
  limit: number,
  headers: HttpResponse["headers"] = response.headers
): Effect.Effect<string, TransportError> => {
  const length = Number(headers["content-length"] ?? Number.NaN)
  if (length > limit) {
    // Closes the body before failing.
    return Effect.andThen(skip(response, 0), Effect.fail(tooLarge(limit)))
  }
  if (length >= 0 && headers["content-encoding"] === undefined) {
    return Effect.matchEffect(response.arrayBuffer, {
      onFailure: (error) => Effect.fail(broken(error)),
      // A function used in place of `fetch` may report a length that differs from its body's.
      onSuccess: (bytes) =>
        bytes.byteLength > limit ? Effect.fail(tooLarge(limit)) : Effect.succeed(whole.decode(bytes))
    })
  }
  return Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let all = ""
    return Stream.runForEach(response.stream, (chunk) => {
      size += chunk.length
      all += decoder.decode(chunk, { stream: true })
      return size > limit ? Effect.fail(tooLarge(limit)) : Effect.void
    }).pipe(
      Effect.catchIf(isBroken, (error) => (error.reason._tag === nothing ? Effect.void : Effect.fail(broken(error)))),
      Effect.map(() => all + decoder.decode())
    )
  })
}

/** How long the rest of an unneeded body is read. */
export const skipTimeout = "1 second"

/** Reads an unneeded body so that its connection can be reused. Cuts off a body that is too long or too slow. */
export const skip = ({ stream }: HttpResponse, limit = 64 * 1024): Effect.Effect<void> =>
  Effect.suspend(() => {
    let size = 0
    const read = Stream.runForEach(stream, (chunk) => {
      size += chunk.length
      return size <= limit ? Effect.void : Effect.fail(tooLarge(limit))
    })
    return Effect.ignore(Effect.timeoutOption(read, skipTimeout))
  })

/**
 * Delivers the messages in an SSE body, in order, until it ends or breaks. Neither is a failure, because the stream may be resumed. Fails
 * if an event is larger than the limit, in characters. For events of other types, only the id is read.
 */
export const events = (
  response: HttpResponse,
  limit: number,
  position: Position,
  deliver: (message: Decoded) => Effect.Effect<void>,
  maxDepth?: number
): Effect.Effect<void, TransportError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let read: Array<Sse.AnyEvent> = []
    const parser = Sse.makeParser((event) => void read.push(event), { maxEventSize: limit })
    const take = (event: Sse.AnyEvent): Effect.Effect<void, TransportError> => {
      position.signs++
      if (event._tag === "Retry") {
        position.retry = Duration.toMillis(event.duration)
        return Effect.void
      }
      // The parser only limits incomplete events.
      if (event.data.length > limit) return Effect.fail(tooLarge(limit))
      position.lastEventId = event.id === "" ? undefined : (event.id ?? position.lastEventId)
      // An event without data is a priming event. Only its id matters.
      return event.event === "message" && event.data !== ""
        ? deliver(Framing.decode(event.data, undefined, maxDepth))
        : Effect.void
    }
    return Stream.runForEach(response.stream, (chunk) => {
      const error = parser.feed(decoder.decode(chunk, { stream: true }))
      const events = read
      read = []
      const taken = Effect.forEach(events, take, { discard: true })
      return error === undefined ? taken : Effect.andThen(taken, Effect.fail(tooLarge(limit)))
    }).pipe(Effect.catchIf(isBroken, () => Effect.void))
  })
