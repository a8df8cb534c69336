/**
 * Sends a client's requests over a series of connections. The rest of the client uses it.
 *
 * Negotiated values come from the latest connection. The log level is set again on every new connection, and subscriptions are reopened
 * (`Resubscribe`).
 */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RetryPolicy } from "../connection/Backoff.ts"
import { type CallOptions, type Defaults, isWatched } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { Connection } from "../connection/Connection.ts"
import type { EraRequests, SendOptions as EraSendOptions } from "../connection/Era.ts"
import { OtherResult } from "../extension/OtherResult.ts"
import * as Elapsed from "../internal/Elapsed.ts"
import type { Negotiated } from "../connection/Negotiation.ts"
import * as Reconnect from "./Reconnect.ts"
import * as RequestRetry from "./RequestRetry.ts"

export interface Options<E, R> {
  readonly open: Effect.Effect<Connection, E, R>
  /** True if `open` can run more than once. */
  readonly reopens: boolean
  /** Without a policy nothing is retried. */
  readonly policy: RetryPolicy | undefined
  readonly defaults: Defaults
  /** True if a request is safe to repeat, even though its method doesn't only read. */
  readonly isSafe: (method: string, params: unknown) => boolean
  /** Called when a connection is lost, because facts learned on it may be stale. */
  readonly onLost: () => void
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
  /** Returns the final result for a result of another type. */
  readonly follow: (other: OtherResult) => Effect.Effect<unknown, ClientError>
}

/** Options for a request whose method is not in the tables. */
interface SendOptions extends EraSendOptions {
  /** True if it only reads. */
  readonly readOnly: boolean
}

export interface ReconnectingConnection extends Negotiated, Omit<EraRequests, "send"> {
  readonly request: <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<ClientRequests[M]["result"], ClientError>
  /** Like `request`, but only on one connection. On any other connection the result is `OtherSession`, and nothing is sent. */
  readonly requestOn: <M extends keyof ClientRequests>(
    only: Connection,
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<ClientRequests[M]["result"] | OtherSession, ClientError>
  readonly send: (method: string, params: JsonObject, options: SendOptions) => Effect.Effect<unknown, ClientError>
  /** True if call arguments are also sent as headers. */
  readonly headers: boolean
  readonly reconnect: Reconnect.Reconnect
}

/** Returned for a request of a session that is over. It was not sent. */
export interface OtherSession {
  readonly _tag: "OtherSession"
}
const otherSession: OtherSession = { _tag: "OtherSession" }

/** True if the result means that the request's session is over. */
export const isOver = (result: object): result is OtherSession => result === otherSession

export const make = Effect.fnUntraced(function* <E, R>(
  options: Options<E, R>
): Effect.fn.Return<ReconnectingConnection, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  const { defaults, dropped, policy, reopens } = options
  const clock = yield* Clock.Clock
  let level: LoggingLevel | undefined
  const reconnect = yield* Reconnect.make({
    open: options.open,
    policy: reopens ? policy : undefined,
    onLost: options.onLost,
    restore: (connection) =>
      Effect.suspend(() => {
        if (level === undefined) return Effect.void
        return Effect.catch(connection.setLogLevel(level), (error) =>
          error._tag === "Closed"
            ? Effect.fail(error)
            : Effect.sync(() => dropped(`Failed to restore the log level: ${error.message}`, "Warn"))
        )
      })
  })
  const send = RequestRetry.make({ reconnect, policy })
  const latest = reconnect.latest

  const subscription = (
    subscribe: (connection: Connection) => EraRequests["subscribeLists"]
  ): EraRequests["subscribeLists"] =>
    Effect.suspend(() =>
      send({
        attempt: (connection) =>
          Effect.map(subscribe(connection), (ended) => Effect.raceFirst(ended, connection.ended)),
        safe: true
      })
    )

  return {
    reconnect,
    get revision() {
      return latest().revision
    },
    get serverInfo() {
      return latest().serverInfo
    },
    get serverCapabilities() {
      return latest().serverCapabilities
    },
    get instructions() {
      return latest().instructions
    },
    get headers() {
      return latest().headers
    },
    ...makeRequests(send, latest, options, clock),
    notify: (method, params) =>
      Effect.suspend(() => send({ attempt: (connection) => connection.notify(method, params), safe: false })),
    decode: (method, wire) => Effect.suspend(() => latest().decode(method, wire)),
    answer: (method, inputRequests) => Effect.suspend(() => latest().answer(method, inputRequests)),
    listen: (filter, received) =>
      Effect.suspend(() =>
        send({
          attempt: (connection) =>
            Effect.map(connection.listen(filter, received), ({ ended, granted }) => ({
              granted,
              ended: Effect.raceFirst(ended, connection.ended)
            })),
          safe: true
        })
      ),
    subscribeResource: (uri, updated) => subscription((connection) => connection.subscribeResource(uri, updated)),
    subscribeLists: subscription((connection) => connection.subscribeLists),
    setLogLevel: (wanted) =>
      Effect.suspend(() =>
        Effect.map(send({ attempt: (connection) => connection.setLogLevel(wanted), safe: true }), () => {
          level = wanted
        })
      ),
    ping: (callOptions = {}) =>
      Effect.suspend(() => {
        const { deadline, options } = deadlineOf("ping", callOptions, defaults, clock)
        return send({ attempt: (connection) => connection.ping(options), safe: true, deadline })
      })
  }
})

