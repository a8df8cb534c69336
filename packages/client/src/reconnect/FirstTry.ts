/** The first try of a request, on the connection that there is; further ones are loaded when a first one fails (`RequestRetry`). */
import * as Effect from "effect/Effect"
import { type ClientError, Closed, denied } from "../ClientError.ts"
import type { Late } from "../internal/Late.ts"
import type * as RequestRetry from "./RequestRetry.ts"

type Parts = Pick<typeof RequestRetry, "retry">

export interface Options extends RequestRetry.Options {
  readonly late: Late<Parts>
}

const lost = new Closed({ message: "The connection was lost, and there is no other yet", unsent: true })

/** In a browser the module comes over the network that may have just failed: then the request has failed with its connection. */
const withRetry = <A, R>(
  { load, loaded }: Late<Parts>,
  closed: Closed,
  use: (parts: Parts) => Effect.Effect<A, ClientError, R>
): Effect.Effect<A, ClientError, R> => {
  const parts = loaded()
  if (parts !== undefined) return use(parts)
  return Effect.flatMap(
    Effect.mapError(load, () => denied(closed)),
    use
  )
}

/** Sends requests, and sends those again that are safe to repeat. */
export const make = (options: Options) => {
  const { late, policy, reconnect } = options
  return <A, R>(sending: RequestRetry.RetriableRequest<A, R>): Effect.Effect<A, ClientError, R> => {
    const connection = reconnect.latest()
    if (policy === undefined) return Effect.mapError(sending.attempt(connection), denied)
    if (!reconnect.isOpen()) return withRetry(late, lost, ({ retry }) => retry(options, sending))
    return Effect.catchTag(sending.attempt(connection), "Closed", (closed) =>
      withRetry(late, closed, ({ retry }) => retry(options, sending, { closed, connection }))
    )
  }
}
