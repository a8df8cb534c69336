/**
 * The requests that a peer has sent and that are not answered yet: a continuation each, with its timeout and its progress.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"
import { BusyMap } from "../internal/BusyMap.ts"
import { callback } from "../internal/callback.ts"
import { Deadlines, type Entries, type Fork } from "../internal/Deadlines.ts"
import * as CancelReason from "./CancelReason.ts"
import * as TraceContext from "./TraceContext.ts"
import * as Spans from "./Spans.ts"
import type { RequestHeaders, Sink, TransportError } from "../transport/Transport.ts"

/** The conversation, or the exchange of this request, ended before the answer. `cause` says why, unless it ended in order. */
export class Closed extends Data.TaggedError("Closed")<{
  readonly message: string
  readonly cause?: TransportError | undefined
  /** Whether the other side has certainly not acted on the request. Default false. */
  readonly unsent?: boolean | undefined
}> {}

/** There was no answer in time. The other side was told that the request is cancelled. */
export class Timeout extends Data.TaggedError("Timeout")<{ readonly method: string; readonly message: string }> {}

/** Why a request has no result. */
export type RequestError = McpError.McpError | Closed | Timeout

/** Options of one request. */
export interface RequestOptions {
  /** The request of the other side that this one relates to: HTTP sends it on that request's stream. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** Asks for progress. Called for each event, in the reader: it must not block. */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /**
   * Called with a result: whether progress still belongs to the request, as that of a task does (2025-11-25: tasks, progress), until `end`
   * is called. Default: it does not.
   */
  readonly outlives?: ((result: unknown, end: () => void) => boolean) | undefined
  /**
   * Called with a result that comes after all, once the request was cancelled: gives what undoes it. Kept for the last 64 requests of the
   * conversation that were cancelled. Default: a late result is dropped.
   */
  readonly late?: ((result: unknown) => Effect.Effect<void> | undefined) | undefined
  /** How long to wait for the answer. Default: without a limit (clients set 60 seconds). */
  readonly timeout?: Duration.Input | undefined
  /** Whether every progress event starts the wait anew. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long to wait in total, whatever the progress. Default: without a limit. */
  readonly maxTotal?: Duration.Input | undefined
  /** Called with the id of the request on the wire, before it is sent. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** `false` for `initialize`, which must not be cancelled. */
  readonly cancellable?: boolean | undefined
  /** Sent with the request where the transport has headers. */
  readonly headers?: RequestHeaders | undefined
}

/** A request of this peer that waits for its answer, as it is now. */
export interface SentRequest {
  readonly id: JsonRpc.Id
  readonly method: string
  /** The request of the other side that it relates to. */
  readonly relatedTo: JsonRpc.Id | undefined
  /** When it was made, in milliseconds since the epoch. */
  readonly since: number
  /** The same object for as long as the request waits. */
  readonly identity: object
}

/** What is told when a request is sent, and when it no longer waits. */
interface Watcher {
  readonly changed?: (() => void) | undefined
}

interface Waiting {
  readonly method: string
  readonly options: RequestOptions
  readonly timeout: number
  /** When it was made, as the deadlines count time. */
  readonly began: number
  readonly hardDeadline: number
  deadline: number
  resume: (effect: Effect.Effect<unknown, RequestError>) => void
}

/** Requests that were cancelled, and whose result is still awaited, at most; the oldest are forgotten. */
const maxCancelled = 64

const millis = (input: Duration.Input | undefined): number => {
  if (input === undefined) return Infinity
  return typeof input === "number" && input >= 0 ? input : Duration.toMillis(Duration.fromInputUnsafe(input))
}

const dueAt = ({ deadline, hardDeadline }: Waiting): number => Math.min(deadline, hardDeadline)

/** Its parts are made when they are first needed: most conversations of a server send no request. */
export class OutboundRequests implements Entries {
  sink: Sink
  /** Made by the first request that is sent: most sessions of a server never send one. */
  private madeDeadlines: Deadlines | undefined = undefined
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly watcher: Watcher
  private waiting: BusyMap<JsonRpc.Id, Waiting> | undefined = undefined
  /** Options of requests that have been answered, and whose progress has not ended. */
  private outlived: Map<JsonRpc.Id, RequestOptions> | undefined = undefined
  /** What undoes the results of requests that were cancelled. */
  private cancelled: Map<JsonRpc.Id, NonNullable<RequestOptions["late"]>> | undefined = undefined
  private closed: Closed | undefined = undefined
  private gone: Deferred.Deferred<never, Closed> | undefined = undefined
  private nextId: number

  /** `firstId`: from 1, since some peers treat a falsy id as absent. */
  constructor(sink: Sink, clock: Clock.Clock, runFork: Fork, watcher: Watcher, firstId = 1) {
    this.sink = sink
    this.clock = clock
    this.fork = runFork
    this.watcher = watcher
    this.nextId = firstId
  }

