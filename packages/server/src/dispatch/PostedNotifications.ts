/** Handles notifications that are posted without a session: what an HTTP endpoint calls for each. They have no answer. */
import type { Envelope } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isOfRequest } from "@effect-mcp/protocol/MethodInfo"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { InboundHooks } from "../features/InboundHooks.ts"
import { type PostedOptions, PostingCallers } from "../session/Sender.ts"
import type { OwnNotifications } from "./OwnNotifications.ts"

/**
 * Hands one notification to the hooks and to the handler of its extension. Those of one caller are handled one after the other; of too many
 * that wait the newest is dropped.
 */
export type Receive = (notification: JsonRpc.Notification, envelope: Envelope, options?: PostedOptions) => void

export interface Options {
  readonly inbound: InboundHooks
  readonly own: OwnNotifications
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

/** What is handled is interrupted at the end of the scope. */
export const make = Effect.fnUntraced(function* ({
  inbound,
  own,
  runFork
}: Options): Effect.fn.Return<Receive, never, Scope.Scope> {
  const callers = new PostingCallers(runFork)
  yield* Effect.addFinalizer(() => callers.end)
  const dropped = (reason: string): void => void runFork(Effect.logDebug(`Dropped: ${reason}`))
  return (notification, envelope, options = {}) => {
    if (isOfRequest(notification.method)) return
    const sender = callers.senderOf(envelope, options)
    const handle = (): void => {
      const reason = own.receive(sender, notification)
      if (reason !== undefined) dropped(reason)
    }
    if (!inbound.concerns(sender.mailboxes)) return handle()
    if (inbound.notification(notification, sender, handle)) return
    dropped(`Too many notifications wait for middleware: ${excerpt(notification.method)}`)
  }
})
