/** The requests a peer has sent and not yet seen answered: one waiting continuation each, with its timeout and its progress. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { McpError } from "@effect-mcp/protocol/McpError"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TraceContext from "../TraceContext.ts"
import type { RequestHeaders, Sink, TransportError } from "../Transport.ts"

/** The conversation, or the exchange of this request, ended before the answer came; `cause` says how, when it was not in order. */
export class Closed extends Data.TaggedError("Closed")<{
  readonly message: string
  readonly cause?: TransportError | undefined
  /** The other side has certainly not acted on the request. Default: it may have. */
  readonly unsent?: boolean | undefined
}> {}

/** No answer in time. The other side has been told that the request is cancelled. */
export class Timeout extends Data.TaggedError("Timeout")<{ readonly method: string; readonly message: string }> {}

export type RequestError = McpError | Closed | Timeout

export interface RequestOptions {
  /** The inbound request this one belongs to: HTTP sends it on that request's stream. */
  readonly relatedTo?: JsonRpc.Id | undefined
  /** Asks for progress, and is told of each event, in the reader: it must not block. */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /** How long to wait for the answer. Default: for ever (clients set 60 seconds). */
  readonly timeout?: Duration.Input | undefined
  /** Start the wait anew with every progress event. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long to wait at most, whatever the progress. Default: no cap. */
  readonly maxTotal?: Duration.Input | undefined
  /** Told of the id that the request has on the wire, before it is sent. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** `false` for `initialize`, which must not be cancelled. */
  readonly cancellable?: boolean | undefined
  /** Taken along where the wire has headers. */
  readonly headers?: RequestHeaders | undefined
}

interface Waiting {
  readonly method: string
  readonly options: RequestOptions
  readonly timeout: number
  readonly hardDeadline: number
  deadline: number
  resume: (effect: Effect.Effect<unknown, RequestError>) => void
  timedOut: boolean
}

export interface Outbound {
  readonly request: (
    method: string,
    params?: JsonRpc.Params,
    options?: RequestOptions
  ) => Effect.Effect<unknown, RequestError>
  /** `false` when nothing waits for that answer. */
  readonly answer: (response: JsonRpc.Response) => boolean
  /** Whether a request of that id waits. */
  readonly has: (id: unknown) => boolean
  readonly fail: (id: JsonRpc.Id, error: McpError | Closed) => boolean
  readonly progress: (params: JsonRpc.Params | undefined) => void
  readonly close: (cause: Option.Option<TransportError> | undefined) => void
  readonly size: () => number
}

const millis = (input: Duration.Input | undefined): number =>
  input === undefined ? Infinity : Duration.toMillis(Duration.fromInputUnsafe(input))

export const make = (sink: Sink, clock: Clock.Clock): Outbound => {
  const waiting = new Map<JsonRpc.Id, Waiting>()
  let closed: Closed | undefined
  const gone = Deferred.makeUnsafe<never, Closed>()
  // From 1: some peers take a falsy id for none.
  let nextId = 1

  const settle = (id: JsonRpc.Id, effect: Effect.Effect<unknown, RequestError>): boolean => {
    const entry = waiting.get(id)
    if (entry === undefined) return false
    waiting.delete(id)
    entry.resume(effect)
    return true
  }

  const send = (
    entry: Waiting,
    params: JsonRpc.Params | undefined,
    trace: JsonRpc.Params | undefined
  ): Effect.Effect<unknown, RequestError> =>
    Effect.callback<unknown, RequestError>((resume) => {
      if (closed !== undefined) return resume(Effect.fail(unsent(closed)))
      const id = nextId++
      entry.resume = resume
      const { headers, onProgress, relatedTo } = entry.options
      const token = onProgress === undefined ? undefined : { progressToken: id }
      const complete =
        trace === undefined && token === undefined
          ? params
          : { ...params, _meta: { ...trace, ...meta(params), ...token } }
      // Registered before it is sent: the answer may come within this very call.
      waiting.set(id, entry)
      entry.options.onSend?.(id)
      try {
        sink.send(JsonRpc.request(id, entry.method, complete), "data", relatedTo, headers)
      } catch (notJson) {
        waiting.delete(id)
        return resume(Effect.die(notJson))
      }
      return Effect.sync(() => {
        if (!waiting.delete(id) || entry.options.cancellable === false) return
        const reason = entry.timedOut ? "The request timed out" : "The caller was interrupted"
        sink.send(JsonRpc.notification("notifications/cancelled", { requestId: id, reason }), "control", relatedTo)
      })
    })

  /** Room in the outbox, or the end of the wait for it. */
  const room = Effect.suspend(() =>
    closed === undefined
      ? Effect.raceFirst(sink.ready, Effect.mapError(Deferred.await(gone), unsent))
      : Effect.fail(unsent(closed))
  )

  const expire = (entry: Waiting): Effect.Effect<never, Timeout> =>
    Effect.suspend(() => {
      const left = Math.min(entry.deadline, entry.hardDeadline) - clock.currentTimeMillisUnsafe()
      if (left > 0) return Effect.andThen(Effect.sleep(left), expire(entry))
      entry.timedOut = true
      return Effect.fail(new Timeout({ method: entry.method, message: `${entry.method} was not answered in time` }))
    })

  return {
    request: (method, params, options = {}) =>
      Effect.withFiber((fiber) => {
        const trace = TraceContext.entries(fiber.context)
        const timeout = millis(options.timeout)
        const now = clock.currentTimeMillisUnsafe()
        const entry: Waiting = {
          method,
          options,
          timeout,
          deadline: now + timeout,
          hardDeadline: now + millis(options.maxTotal),
          resume: () => {},
          timedOut: false
        }
        const sent = sink.writable() ? send(entry, params, trace) : Effect.andThen(room, send(entry, params, trace))
        return Math.min(entry.deadline, entry.hardDeadline) === Infinity ? sent : Effect.raceFirst(sent, expire(entry))
      }),
    answer: (response) => {
      const id = response.id
      if (id === undefined || id === null) return false
      return settle(
        id,
        "error" in response ? Effect.fail(new McpError(response.error)) : Effect.succeed(response.result)
      )
    },
    has: (id) => JsonRpc.isId(id) && waiting.has(id),
    fail: (id, error) => settle(id, Effect.fail(error)),
    progress: (params) => {
      const token = params?.progressToken
      if (!JsonRpc.isId(token) || typeof params?.progress !== "number") return
      const entry = waiting.get(token)
      if (entry?.options.onProgress === undefined) return
      if (entry.options.resetOnProgress !== false) entry.deadline = clock.currentTimeMillisUnsafe() + entry.timeout
      const { progress, total, message } = params
      entry.options.onProgress({
        progressToken: token,
        progress,
        ...(typeof total === "number" ? { total } : undefined),
        ...(typeof message === "string" ? { message } : undefined)
      })
    },
    close: (cause) => {
      const transportError = cause === undefined ? undefined : Option.getOrUndefined(cause)
      closed ??= new Closed({
        message: transportError?.message ?? "The connection is closed",
        cause: transportError
      })
      Deferred.doneUnsafe(gone, Effect.fail(closed))
      for (const id of waiting.keys()) settle(id, Effect.fail(closed))
    },
    size: () => waiting.size
  }
}

const meta = (params: JsonRpc.Params | undefined): object => {
  const value = params?._meta
  return typeof value === "object" && value !== null ? value : {}
}

const unsent = ({ cause, message }: Closed): Closed => new Closed({ message, cause, unsent: true })