  private get deadlines(): Deadlines {
    return (this.madeDeadlines ??= new Deadlines(this.clock, this.fork, this))
  }

  /** Forgets a request that waits; false when it did not wait. */
  private remove(id: JsonRpc.Id): boolean {
    if (this.waiting?.delete(id) !== true) return false
    if (this.waiting.size === 0 && this.closed === undefined) this.deadlines.relax()
    this.watcher.changed?.()
    return true
  }

  private settle(id: JsonRpc.Id, effect: Effect.Effect<unknown, RequestError>): boolean {
    const entry = this.waiting?.get(id)
    if (entry === undefined) return false
    this.remove(id)
    entry.resume(effect)
    return true
  }

  private send(
    entry: Waiting,
    params: JsonRpc.Params | undefined,
    trace: JsonRpc.Params | undefined
  ): Effect.Effect<unknown, RequestError> {
    let id = 0
    const sent = Effect.callback<unknown, RequestError>((resume) => {
      if (this.closed !== undefined) return resume(Effect.fail(unsent(this.closed)))
      const { sink } = this
      const waiting = (this.waiting ??= new BusyMap())
      id = this.nextId++
      entry.resume = resume
      const { headers, onProgress, relatedTo } = entry.options
      const token = onProgress === undefined ? undefined : { progressToken: id }
      const complete =
        trace === undefined && token === undefined
          ? params
          : { ...params, _meta: { ...trace, ...TraceContext.metaOf(params), ...token } }
      // Registered before it is sent: the answer may come within this very call.
      waiting.set(id, entry)
      try {
        entry.options.onSend?.(id)
        sink.send(JsonRpc.request(id, entry.method, complete), "data", relatedTo, headers)
      } catch (defect) {
        // The params are not JSON, or `onSend` throws: nothing was sent, and there is nothing to cancel.
        waiting.delete(id)
        return resume(Effect.die(defect))
      }
      // When the request was made: another look at the clock is saved.
      this.deadlines.add(dueAt(entry), entry.began)
      this.watcher.changed?.()
    })
    // A request that still waits here was interrupted: every other end removes it first.
    return Effect.onExit(sent, (exit) => {
      if (Exit.isFailure(exit) && this.remove(id)) {
        this.cancel(id, entry, CancelReason.of(exit.cause) ?? "The caller was interrupted")
      }
      return Effect.void
    })
  }

  private cancel(id: JsonRpc.Id, { options: { cancellable, late, relatedTo } }: Waiting, reason: string): void {
    if (cancellable === false) return
    if (late !== undefined && this.closed === undefined) this.awaitLate(id, late)
    this.sink.send(JsonRpc.notification("notifications/cancelled", { requestId: id, reason }), "control", relatedTo)
  }

  private awaitLate(id: JsonRpc.Id, late: NonNullable<RequestOptions["late"]>): void {
    const cancelled = (this.cancelled ??= new Map())
    const [oldest] = cancelled.keys()
    if (oldest !== undefined && cancelled.size >= maxCancelled) cancelled.delete(oldest)
    cancelled.set(id, late)
  }

  /** Takes the answer to a request that was cancelled; false for any other. */
  private answerLate(id: JsonRpc.Id, response: JsonRpc.Response): boolean {
    const late = this.cancelled?.get(id)
    if (late === undefined) return false
    this.cancelled?.delete(id)
    const undone = "error" in response ? undefined : late(response.result)
    if (undone !== undefined) this.fork(undone)
    return true
  }

  /** Waits for room in the outbox, or for the end of the conversation. */
  private get room(): Effect.Effect<void, Closed> {
    return Effect.suspend(() => {
      if (this.closed !== undefined) return Effect.fail(unsent(this.closed))
      this.gone ??= Deferred.makeUnsafe()
      return Effect.raceFirst(this.sink.ready, Effect.mapError(Deferred.await(this.gone), unsent))
    })
  }

  /** Waits for room, at most until the deadline of the request. */
  private roomFor(entry: Waiting): Effect.Effect<void, Closed | Timeout> {
    const left = dueAt(entry) - this.deadlines.now
    if (left === Infinity) return this.room
    return Effect.timeoutOrElse(this.room, { duration: left, orElse: () => Effect.fail(late(entry)) })
  }

  /** Ends the requests that are late, and gives the next deadline. */
  look(now: number): number {
    const { waiting } = this
    for (const id of waiting?.keys() ?? []) {
      const entry = waiting?.get(id)
      if (entry === undefined || dueAt(entry) > now) continue
      waiting?.delete(id)
      this.watcher.changed?.()
      entry.resume(Effect.fail(late(entry)))
      this.deadlines.attempt(() => this.cancel(id, entry, "The request timed out"))
    }
    let next = Infinity
    for (const entry of waiting?.values() ?? []) next = Math.min(next, dueAt(entry))
    return next
  }