const requestOnly = <M extends keyof ClientRequests>(
  connection: Connection,
  only: Connection,
  method: M,
  params: ClientRequests[M]["params"],
  options: CallOptions
): Effect.Effect<ClientRequests[M]["result"] | OtherResult | OtherSession, ClientError> =>
  connection === only ? connection.request(method, params, options) : Effect.succeed(otherSession)

/** Sends requests of either kind, with one deadline for all attempts. */
const makeRequests = (
  send: ReturnType<typeof RequestRetry.make>,
  latest: () => Connection,
  { defaults, follow, isSafe }: Pick<Options<never, never>, "defaults" | "follow" | "isSafe">,
  clock: Clock.Clock
): Pick<ReconnectingConnection, "request" | "requestOn" | "send"> => ({
  requestOn: (only, method, params, callOptions = {}) =>
    Effect.suspend(() => {
      const { reconnectTimeout } = callOptions
      const { deadline, options } = deadlineOf(method, callOptions, defaults, clock)
      const safe = MethodInfo.ofRequest(method)?.readOnly === true
      const sent = send({
        attempt: (connection) => requestOnly(connection, only, method, params, options),
        safe,
        deadline,
        reconnectTimeout
      })
      return Effect.flatMap(sent, (result) =>
        result instanceof OtherResult
          ? Effect.flatMap(follow(result), (last) => latest().decode(method, last))
          : Effect.succeed(result)
      )
    }),
  request: (method, params, callOptions = {}) =>
    Effect.suspend(() => {
      const safe = MethodInfo.ofRequest(method)?.readOnly === true || isSafe(method, params)
      const { reconnectTimeout } = callOptions
      const { deadline, options } = deadlineOf(method, callOptions, defaults, clock)
      const sent = send({
        attempt: (connection) => connection.request(method, params, options),
        safe,
        deadline,
        reconnectTimeout
      })
      return Effect.flatMapEager(sent, (result) =>
        result instanceof OtherResult
          ? Effect.flatMap(follow(result), (final) => latest().decode(method, final))
          : Effect.succeed(result)
      )
    }),
  send: (method, params, sendOptions) =>
    Effect.suspend(() => {
      const { readOnly: safe, reconnectTimeout } = sendOptions
      const { deadline, options } = deadlineOf(method, sendOptions, defaults, clock)
      const sent = send({
        attempt: (connection) => connection.send(method, params, { ...sendOptions, ...options }),
        safe,
        deadline,
        reconnectTimeout
      })
      return Effect.flatMap(sent, (result) => (result instanceof OtherResult ? follow(result) : Effect.succeed(result)))
    })
})

/** Returns the time at which a request expires, over all attempts. Progress extends it. */
const deadlineOf = (
  method: string,
  options: CallOptions,
  defaults: Defaults,
  clock: Clock.Clock
): { readonly deadline: RequestRetry.Deadline; readonly options: CallOptions } => {
  const started = Elapsed.unsafe(clock)
  let last = started
  const at = () =>
    Math.min(
      last + Duration.toMillis(options.timeout ?? defaults.timeout),
      started + Duration.toMillis(options.maxTotal ?? defaults.maxTotal)
    )
  const { onProgress } = options
  const resets = options.resetOnProgress ?? defaults.resetOnProgress
  const watched = resets && (onProgress !== undefined || isWatched(method, options))
  return {
    deadline: { method, at },
    options: watched
      ? {
          ...options,
          onProgress: (event) => {
            last = Elapsed.unsafe(clock)
            return onProgress?.(event)
          }
        }
      : options
  }
}
