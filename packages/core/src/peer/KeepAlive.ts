/** Pings of the other side, so that a dead connection is noticed (spec: basic/utilities/ping). */
import type { Peer } from "./types.ts"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { TransportError } from "../transport/Transport.ts"

/** When to ping, and when to give up. */
export interface KeepAlive {
  /** The pause between pings. */
  readonly every: Duration.Input
  /** How long a ping may take. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** How many pings in a row must fail to end the conversation. Default 3. */
  readonly failures?: number | undefined
}

/** Sends one ping and waits for its answer. */
export type Ping = (options: {
  readonly timeout: Duration.Input
}) => Effect.Effect<unknown, { readonly message: string }>

/** Pings until too many in a row fail, and then aborts the peer. `ping`: the request to send, for revisions without the method. */
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
  const aborted = Effect.sync(() =>
    peer.abort(new TransportError({ reason: "KeepAlive", message: "The other side does not answer pings" }))
  )
  // Not `Effect.repeat`: with the schedules that it imports it is half a KiB of a small program.
  const next: Effect.Effect<void> = Effect.flatMap(Effect.andThen(Effect.sleep(every), once), (count) =>
    count >= failures ? aborted : next
  )
  return next
}
