/**
 * The response to one POST of a session: JSON if its answers are all there is, else a stream of events.
 *
 * Owns what becomes of the requests when the client goes. A disconnect is no cancel (spec: basic/transports), so they run on: for
 * `window` where the client can come back, else for `grace`, during which questions fail and messages are dropped.
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

/** What a response uses of its session. */
export interface ResponseOwner {
  readonly config: {
    /** How long a client may stay away from a running request that it can come back to. */
    readonly window: Duration.Duration
    /** How long a request runs on whose client cannot come back. */
    readonly grace: Duration.Duration
    /** When a client that is sent away is told to come back. */
    readonly retry: Duration.Duration
    /** Called when a request runs on without its POST (1), and at its end (-1). */
    readonly leftBehind: (change: 1 | -1, caller: string, bytes: number) => void
  }
  readonly caller: string
  /** Whether clients may be sent away to come back for the rest (2025-11-25 on). */
  readonly polls: boolean
  /** A request has begun that this response answers. */
  began(id: JsonRpc.Id, response: SessionResponse): void
  /** The request has ended; its id may be that of another response by now. */
  settled(id: JsonRpc.Id, response: SessionResponse): void
  /** Interrupts a request of this response. */
  interrupt(id: JsonRpc.Id, response: SessionResponse, reason: string): void
  /** All requests of the response have been answered. */
  answered(): void
  /** Sends on the standalone GET stream. */
  send(message: JsonRpc.Message, lane: Lane): void
  /** Fails a question of the server that no client can answer. */
  unanswered(id: JsonRpc.Id, unsent: boolean): void
  openStream(owner: StreamOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ResumableStream
  /** Keeps a stream that has ended, for a client that did not receive all of it. */
  retire(stream: ResumableStream): void
  /** Runs for at most as long as the session. */
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void>
}

type State = "Buffering" | "Streaming" | "Detached" | "Abandoned" | "Done"

/** Made for every POST of a session: it has no closures and no arrays before it needs them. */
export class SessionResponse implements Sink, StreamOwner {
  private readonly session: ResponseOwner
  /** The requests of the POST: one, or those of a batch. */
  private readonly ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>
  private readonly batch: boolean
  private state: State = "Buffering"
  /** Answers that are to come: one for each request, and for each message that could not be read. 0 if and only if Done. */
  private expected: number
  /** The first answer, as text; read only while there is no `stream`. */
  private first: string | undefined = undefined
  /** What HTTP says of the error that is the one answer; undefined where that is nothing of its own. */
  refusal: JsonRpc.HttpRefusal | undefined = undefined
  /** The answers after `first`, of a batch. */
  private rest: Array<string> | undefined = undefined
  /** Questions that were sent on `stream`; some may have been answered. They fail when the response is abandoned. */
  private questions: Array<JsonRpc.Id> | undefined = undefined
  /** Undefined as long as nothing but answers was sent: then, once Done, the response is JSON. Never undefined again. */
  stream: ResumableStream | undefined = undefined
  /** Whether the POST has ended before its requests: they count as left behind until Done, also while a GET resumes the stream. */
  private leftBehind = false
  /** Bytes of the body of the POST. */
  bytes = 0
  /** Interrupts the requests when their time is over: set if and only if Detached or Abandoned, until it fires. */
  private timer: Fiber.Fiber<void> | undefined = undefined
  /** Opened when it is known whether the response is JSON or a stream; undefined while nothing waits for that. */
  private decision: Latch.Latch | undefined = undefined
  /** Opened when the client goes; undefined while nothing waits for that. */
  private leaving: Latch.Latch | undefined = undefined

  constructor(session: ResponseOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>, expected: number, batch: boolean) {
    this.session = session
    this.ids = ids
    this.expected = expected
    this.batch = batch
    if (!isList(ids)) session.began(ids, this)
    else for (const id of ids) session.began(id, this)
  }

  // ---- for the endpoint

  /** Whether it is known that the response is JSON, or a stream. */
  get isDecided(): boolean {
    return this.state === "Done" || this.stream !== undefined
  }

  /** Waits until it is decided. */
  get decided(): Effect.Effect<void> {
    return this.isDecided ? Effect.void : (this.decision ??= Latch.makeUnsafe(false)).await
  }

  /** The body, once it is decided; undefined for a stream, and where the request was cancelled. */
  get json(): string | undefined {
    if (this.stream !== undefined || this.first === undefined) return undefined
    return this.batch ? `[${[this.first, ...(this.rest ?? [])].join(",")}]` : this.first
  }

  /** Answers a message that could not be read. */
  refuse(failure: JsonRpc.Failure): void {
    this.write(failure)
    this.settle(undefined)
  }

  /** The response is a stream from now on. */
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
      // A fiber that outlives its request sent it.
      if (message.method !== "notifications/progress") this.session.send(message, lane)
    } else if (this.state !== "Abandoned") {
      const text = JsonRpc.encode(message)
      this.streaming().write(text)
      if (JsonRpc.isRequest(message)) (this.questions ??= []).push(message.id)
    } else if (JsonRpc.isRequest(message)) this.session.unanswered(message.id, true)
  }

  /** No answer to that request will follow: it was cancelled. */
  noAnswer(id: JsonRpc.Id): void {
    this.settle(id)
  }

  /** Whether the client has not gone. */
  isRead(): boolean {
    return this.state !== "Detached" && this.state !== "Abandoned"
  }

  /** Waits until the client has gone. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => (this.isRead() ? (this.leaving ??= Latch.makeUnsafe(false)).await : Effect.void))
  }

  closeStream(retry: Duration.Input = this.session.config.retry): void {
    const { state } = this
    if (this.session.polls && state !== "Done" && state !== "Abandoned") this.streaming().closeStream(retry)
  }

  private answer(message: JsonRpc.Response): void {
    // A changed transport may deliver a request after it was interrupted, or twice.
    if (this.state === "Done") return
    this.write(message)
    this.settle(message.id ?? undefined)
  }

  private write(message: JsonRpc.Response): void {
    // Throws on a value that is no JSON before anything has changed: its sender then answers with an error.
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

  // ---- when the client goes, and comes back

  /** A client reads the stream: the first response, or one that resumes it. */
  attached(): void {
    if (this.state !== "Detached") return
    this.state = "Streaming"
    this.stopTimer()
  }

  /** The client went before the response was complete. */
  detached(): void {
    if (this.state !== "Buffering" && this.state !== "Streaming") return
    const { caller, config } = this.session
    if (!this.leftBehind) config.leftBehind(1, caller, this.bytes)
    this.leftBehind = true
    if (this.stream?.resumable === true) {
      this.state = "Detached"
      this.leave()
      this.interruptAfter(config.window, "The client did not come back in time")
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
