/**
 * Streams a list's changes: subscribes to the server, and resubscribes each time the subscription ends.
 *
 * Emits a change after resubscribing, because a change may have been missed. Ends when the server rejects the subscription. Waits for the
 * next connection if none can be opened.
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Backoff, type RetryPolicy } from "../connection/Backoff.ts"
import type { ClientError } from "../ClientError.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import type { Hub } from "../internal/Hub.ts"
import * as Resubscribe from "../reconnect/Resubscribe.ts"

export interface Options {
  readonly conversation: Pick<ReconnectingConnection, "subscribeLists" | "reconnect">
  readonly hub: Hub<void>
  readonly policy: RetryPolicy | undefined
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
}

export const stream = ({ conversation, dropped, hub, policy }: Options): Stream.Stream<void> =>
  // Listens first, so that no change right after the start is missed.
  Stream.unwrap(
    Effect.map(hub.subscribe(1), (changes) => {
      const { subscribeLists: subscribe, reconnect } = conversation
      const backoff = policy === undefined ? undefined : new Backoff(policy)
      const renewed = Stream.callback<void>(
        (queue) => {
          const tell = (again: boolean): void => void (again && Queue.offerUnsafe(queue, undefined))
          const lasting = (again: boolean): Effect.Effect<never, ClientError> =>
            Effect.catchTag(
              Resubscribe.keep({ subscribe, onSubscribed: (renewed) => tell(again || renewed), backoff }),
              "Closed",
              (closed) => (reconnect.isOpen() ? Effect.fail(closed) : Effect.andThen(reconnect.reopened, lasting(true)))
            )
          return Effect.catch(lasting(false), (error) => {
            if (error._tag !== "Closed") dropped(`The server will not announce list changes: ${error.message}`, "Warn")
            return Queue.end(queue)
          })
        },
        { bufferSize: 1, strategy: "sliding" }
      )
      const announced = Stream.map(Stream.fromQueue(changes), () => backoff?.succeeded())
      return Stream.merge(announced, renewed, { haltStrategy: "either" })
    })
  )
