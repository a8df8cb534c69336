/**
 * Where the messages of one POST of a session leave: JSON if its answers are all there is, else a stream of events.
 *
 * Owns what becomes of the requests when the client goes: nothing at once, since a disconnect is no cancel. One that can come back for
 * the rest has some time to do so; for one that cannot, questions fail and the rest is dropped. Then the handlers are interrupted.
 */
import type { Lane, Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type { EventStream } from "./EventStream.ts"
import type { HttpSession } from "./HttpSession.ts"

/** Made for every POST of a session, so it makes little itself: no closures, no arrays. */
export class PostStream implements Sink {
  private readonly session: HttpSession
  /** The requests that were posted: one, or those of a batch. */
  private readonly ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>
  private readonly batch: boolean
  /** Answers that are to come: one more for each message that could not be read. */
  private expected: number
  /** The text of the first answer, and of those after it, as long as they are no events. */
  private first: string | undefined = undefined
  private rest: Array<string> | undefined = undefined
  private asks: Array<JsonRpc.Id> | undefined = undefined
  private over = false
  /** Nobody can get anything of it any more. */
  private lost = false
  private leftBehind = false
  private waiting: Fiber.Fiber<void> | undefined = undefined
  private said: Latch.Latch | undefined = undefined
  /** Once it is no plain JSON. */
  stream: EventStream | undefined = undefined

  constructor(session: HttpSession, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>, expected: number, batch: boolean) {
    this.session = session
    this.ids = ids
    this.expected = expected
    this.batch = batch
    if (!isList(ids)) session.began(ids, this)
    else for (const id of ids) session.began(id, this)
  }

  get isDecided(): boolean {
    return this.over || this.stream !== undefined
  }

  /** Waits until it is known what it is answered by. */
  get decided(): Effect.Effect<void> {
    return this.isDecided ? Effect.void : (this.said ??= Latch.makeUnsafe(false)).await
  }

  /** All there is to answer, if it is no stream; nothing where the request was cancelled. */
  get json(): string | undefined {
    if (this.stream !== undefined || this.first === undefined) return undefined
    return this.batch ? `[${[this.first, ...(this.rest ?? [])].join(",")}]` : this.first
  }

  writable(): boolean {
    return this.stream?.writable() ?? true
  }

  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => this.stream?.ready ?? Effect.void)
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, lane: Lane): void {
    if ("length" in message) for (const one of message) this.send(one, lane)
    else if (JsonRpc.isResponse(message)) this.answer(message)
    else if (this.over) {
      // Of a fiber that outlives its request.
      if (message.method !== "notifications/progress") this.session.send(message, lane)
    } else if (!this.lost) {
      const text = JsonRpc.encode(message)
      this.streaming().write(text)
      if (JsonRpc.isRequest(message)) (this.asks ??= []).push(message.id)
    } else if (JsonRpc.isRequest(message)) this.session.unanswered(message.id, true)
  }

  private answer(message: JsonRpc.Response): void {
    this.write(message)
    this.settle(message.id ?? undefined)
  }

  private write(message: JsonRpc.Response): void {
    // Throws on what is no JSON before anything has changed: its sender then answers with an error.
    const text = JsonRpc.encode(message)
    if (this.stream !== undefined) this.stream.write(text)
    else if (this.first === undefined) this.first = text
    else (this.rest ??= []).push(text)
  }

  /** Answers what was posted, but is no request. */
  refuse(failure: JsonRpc.Failure): void {
    this.write(failure)
    this.settle(undefined)
  }

  noAnswer(id: JsonRpc.Id): void {
    this.settle(id)
  }

  private settle(id: JsonRpc.Id | undefined): void {
    if (id !== undefined) this.session.settled(id, this)
    if (--this.expected > 0) return
    this.over = true
    if (this.leftBehind) this.session.config.leftBehind(-1, this.session.caller)
    this.waiting?.interruptUnsafe()
    if (this.stream !== undefined) {
      this.stream.end()
      this.session.retire(this.stream)
    }
    this.said?.openUnsafe()
    this.session.answered()
  }

  /** From now on it is a stream. */
  streaming(): EventStream {
    if (this.stream !== undefined) return this.stream
    const stream = this.session.openStream({ attached: () => this.back(), detached: () => this.left() })
    this.stream = stream
    if (this.session.polls) stream.prime(this.session.config.retry)
    if (this.first !== undefined) for (const text of [this.first, ...(this.rest ?? [])]) stream.write(text)
    this.said?.openUnsafe()
    return stream
  }

  closeStream(retry: Duration.Input = this.session.config.retry): void {
    if (this.session.polls && !this.over && !this.lost) this.streaming().closeStream(retry)
  }

  private back(): void {
    this.waiting?.interruptUnsafe()
    this.waiting = undefined
  }

  /** Its client went before it had all. */
  left(): void {
    if (this.over) return
    const { config } = this.session
    // Counted to its end, whoever comes back for it.
    if (!this.leftBehind) config.leftBehind(1, this.session.caller)
    this.leftBehind = true
    const canReturn = this.stream?.resumable === true
    if (!canReturn) {
      this.lost = true
      this.stream?.discard()
      for (const id of this.asks ?? []) this.session.unanswered(id, false)
    }
    const reason = canReturn ? "The client did not come back in time" : "The client has disconnected"
    this.waiting = this.session.fork(
      Effect.andThen(
        Effect.sleep(canReturn ? config.window : config.grace),
        Effect.sync(() => {
          this.waiting = undefined
          for (const id of listOf(this.ids)) this.session.interrupt(id, this, reason)
        })
      )
    )
  }
}

type Ids = JsonRpc.Id | ReadonlyArray<JsonRpc.Id>
const isList = (ids: Ids): ids is ReadonlyArray<JsonRpc.Id> => Array.isArray(ids)
const listOf = (ids: Ids): ReadonlyArray<JsonRpc.Id> => (isList(ids) ? ids : [ids])
