/**
 * A response with server-sent events, and its body. The body writes its source's events, and a comment whenever the source is silent for
 * too long.
 *
 * Owns the waiting. On `node:http`, a waiting body is one callback (`drive`). On other platforms it is a Stream
 * (`stream`), which costs a fiber and a few KiB.
 */
import { DeadlineQueue, type Fork } from "@effect-mcp/core/internal/inFlight"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { bytesOf } from "../../internal/bytesOf.ts"

type Pull = Effect.Effect<readonly [Uint8Array], Cause.Done>
const keepAliveComment = ": keep-alive\n\n"
const pullComment: Pull = Effect.succeed([bytesOf(keepAliveComment)])

/** The source of a body's events. */
export interface EventSource {
  /** Removes and returns the text to write next, or an empty text if nothing waits. The text taken before has been written. */
  take(body: SseBody): string
  /** True if no more events will follow the waiting events. */
  readonly ended: boolean
  /** True if no event waits. */
  readonly isEmpty: boolean
  /** Length of the waiting events and of the last taken text. */
  readonly backlog: number
}

/** A response that can be written to directly. */
interface EventWriter {
  /**
   * Returns `false` if there is no room for more, like Node's streams. Middleware may replace `write` with a function that returns nothing.
   */
  readonly write: (text: string) => unknown
  readonly end: () => void
  /** Cuts the response off. */
  readonly destroy: () => void
}

/** The timer that makes all of an endpoint's bodies send comments. */
export type KeepAliveTimer = DeadlineQueue<SseBody>

/** Creates the timer. 0 for `every` means never. `fork` runs an effect in the endpoint's scope. */
export const keepAliveTimer = (every: Duration.Input, clock: Clock.Clock, fork: Fork): KeepAliveTimer =>
  new DeadlineQueue(Duration.toMillis(Duration.fromInputUnsafe(every)) || Infinity, clock, fork, (body) =>
    body.overdue()
  )

export class SseBody {
  /** Text to write before the source's events. Empty once it has been written. */
  prefix = ""
  /** Called with each text that is written, if there is an observer. */
  written: ((text: string) => void) | undefined = undefined
  private readonly source: EventSource
  /** Text to write at the end. Once it is set, the source keeps its remaining events for another body. */
  private suffix: string | undefined = undefined
  /** True if nothing more will be written. */
  private done = false
  /**
   * Function that resumes writing, or `undefined` while the body is not waiting. Pass `true` to write a comment first,
   * because the source was silent for too long.
   */
  private resume: ((overdue: boolean) => void) | undefined = undefined
  /** Function that reports how much is waiting for the reader, or `undefined` while the response has room. */
  private full: (() => void) | undefined = undefined
  /** Holds this body while `resume` is set, or `undefined` before the first wait. */
  private keepAlive: KeepAliveTimer | undefined = undefined

  constructor(source: EventSource) {
    this.source = source
  }

  /** Ends the body with a final text, but not the source. Only the first call has an effect. */
  close(suffix: string): void {
    this.suffix ??= suffix
    this.wake()
  }

  /**
   * Called when the source has more events, or has ended. Continues after this turn, so that events from one turn
   * become one write.
   */
  wake(): void {
    const { resume } = this
    if (resume === undefined) return this.full?.()
    this.resume = undefined
    queueMicrotask(() => {
      resume(false)
      // Most bodies wait again immediately, which restarts their deadline.
      if (this.resume === undefined) this.keepAlive?.remove(this)
    })
  }

  /** Called by the timer, which has already removed this body. */
  overdue(): void {
    const { resume } = this
    this.resume = undefined
    resume?.(true)
  }

  private wait(keepAlive: KeepAliveTimer, resume: (overdue: boolean) => void): void {
    this.keepAlive = keepAlive
    this.resume = resume
    keepAlive.add(this)
  }

  /** Returns the text to write next, which is empty if the body has to wait, or `undefined` at the end. */
  private next(): string | undefined {
    if (this.done) return undefined
    const { source, suffix } = this
    const text = this.prefix + source.take(this) + (suffix ?? "")
    this.prefix = ""
    this.done = suffix !== undefined || (source.ended && source.isEmpty)
    if (text !== "") this.written?.(text)
    return text === "" && this.done ? undefined : text
  }

  /**
   * Writes the body to one response. Returns a function to call when the response has room again. If the response ends
   * for any other reason, the caller must end the source. If `write` throws, the response is cut off and `failed` is
   * called with the error. `unread` receives the length of the text that is waiting for a slow reader, and 0 when the
   * response has room again.
   */
  drive(
    keepAlive: KeepAliveTimer,
    writer: EventWriter,
    failed: (defect: unknown) => void,
    unread?: (bytes: number) => void
  ): () => void {
    let writing = 0
    const full = (): void => unread?.(Math.max(writing, this.source.backlog))
    const run = (overdue: boolean): void => {
      // Room may be reported while a microtask of `wake` is about to run.
      this.resume = undefined
      if (this.full !== undefined) {
        this.full = undefined
        unread?.(0)
      }
      try {
        let hasRoom = !overdue || writer.write(keepAliveComment) !== false
        while (hasRoom) {
          const text = this.next()
          if (text === undefined) return writer.end()
          if (text === "") return this.wait(keepAlive, run)
          writing = text.length
          hasRoom = writer.write(text) !== false
        }
        this.full = full
        full()
      } catch (defect) {
        writer.destroy()
        failed(defect)
      }
    }
    run(false)
    return () => {
      // A body that waits for its source is not waiting for room.
      if (this.resume === undefined) run(false)
    }
  }

  /**
   * Same as above, for a response on another platform. Little is allocated up front, because the stream may never run.
   */
  stream(keepAlive: KeepAliveTimer): Stream.Stream<Uint8Array> {
    return Stream.fromPull(Effect.sync(() => this.pulled(keepAlive)))
  }

  private pulled(keepAlive: KeepAliveTimer): Pull {
    const pull = Effect.suspend((): Pull => {
      const text = this.next()
      if (text === undefined) return Cause.done()
      return text === "" ? wait : Effect.succeed([bytesOf(text)])
    })
    const wait: Pull = Effect.callback((resume) =>
      this.wait(keepAlive, (overdue) => resume(overdue ? pullComment : pull))
    )
    return pull
  }
}

const contentType = "text/event-stream"
// Proxies must neither cache nor buffer the response.
const headers = { "content-type": contentType, "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" }

/** The body in the form that Effect's HTTP servers expect: a Stream that any platform can send. `NodeResponseWriter` writes `sse` instead. */
export class SseHttpBody extends HttpBody.Stream {
  readonly sse: SseBody
  readonly keepAlive: KeepAliveTimer

  constructor(sse: SseBody, keepAlive: KeepAliveTimer) {
    super(sse.stream(keepAlive), contentType, undefined)
    this.sse = sse
    this.keepAlive = keepAlive
  }
}

/** Creates the response. `more` are headers besides the standard ones of an event stream. */
export const sseResponse = (
  sse: SseBody,
  keepAlive: KeepAliveTimer,
  more?: { readonly [name: string]: string }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setBody(
    HttpServerResponse.empty({ status: 200, headers: more === undefined ? headers : { ...headers, ...more } }),
    new SseHttpBody(sse, keepAlive)
  )

/** An event stream without events. */
export const emptySseResponse = HttpServerResponse.empty({ status: 200, headers })
