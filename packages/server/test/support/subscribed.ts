/** Subscribing to one resource in either era: `resources/subscribe`, or `subscriptions/listen` (2026-07-28). */
import * as McpError from "@effect-mcp/protocol/McpError"
import { Effect, Fiber, type Scope } from "effect"
import { metaOf, version as latest } from "./modern.ts"
import type { Client } from "./raw.ts"

/** Waits until the messages that a client has received satisfy the condition. */
export const until = (condition: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (condition() ? Effect.void : Effect.andThen(Effect.yieldNow, until(condition))))

/** Ends a subscription. Does nothing if the server did not grant it. */
export type Unsubscribe = Effect.Effect<void>

/** Subscribes as a client of this revision does, and returns once the server has granted or refused it. */
export const subscribe = Effect.fnUntraced(function* (
  client: Client,
  version: string,
  uri: string
): Effect.fn.Return<Unsubscribe | undefined, never, Scope.Scope> {
  if (version !== latest) {
    const granted = yield* Effect.match(client.request("resources/subscribe", { uri }), {
      onSuccess: () => true,
      onFailure: (error) => {
        if (error instanceof McpError.McpError && error.code === -32002) return false
        throw error
      }
    })
    return granted ? Effect.ignore(client.request("resources/unsubscribe", { uri })) : undefined
  }
  const acknowledged = () => client.notes("notifications/subscriptions/acknowledged")
  const before = acknowledged().length
  const fiber = yield* Effect.forkScoped(
    client.peer.request("subscriptions/listen", {
      notifications: { resourceSubscriptions: [uri] },
      _meta: metaOf()
    }),
    { startImmediately: true }
  )
  yield* until(() => acknowledged().length > before)
  const granted = acknowledged().at(-1).params.notifications.resourceSubscriptions
  return granted === undefined ? undefined : Fiber.interrupt(fiber)
})

/** The URIs of the updates that the client received, oldest first. */
export const updates = (client: Client): ReadonlyArray<string> =>
  client.notes("notifications/resources/updated").map((note) => note.params.uri)
