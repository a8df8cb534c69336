/**
 * Requests over a connection that may be lost under them (TRAPS: recovery).
 *
 * One is sent again by itself only where that is safe: the server has certainly not acted on it, or may act on it twice. Every such try
 * is a new request with an id of its own, and the time that the caller allowed is for all of them. Any other fails with `Closed`.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { defaultAttempts, defaultResends, isPermanent, type Policy, wait } from "../connection/Backoff.ts"
import { type ClientError, Closed, denied, sent, Timeout } from "../ClientError.ts"
import type { Connection } from "../connection/Connection.ts"
import * as Elapsed from "../internal/Elapsed.ts"
import type { Reconnect } from "./Reconnect.ts"

export interface Options {
  readonly reconnect: Reconnect
  /** How often and when to try again. Without one nothing is sent again. */
  readonly policy: Policy | undefined
}

/** Something to be done on whatever connection there is. */
export interface RetriableRequest<A, R> {
  readonly attempt: (connection: Connection) => Effect.Effect<A, ClientError, R>
  /** Whether the server may see it twice. */
  readonly safe: boolean
  /** When the caller wants no answer any more; it may move while the request runs. */
  readonly deadline?: Deadline | undefined
  /** How long it waits for another connection, and then for a second one. Default: until the deadline. */
  readonly reconnectTimeout?: Duration.Input | undefined
}

export interface Deadline {
  readonly method: string
  /** In milliseconds of `Elapsed`; infinite for never. */
  readonly at: () => number
}

/** How the last try failed, and where; and how often by now a new session seemed to be what it takes. */
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
    return Effect.fail(new Timeout({ method, message: `${method} was not answered in time` }))
  })

/** What is waited for goes on without this request: the next one may find a connection. */
const withinReconnectTimeout = (
  { reconnectTimeout }: Pick<RetriableRequest<never, never>, "reconnectTimeout">,
  connection: Effect.Effect<Connection, Closed>
) =>
  reconnectTimeout === undefined
    ? connection
    : Effect.timeoutOrElse(connection, {
        duration: reconnectTimeout,
        orElse: () =>
          Effect.fail(new Closed({ message: "The connection was lost, and there is no other yet", unsent: true }))
      })

/** By 404 a server says that the session is gone. By another status it may mean what a new session does not help against. */
const mayBeExpiredSession = ({ cause }: Closed): boolean =>
  cause?.reason === "SessionLost" && cause.status !== undefined && cause.status !== 404

const failure = (closed: Closed, connection: Connection, before?: Failed): Failed => ({
  closed,
  connection,
  forgotten: (before?.forgotten ?? 0) + (mayBeExpiredSession(closed) ? 1 : 0)
})

/** Sends at once what it is given, and has it sent again where it may. */
export const make = ({ policy, reconnect }: Options) => {
  const attempts = policy?.attempts ?? defaultAttempts
  const resends = policy?.resends ?? defaultResends

  /** What is left to do after `tried` tries, of which the server may have seen `seen`. */
  const again = <A, R>(
    sending: RetriableRequest<A, R>,
    tried: number,
    seen: number,
    failed: Failed | undefined
  ): Effect.Effect<A, ClientError, R> =>
    // What ended the exchange may be the end of the connection, which is told in the same breath.
    Effect.flatMap(failed === undefined ? Effect.void : Effect.yieldNow, () => {
      if (failed !== undefined) {
        const { closed, forgotten } = failed
        const most = sending.reconnectTimeout === undefined ? attempts : Math.min(attempts, 2)
        const hopeless = tried >= most || isPermanent(closed) || seen > (sending.safe ? resends : 0) || forgotten > 1
        if (hopeless) return Effect.fail(closed)
      }
      // The next connection has waits of its own.
      const pause = failed !== undefined && reconnect.survives(failed.connection, failed.closed) ? tried + 1 : 0
      const connection = withinReconnectTimeout(sending, Effect.andThen(wait(pause, policy ?? {}), reconnect.acquire))
      return Effect.flatMap(seen === 0 ? connection : Effect.mapError(connection, sent), (connection) =>
        Effect.catchTag(sending.attempt(connection), "Closed", (closed) =>
          again(sending, tried + 1, closed.unsent === true ? seen : seen + 1, failure(closed, connection, failed))
        )
      )
    })

  const patient = <A, R>(sending: RetriableRequest<A, R>, rest: Effect.Effect<A, ClientError, R>) =>
    sending.deadline === undefined ? rest : Effect.raceFirst(rest, expire(sending.deadline))

  return <A, R>(sending: RetriableRequest<A, R>): Effect.Effect<A, ClientError, R> => {
    const connection = reconnect.latest()
    if (policy === undefined) return Effect.mapError(sending.attempt(connection), denied)
    if (!reconnect.isOpen()) return Effect.mapError(patient(sending, again(sending, 0, 0, undefined)), denied)
    return Effect.catchTag(sending.attempt(connection), "Closed", (closed) => {
      const rest = again(sending, 1, closed.unsent === true ? 0 : 1, failure(closed, connection))
      return Effect.mapError(patient(sending, rest), denied)
    })
  }
}
