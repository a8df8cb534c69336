/**
 * The response to one POST in a session: JSON if it consists of answers only, otherwise an event stream.
 *
 * Owns the requests after a client disconnects. Disconnecting does not cancel them (spec: basic/transports). They
 * continue for `window` if the client can reconnect, or else for `grace`, during which questions fail and messages are
 * dropped.
 *
 *     Buffering ──first message that is no answer──► Streaming ◄──GET with Last-Event-ID── Detached
 *         │                                              │ └──the client goes, and has an id──► │
 *         └────────the client goes, and has no id────────┴──► Abandoned                         │
 *     every state ──last answer──► Done        Detached, Abandoned ──time is over──► requests interrupted
 */
import type { Lane, Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { refusalOf } from "../response/Responses.ts"
import type { StreamOwner, ResumableStream } from "./ResumableStream.ts"
import type { SessionSink } from "./SessionSink.ts"

type State = "Buffering" | "Streaming" | "Detached" | "Abandoned" | "Done"

/** Created for every POST of a session, so it allocates closures and arrays only when needed. */
export class SessionResponse implements Sink, StreamOwner {
  private readonly session: SessionSink
  /** The POST's requests: a single request, or all requests in a batch. */
  private readonly ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>
  private readonly batch: boolean
  private state: State = "Buffering"
  /** Number of pending answers: one for each request and for each unreadable message. 0 if and only if Done. */
  private expected: number
  /** Text of the first answer. Only read while there is no `stream`. */
  private first: string | undefined = undefined
  /** HTTP status and headers that the only answer's error requires, or `undefined` if there are none. */
  refusal: JsonRpc.HttpRefusal | undefined = undefined
  /** Further answers in a batch, after `first`. */
  private rest: Array<string> | undefined = undefined
  /** Questions that were sent on `stream`, some of which may have been answered. They fail when the response is abandoned. */
  private questions: Array<JsonRpc.Id> | undefined = undefined
  /**
   * The stream, or `undefined` as long as only answers have been sent. If there is no stream when Done, the response is
   * JSON.
   */
  stream: ResumableStream | undefined = undefined
  /** True if the POST has ended before its requests. They count as left behind until Done, even while a GET resumes the stream. */
  private leftBehind = false
  /** Size of the POST's body in bytes. */
  bytes = 0
  /**
   * Timer that interrupts the requests when their time is up. Set if and only if Detached or Abandoned, until it fires.
   */
  private timer: Fiber.Fiber<void> | undefined = undefined
  /** Opens when it is decided whether the response is JSON or a stream. `undefined` if nothing is waiting for that. */
  private decision: Latch.Latch | undefined = undefined
  /** Opens when the client disconnects. `undefined` if nothing is waiting for that. */
  private leaving: Latch.Latch | undefined = undefined

  constructor(session: SessionSink, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>, expected: number, batch: boolean) {
    this.session = session
    this.ids = ids
    this.expected = expected
    this.batch = batch
    if (!isList(ids)) session.began(ids, this)
    else for (const id of ids) session.began(id, this)
  }

  // ---- for the endpoint

  /** True if it is decided whether the response is JSON or a stream. */
  get isDecided(): boolean {
    return this.state === "Done" || this.stream !== undefined
  }

  /** Waits until that is decided. */
  get decided(): Effect.Effect<void> {
    return this.isDecided ? Effect.void : (this.decision ??= Latch.makeUnsafe(false)).await
  }

  /** The body, once decided, or `undefined` for a stream or a cancelled request. */
  get json(): string | undefined {
    if (this.stream !== undefined || this.first === undefined) return undefined
    return this.batch ? `[${[this.first, ...(this.rest ?? [])].join(",")}]` : this.first
  }

  /** Answers an unreadable message. */
  refuse(failure: JsonRpc.Failure): void {
    this.write(failure)
    this.settle(undefined)
  }

  /** Makes the response a stream from now on. */
  streaming(): ResumableStream {
    if (this.stream !== undefined) return this.stream
    const stream = this.session.openStream(this, this.ids)
    this.stream = stream
    if (this.state === "Buffering") this.state = "Streaming"
    if (this.session.polls) stream.sendPrimingEvent(this.session.config.retry)
    if (this.first !== undefined) for (const text of [this.first, ...(this.rest ?? [])]) stream.write(text)
    this.decision?.openUnsafe()
    return stream
  }

  // ---- for the peer

  writable(): boolean {
    return this.stream?.writable() ?? true
  }

  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => this.stream?.ready ?? Effect.void)
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, lane: Lane): void {
    if ("length" in message) for (const one of message) this.send(one, lane)
    else if (JsonRpc.isResponse(message)) this.answer(message)
    else if (this.state === "Done") {
      // Sent by a fiber that has outlived its request.
      if (message.method !== "notifications/progress") this.session.send(message, lane)
    } else if (this.state !== "Abandoned") {
      const text = JsonRpc.encode(message)
      this.streaming().write(text)
      if (JsonRpc.isRequest(message)) (this.questions ??= []).push(message.id)
    } else if (JsonRpc.isRequest(message)) this.session.unanswered(message.id, true)
  }

  /** Called when the request was cancelled and no answer will follow. */
  noAnswer(id: JsonRpc.Id): void {
    this.settle(id)
  }

  /** True while the client is connected. */
  isRead(): boolean {
    return this.state !== "Detached" && this.state !== "Abandoned"
  }

  /** Waits until the client has disconnected. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => (this.isRead() ? (this.leaving ??= Latch.makeUnsafe(false)).await : Effect.void))
  }

  closeStream(retry: Duration.Input = this.session.config.retry): void {
    const { state } = this
    if (this.session.polls && state !== "Done" && state !== "Abandoned") this.streaming().closeStream(retry)
  }

  private answer(message: JsonRpc.Response): void {
    if (this.state === "Done") return
    this.write(message)
    this.settle(message.id ?? undefined)
  }

  private write(message: JsonRpc.Response): void {
    // Throws on a value that is not JSON, before anything has changed. The sender then answers with an error.
    const text = JsonRpc.encode(message)
    if (this.stream !== undefined) this.stream.write(text)
    else if (this.first === undefined) {
      this.first = text
      if (!this.batch) this.refusal = refusalOf(message)
    } else (this.rest ??= []).push(text)
  }

  private settle(id: JsonRpc.Id | undefined): void {
    if (id !== undefined) this.session.settled(id, this)
    if (this.state === "Done" || --this.expected > 0) return
    this.state = "Done"
    if (this.leftBehind) this.session.config.leftBehind(-1, this.session.caller, this.bytes)
    this.stopTimer()
    if (this.stream !== undefined) {
      this.stream.end()
      this.session.retire(this.stream)
    }
    this.decision?.openUnsafe()
    this.session.answered()
  }

  // ---- when the client disconnects and reconnects

  /** Called when a client reads the stream, either in the first response or in a response that resumes it. */
  attached(): void {
    this.session.attached()
    if (this.state !== "Detached") return
    this.state = "Streaming"
    this.stopTimer()
  }

  /** Called when no client reads the stream anymore. */
  detached(): void {
    this.session.detached()
    this.disconnected()
  }

  /** Called when the client has disconnected, perhaps before the response was complete. */
  disconnected(): void {
    if (this.state !== "Buffering" && this.state !== "Streaming") return
    const { caller, config } = this.session
    if (!this.leftBehind) config.leftBehind(1, caller, this.bytes)
    this.leftBehind = true
    if (this.stream?.resumable === true) {
      this.state = "Detached"
      this.leave()
      this.interruptAfter(config.window, "The client did not reconnect in time")
      return
    }
    this.state = "Abandoned"
    this.leave()
    this.stream?.discard()
    for (const id of this.questions ?? []) this.session.unanswered(id, false)
    this.interruptAfter(config.grace, "The client has disconnected")
  }

  private leave(): void {
    this.leaving?.openUnsafe()
    this.leaving = undefined
  }

  private interruptAfter(time: Duration.Duration, reason: string): void {
    this.timer = this.session.fork(
      Effect.andThen(
        Effect.sleep(time),
        Effect.sync(() => {
          this.timer = undefined
          for (const id of isList(this.ids) ? this.ids : [this.ids]) this.session.interrupt(id, this, reason)
        })
      )
    )
  }

  private stopTimer(): void {
    this.timer?.interruptUnsafe()
    this.timer = undefined
  }
}

const isList = (ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ids is ReadonlyArray<JsonRpc.Id> => Array.isArray(ids)
