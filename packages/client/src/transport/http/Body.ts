/**
 * Bodies of HTTP answers, under a limit: a text, or server-sent events as they arrive.
 *
 * Owns what is known of a stream of events when its connection breaks: where to go on, and how long to wait before. Leaving early
 * closes the connection.
 */
import * as Framing from "@effect-mcp/core/Framing"
import { type Decoded, TransportError } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import type { Headers } from "effect/http/Headers"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"

/** How far a stream of events was read, over all of its connections. */
export interface Position {
  /** Of the last event that was handed on whole. */
  lastEventId: string | undefined
  /** Milliseconds to wait before the next connection, as the server said last. */
  retry: number | undefined
  /** What the server sent so far: events, and words on when to come back. */
  signs: number
}

export const start = (): Position => ({ lastEventId: undefined, retry: undefined, signs: 0 })

export const isEventStream = (headers: Headers): boolean =>
  (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() === "text/event-stream"

const tooLarge = (limit: number) =>
  new TransportError({ reason: "Overflow", message: `The answer is larger than ${limit} bytes` })

const broken = (cause: HttpClientError) =>
  new TransportError({ reason: "Read", message: `The answer broke off: ${cause.message}`, cause })

const nothing = "EmptyBodyError"

const whole = new TextDecoder()

/** A whole body, as its headers have it. One that says how long it is, and is as it is, is read in one step. */
export const text = (
  response: HttpClientResponse,
  limit: number,
  headers: Headers = response.headers
): Effect.Effect<string, TransportError> => {
  const length = Number(headers["content-length"] ?? Number.NaN)
  if (length > limit) {
    // The body must not be left open.
    return Effect.andThen(skip(response, 0), Effect.fail(tooLarge(limit)))
  }
  if (length >= 0 && headers["content-encoding"] === undefined) {
    return Effect.matchEffect(response.arrayBuffer, {
      onFailure: (error) => Effect.fail(broken(error)),
      onSuccess: (bytes) => Effect.succeed(whole.decode(bytes))
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
      Effect.catchTag("HttpClientError", (error) =>
        error.reason._tag === nothing ? Effect.void : Effect.fail(broken(error))
      ),
      Effect.map(() => all + decoder.decode())
    )
  })
}

/** How long the rest of a body is read that nobody needs. */
export const skipTimeout = "1 second"

/** Reads a body that says nothing, so that its connection can be used again; what is longer, or takes too long, is cut off. */
export const skip = ({ stream }: HttpClientResponse, limit = 64 * 1024): Effect.Effect<void> =>
  Effect.suspend(() => {
    let size = 0
    const read = Stream.runForEachWhile(stream, (chunk) => {
      size += chunk.length
      return Effect.succeed(size <= limit)
    })
    return Effect.ignore(Effect.timeoutOption(read, skipTimeout))
  })

/**
 * Hands on the messages of a stream of events, in order, until it ends or breaks: there is no difference, as one can go on after both.
 * Fails only for an event that is larger than the limit (in characters). Events of other names say nothing but their id.
 */
export const events = (
  response: HttpClientResponse,
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
      // The parser bounds only what it holds back: an event may have come whole.
      if (event.data.length > limit) return Effect.fail(tooLarge(limit))
      position.lastEventId = event.id === "" ? undefined : (event.id ?? position.lastEventId)
      // An event without data only says from where to go on.
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
    }).pipe(Effect.catchTag("HttpClientError", () => Effect.void))
  })
