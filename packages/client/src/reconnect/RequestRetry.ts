/**
 * Sends requests over a connection that may be lost before the answer arrives.
 *
 * A request is resent only if that is safe, either because the server has certainly not acted on it or because the server may act on it
 * twice. Each attempt has a new id, and all attempts share the caller's timeout. Any other request fails with `Closed`.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { defaultAttempts, defaultResends, isPermanent, type RetryPolicy, wait } from "../connection/Backoff.ts"
import { type ClientError, Closed, denied, sent, Timeout } from "../ClientError.ts"
import type { Connection } from "../connection/Connection.ts"
import * as Elapsed from "../internal/Elapsed.ts"
import type { Reconnect } from "./Reconnect.ts"

export interface Options {
  readonly reconnect: Reconnect
  /** When to resend a request. Without a policy, requests are never resent. */
  readonly policy: RetryPolicy | undefined
}

/** A request or a subscription that can be tried on several connections. */
interface RetriableRequest<A, R> {
  readonly attempt: (connection: Connection) => Effect.Effect<A, ClientError, R>
  /** True if the server may act on it twice. */
  readonly safe: boolean
  /** When the request expires. May change while the request runs. */
  readonly deadline?: Deadline | undefined
  /** How long the request waits for another connection, at most twice. Default: until the deadline. */
  readonly reconnectTimeout?: Duration.Input | undefined
}

export interface Deadline {
  readonly method: string
  /** In milliseconds of `Elapsed`, or Infinity for never. */
  readonly at: () => number
}

/** How the last attempt failed, on which connection, and how often a session has seemed to be expired so far. */
interface Failed {
  readonly closed: Closed
  readonly connection: Connection
  readonly forgotten: number
}

const expire = ({ at, method }: Deadline): Effect.Effect<never, Timeout> =>
  Effect.flatMap(Elapsed.now, (now) => {
    const left = at() - now
    if (left === Infinity) return Effect.never
    if (left > 0) return Effect.andThen(Effect.sleep(left), expire({ at, method }))
    return Effect.fail(new Timeout({ method, message: `${method} timed out` }))
  })

/** Limits the wait of this request. Opening the connection is not interrupted. */
const withinReconnectTimeout = (
  { reconnectTimeout }: Pick<RetriableRequest<never, never>, "reconnectTimeout">,
  connection: Effect.Effect<Connection, Closed>
) =>
  reconnectTimeout === undefined
    ? connection
    : Effect.timeoutOrElse(connection, {
        duration: reconnectTimeout,
        orElse: () =>
          Effect.fail(new Closed({ message: "The connection was lost and has not been reopened yet", unsent: true }))
      })

/** True if the status (other than 404) may mean an expired session, or a rejection that a new session would not change. */
const mayBeExpiredSession = ({ cause }: Closed): boolean =>
  cause?.reason === "SessionLost" && cause.status !== undefined && cause.status !== 404

const failure = (closed: Closed, connection: Connection, before?: Failed): Failed => ({
  closed,
  connection,
  forgotten: (before?.forgotten ?? 0) + (mayBeExpiredSession(closed) ? 1 : 0)
})

const untilDeadline = <A, R>(sending: RetriableRequest<A, R>, rest: Effect.Effect<A, ClientError, R>) =>
  sending.deadline === undefined ? rest : Effect.raceFirst(rest, expire(sending.deadline))

/** Sends requests, and repeats the ones that are safe to repeat. */
export const make =
  (options: Options) =>
  <A, R>(sending: RetriableRequest<A, R>): Effect.Effect<A, ClientError, R> => {
    const { policy, reconnect } = options
    const connection = reconnect.latest()
    if (policy === undefined) return Effect.mapError(sending.attempt(connection), denied)
    if (!reconnect.isOpen()) return retry(options, sending)
    return Effect.catchTag(sending.attempt(connection), "Closed", (closed) =>
      retry(options, sending, { closed, connection })
    )
  }

/** Repeats a request that has no connection, or whose first attempt failed with `closed`, if that is safe. */
const retry = <A, R>(
  { policy, reconnect }: Options,
  sending: RetriableRequest<A, R>,
  first?: { readonly closed: Closed; readonly connection: Connection }
): Effect.Effect<A, ClientError, R> => {
  const attempts = policy?.attempts ?? defaultAttempts
  const resends = policy?.resends ?? defaultResends

  /** Continues after `tried` attempts, of which the server may have seen `seen`. */
  const again = (tried: number, seen: number, failed: Failed | undefined): Effect.Effect<A, ClientError, R> =>
    // One turn later, because the connection may end in the same turn as the request.
    Effect.flatMap(failed === undefined ? Effect.void : Effect.yieldNow, () => {
      if (failed !== undefined) {
        const { closed, forgotten } = failed
        const most = sending.reconnectTimeout === undefined ? attempts : Math.min(attempts, 2)
        const isLast = tried >= most || isPermanent(closed) || seen > (sending.safe ? resends : 0) || forgotten > 1
        if (isLast) return Effect.fail(closed)
      }
      // Opening the next connection has its own delays.
      const pause = failed !== undefined && reconnect.survives(failed.connection, failed.closed) ? tried + 1 : 0
      const connection = withinReconnectTimeout(sending, Effect.andThen(wait(pause, policy ?? {}), reconnect.acquire))
      return Effect.flatMap(seen === 0 ? connection : Effect.mapError(connection, sent), (connection) =>
        Effect.catchTag(sending.attempt(connection), "Closed", (closed) =>
          again(tried + 1, closed.unsent === true ? seen : seen + 1, failure(closed, connection, failed))
        )
      )
    })

  const rest =
    first === undefined
      ? again(0, 0, undefined)
      : again(1, first.closed.unsent === true ? 0 : 1, failure(first.closed, first.connection))
  return Effect.mapError(untilDeadline(sending, rest), denied)
}
