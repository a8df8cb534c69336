/** Pings the other side so that a dead connection is noticed (spec: basic/utilities/ping). */
import type { Peer } from "./types.ts"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { TransportError } from "../transport/Transport.ts"

export interface KeepAlive {
  readonly every: Duration.Input
  /** How long one ping may take. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Pings in a row that may fail before the connection is given up. Default 3. */
  readonly failures?: number | undefined
}

/** Asks the smallest question there is. */
export type Ping = (options: {
  readonly timeout: Duration.Input
}) => Effect.Effect<unknown, { readonly message: string }>

/** Runs until too many pings in a row stay unanswered; then the conversation is over. `ping`: where there is no such method. */
export const keepAlive = (
  peer: Peer,
  options: KeepAlive,
  ping: Ping = (pinging) => peer.request("ping", undefined, pinging)
): Effect.Effect<void> => {
  const { every, timeout = "10 seconds", failures = 3 } = options
  let failed = 0
  const once = Effect.matchEffect(ping({ timeout }), {
    onFailure: (error: { readonly message: string }) =>
      Effect.map(Effect.logWarning(`A ping failed: ${error.message}`), () => ++failed),
    onSuccess: () => Effect.sync(() => (failed = 0))
  })
  return Effect.andThen(Effect.sleep(every), once).pipe(
    Effect.repeat({ until: (count) => count >= failures }),
    Effect.andThen(
      Effect.sync(() =>
        peer.abort(new TransportError({ reason: "KeepAlive", message: "The other side does not answer pings" }))
      )
    )
  )
}
