/** Requests that this peer has sent and that are not answered yet. Each has a continuation, a timeout and its progress. */
import { BoundedMap } from "../internal/BoundedMap.ts"
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

/** The connection, or the exchange for this request, ended before the response arrived. `cause` says why, unless it ended normally. */
export class Closed extends Data.TaggedError("Closed")<{
  readonly message: string
  readonly cause?: TransportError | undefined
  /** True if the other peer definitely hasn't acted on the request. Default false. */
  readonly unsent?: boolean | undefined
}> {}

/** The response didn't arrive in time. The other peer was told that the request is cancelled. */
export class Timeout extends Data.TaggedError("Timeout")<{ readonly method: string; readonly message: string }> {}

/** Errors a request may fail with. */
export type RequestError = McpError.McpError | Closed | Timeout

/** Options for one request. */
export interface RequestOptions {
  /** ID of the other peer's request that this request is related to. Over HTTP, it is sent on that request's stream. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** Requests progress, and is called with each event. It runs while messages are being read, so it must not block. */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /**
   * Called with the result. Returns true if the request should keep receiving progress until `end` is called, as for a task (2025-11-25:
   * tasks, progress). Default: progress ends with the result.
   */
  readonly outlives?: ((result: unknown, end: () => void) => boolean) | undefined
  /**
   * Called with a result that arrives after the request was cancelled. Returns an effect that undoes what the request did. Remembered for
   * the last 64 cancelled requests on the connection. Default: late results are dropped.
   */
  readonly late?: ((result: unknown) => Effect.Effect<void> | undefined) | undefined
  /** How long to wait for the response. Default: no limit (clients set 60 seconds). */
  readonly timeout?: Duration.Input | undefined
  /** Whether to restart the timeout on every progress event. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** Maximum total time to wait, even if there is progress. Default: no limit. */
  readonly maxTotal?: Duration.Input | undefined
  /** Called with the request's ID before the request is sent. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** Set it to `false` for `initialize`, which must not be cancelled. */
  readonly cancellable?: boolean | undefined
  /** Headers to send with the request, if the transport has headers. */
  readonly headers?: RequestHeaders | undefined
}

/** A request sent by this peer that is waiting for its response. */
export interface SentRequest {
  readonly id: JsonRpc.Id
  readonly method: string
  /** ID of the other peer's request that this request is related to. */
  readonly relatedTo: JsonRpc.Id | undefined
  /** When the request was sent, in milliseconds since 1970. */
  readonly since: number
  /** Identifies the request: the same object for as long as it is waiting. */
  readonly identity: object
}

/** Called when a request is sent, and when it stops waiting. */
interface Watcher {
  readonly changed?: (() => void) | undefined
}

interface Waiting {
  readonly method: string
  readonly options: RequestOptions
  readonly timeout: number
  /** When the request was sent, on the clock used for deadlines. */
  readonly began: number
  readonly hardDeadline: number
  deadline: number
  resume: (effect: Effect.Effect<unknown, RequestError>) => void
}

/** Maximum number of cancelled requests whose late result is still handled. The oldest are forgotten first. */
const maxCancelled = 64

const millis = (input: Duration.Input | undefined): number => {
  if (input === undefined) return Infinity
  return typeof input === "number" && input >= 0 ? input : Duration.toMillis(Duration.fromInputUnsafe(input))
}

const dueAt = ({ deadline, hardDeadline }: Waiting): number => Math.min(deadline, hardDeadline)

/** Creates its parts on first use, because most server connections never send a request. */
export class OutboundRequests implements Entries {
  sink: Sink
  /** Created by the first request, because most server sessions never send one. */
  private madeDeadlines: Deadlines | undefined = undefined
  private readonly clock: Clock.Clock
  private readonly fork: Fork
  private readonly watcher: Watcher
  private waiting: BusyMap<JsonRpc.Id, Waiting> | undefined = undefined
  /** Options of requests that have a response but still receive progress. */
  private outlived: Map<JsonRpc.Id, RequestOptions> | undefined = undefined
  /** Undo effects for late responses to cancelled requests. */
  private cancelled: Map<JsonRpc.Id, NonNullable<RequestOptions["late"]>> | undefined = undefined
  private closed: Closed | undefined = undefined
  private gone: Deferred.Deferred<never, Closed> | undefined = undefined
  private nextId: number

  /** `firstId` starts at 1, because some peers treat a falsy ID as absent. */
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

  /** Removes a waiting request. Returns false if it wasn't waiting. */
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
      // Registered before it is sent, because the response may arrive during this call.
      waiting.set(id, entry)
      try {
        entry.options.onSend?.(id)
        sink.send(JsonRpc.request(id, entry.method, complete), "data", relatedTo, headers)
      } catch (defect) {
        // The params are not JSON, or `onSend` threw. Nothing was sent, so there is nothing to cancel.
        waiting.delete(id)
        return resume(Effect.die(defect))
      }
      // Reuses the time at which the request was created, to avoid reading the clock again.
      this.deadlines.add(dueAt(entry), entry.began)
      this.watcher.changed?.()
    })
    // A request that is still waiting at this point was interrupted; in every other case it has already been removed.
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
    this.cancelled ??= new BoundedMap(maxCancelled)
    this.cancelled.set(id, late)
  }

  /** Handles a response to a cancelled request. Returns false for any other response. */
  private answerLate(id: JsonRpc.Id, response: JsonRpc.Response): boolean {
    const late = this.cancelled?.get(id)
    if (late === undefined) return false
    this.cancelled?.delete(id)
    const undone = "error" in response ? undefined : late(response.result)
    if (undone !== undefined) this.fork(undone)
    return true
  }

  /** Waits for room in the outbox, or for the connection to end. */
  private get room(): Effect.Effect<void, Closed> {
    return Effect.suspend(() => {
      if (this.closed !== undefined) return Effect.fail(unsent(this.closed))
      this.gone ??= Deferred.makeUnsafe()
      return Effect.raceFirst(this.sink.ready, Effect.mapError(Deferred.await(this.gone), unsent))
    })
  }

  /** Waits for room, but not longer than the request's deadline. */
  private roomFor(entry: Waiting): Effect.Effect<void, Closed | Timeout> {
    const left = dueAt(entry) - this.deadlines.now
    if (left === Infinity) return this.room
    return Effect.timeoutOrElse(this.room, { duration: left, orElse: () => Effect.fail(late(entry)) })
  }

  /** Ends overdue requests and returns the next deadline. */
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

  /** Completes the request that the response belongs to. Returns false if no such request is waiting. */
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

  /** True if a request with this ID is waiting. */
  has(id: unknown): boolean {
    return JsonRpc.isId(id) && this.waiting?.has(id) === true
  }

  fail(id: JsonRpc.Id, error: McpError.McpError | Closed): boolean {
    return this.settle(id, Effect.fail(error))
  }

  /** Fails a waiting request and cancels it on the other peer. Returns false if there is no such request. */
  giveUp(id: JsonRpc.Id, reason: string): boolean {
    const entry = this.waiting?.get(id)
    if (entry === undefined || !this.fail(id, McpError.interrupted(reason))) return false
    this.cancel(id, entry, reason)
    return true
  }

  /** The waiting requests, oldest first. */
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
    // A stack trace of the code that closes the connection is of no use, and costs more than everything else when a session ends.
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

const late = ({ method }: Waiting): Timeout => new Timeout({ method, message: `${method} timed out` })
