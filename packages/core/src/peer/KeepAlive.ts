/** Pings the other peer to detect dead connections (spec: basic/utilities/ping). */
import type { Peer } from "./types.ts"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { TransportError } from "../transport/Transport.ts"

/** When to ping, and when to give up. */
export interface KeepAlive {
  /** Interval between pings. */
  readonly every: Duration.Input
  /** How long to wait for a response. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Number of consecutive failed pings after which the connection is closed. Default 3. */
  readonly failures?: number | undefined
}

/** Sends a ping and waits for the response. */
export type Ping = (options: {
  readonly timeout: Duration.Input
}) => Effect.Effect<unknown, { readonly message: string }>

/**
 * Pings the other peer until too many consecutive pings fail, then aborts the connection. `ping` sends the request, for revisions without a
 * ping method.
 */
export const keepAlive = (
  peer: Peer,
  options: KeepAlive,
  ping: Ping = (pinging) => peer.request("ping", undefined, pinging)
): Effect.Effect<void> => {
  const { every, timeout = "10 seconds", failures = 3 } = options
  let failed = 0
  const once = Effect.matchEffect(ping({ timeout }), {
    onFailure: (error: { readonly message: string }) =>
      Effect.map(Effect.logWarning(`Ping failed: ${error.message}`), () => ++failed),
    onSuccess: () => Effect.sync(() => (failed = 0))
  })
  const aborted = Effect.sync(() =>
    peer.abort(new TransportError({ reason: "KeepAlive", message: "The other side is not responding to pings" }))
  )
  // Not `Effect.repeat`, because its schedules would add half a KiB to a small program.
  const next: Effect.Effect<void> = Effect.flatMap(Effect.andThen(Effect.sleep(every), once), (count) =>
    count >= failures ? aborted : next
  )
  return next
}
