/** The first try of a request, on the connection that there is; further ones are loaded when a first one fails (`RequestRetry`). */
import * as Effect from "effect/Effect"
import { type ClientError, denied } from "../ClientError.ts"
import { type Late, withParts } from "../internal/Late.ts"
import type * as RequestRetry from "./RequestRetry.ts"

export interface Options extends RequestRetry.Options {
  readonly late: Late<Pick<typeof RequestRetry, "retry">>
}

/** Sends requests, and sends those again that are safe to repeat. */
export const make = (options: Options) => {
  const { late, policy, reconnect } = options
  return <A, R>(sending: RequestRetry.RetriableRequest<A, R>): Effect.Effect<A, ClientError, R> => {
    const connection = reconnect.latest()
    if (policy === undefined) return Effect.mapError(sending.attempt(connection), denied)
    if (!reconnect.isOpen()) return withParts(late, ({ retry }) => retry(options, sending))
    return Effect.catchTag(sending.attempt(connection), "Closed", (closed) =>
      withParts(late, ({ retry }) => retry(options, sending, { closed, connection }))
    )
  }
}