  request(method: string, params?: JsonRpc.Params, options: RequestOptions = {}): Effect.Effect<unknown, RequestError> {
    return Effect.withFiber(({ context }) => {
      if (!TraceContext.isTraced(context)) return this.ask(method, params, options, context)
      const send = (span: Tracer.Span) => {
        const onSend = (id: JsonRpc.Id): void => {
          span.attribute("jsonrpc.request.id", String(id))
          options.onSend?.(id)
        }
        const traced = { ...options, onSend }
        return Effect.withFiber(({ context }) => this.ask(method, TraceContext.withoutEntries(params), traced, context))
      }
      return Spans.client({ method, params }, send)
    })
  }

  private ask(
    method: string,
    params: JsonRpc.Params | undefined,
    options: RequestOptions,
    context: Context.Context<never>
  ): Effect.Effect<unknown, RequestError> {
    const trace = TraceContext.entries(context)
    const timeout = millis(options.timeout)
    const { now } = this.deadlines
    const entry: Waiting = {
      method,
      options,
      timeout,
      began: now,
      deadline: now + timeout,
      hardDeadline: now + millis(options.maxTotal),
      resume: () => {}
    }
    const send = this.send(entry, params, trace)
    return this.sink.writable() ? send : Effect.andThen(this.roomFor(entry), send)
  }

  /** Settles the request that is answered; false when none of that id waits. */
  answer(response: JsonRpc.Response): boolean {
    const { id } = response
    if (id === undefined || id === null) return false
    const { outlives, onProgress } = this.waiting?.get(id)?.options ?? {}
    if (outlives !== undefined && onProgress !== undefined && !("error" in response)) {
      const end = (): void => void this.outlived?.delete(id)
      if (outlives(response.result, end)) (this.outlived ??= new Map()).set(id, { onProgress })
    }
    if (this.answerLate(id, response)) return true
    return this.settle(
      id,
      "error" in response ? Effect.fail(new McpError.McpError(response.error)) : Effect.succeed(response.result)
    )
  }

  /** Whether a request of that id waits. */
  has(id: unknown): boolean {
    return JsonRpc.isId(id) && this.waiting?.has(id) === true
  }

  fail(id: JsonRpc.Id, error: McpError.McpError | Closed): boolean {
    return this.settle(id, Effect.fail(error))
  }

  /** Fails a request that waits, and cancels it at the other side; false when there is none. */
  giveUp(id: JsonRpc.Id, reason: string): boolean {
    const entry = this.waiting?.get(id)
    if (entry === undefined || !this.fail(id, McpError.interrupted(reason))) return false
    this.cancel(id, entry, reason)
    return true
  }

  /** The requests that wait, the oldest first. */
  get sent(): ReadonlyArray<SentRequest> {
    const { waiting } = this
    if (waiting === undefined || waiting.size === 0) return []
    const epoch = this.clock.currentTimeMillisUnsafe() - this.deadlines.now
    return waiting.keys().flatMap((id) => {
      const entry = waiting.get(id)
      if (entry === undefined) return []
      const { began, method, options } = entry
      return { id, method, relatedTo: options.relatedTo, since: Math.round(began + epoch), identity: entry }
    })
  }

  progress(params: JsonRpc.Params | undefined): void {
    const token = params?.progressToken
    if (!JsonRpc.isId(token) || typeof params?.progress !== "number") return
    const entry = this.waiting?.get(token)
    const { onProgress, resetOnProgress } = entry?.options ?? this.outlived?.get(token) ?? {}
    if (onProgress === undefined) return
    if (entry !== undefined && resetOnProgress !== false) entry.deadline = this.deadlines.now + entry.timeout
    const { progress, total, message } = params
    const event = {
      progressToken: token,
      progress,
      ...(typeof total === "number" ? { total } : undefined),
      ...(typeof message === "string" ? { message } : undefined)
    }
    callback("onProgress", this.fork, () => onProgress(event))
  }

  close(cause: Option.Option<TransportError> | undefined): void {
    const transportError = cause === undefined ? undefined : Option.getOrUndefined(cause)
    const message = transportError?.message ?? "The connection is closed"
    // A stack of the place that closes it helps no request, and costs more than the rest of the end of a session.
    const closed = (this.closed ??= withoutStack(() => new Closed({ message, cause: transportError })))
    if (this.gone !== undefined) Deferred.doneUnsafe(this.gone, Effect.fail(closed))
    for (const id of this.waiting?.keys() ?? []) this.settle(id, Effect.fail(closed))
    this.outlived?.clear()
    this.cancelled?.clear()
    this.madeDeadlines?.close()
  }

  get size(): number {
    return this.waiting?.size ?? 0
  }
}

const unsent = ({ cause, message }: Closed): Closed => new Closed({ message, cause, unsent: true })

const late = ({ method }: Waiting): Timeout => new Timeout({ method, message: `${method} was not answered in time` })
