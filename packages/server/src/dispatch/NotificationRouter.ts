/** Routes client notifications, with or without a session, to middleware and to extension handlers. */
import type { Envelope } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isOfRequest } from "@effect-mcp/protocol/MethodInfo"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { InboundHooks } from "../features/InboundHooks.ts"
import type { Features } from "../features/Features.ts"
import { ofSession, type PostedOptions, PostingCallers } from "../session/Sender.ts"
import type { Session } from "../session/Session.ts"
import { type ClientOf, ExtensionNotifications } from "./ExtensionNotifications.ts"

/**
 * Passes one notification to the hooks and to its extension's handler. Notifications from one caller are handled in
 * order. If too many are waiting, new ones are dropped.
 */
export type Receive = (notification: JsonRpc.Notification, envelope: Envelope, options?: PostedOptions) => void

export interface Options {
  readonly features: Features
  readonly clientOf: ClientOf
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

export class NotificationRouter {
  private readonly hooks: InboundHooks
  private readonly own: ExtensionNotifications
  private readonly callers: PostingCallers
  private readonly runFork: Options["runFork"]

  constructor({ clientOf, features, runFork }: Options) {
    this.hooks = features.middleware.inbound
    this.own = new ExtensionNotifications({ extensions: features.extensions, clientOf })
    this.callers = new PostingCallers(runFork)
    this.runFork = runFork
  }

  /** Interrupts the handlers of posted notifications. */
  get end(): Effect.Effect<void> {
    return this.callers.end
  }

  /**
   * Routes a notification from a session. `handle` is the server's own handler, for notifications that do not belong to
   * an extension.
   */
  receive(session: Session, notification: JsonRpc.Notification, envelope: Envelope, handle: () => void): void {
    const { hooks, own } = this
    const handled = (): void => {
      const reason = own.has(notification) ? own.receive(ofSession(session, envelope), notification) : undefined
      if (reason === undefined) handle()
      else this.dropped(reason)
    }
    if (!hooks.concerns(session)) return handled()
    if (!hooks.notification(notification, ofSession(session, envelope), handled)) this.tooMany(notification)
  }

  readonly posted: Receive = (notification, envelope, options = {}) => {
    if (isOfRequest(notification.method)) return
    const { callers, hooks, own } = this
    const sender = callers.senderOf(envelope, options)
    const handle = (): void => {
      const reason = own.receive(sender, notification)
      if (reason !== undefined) this.dropped(reason)
    }
    if (!hooks.concerns(sender.mailboxes)) return handle()
    if (!hooks.notification(notification, sender, handle)) this.tooMany(notification)
  }

  private tooMany({ method }: JsonRpc.Notification): void {
    this.dropped(`Too many notifications are waiting for middleware: ${excerpt(method)}`)
  }

  private dropped(reason: string): void {
    this.runFork(Effect.logDebug(`Dropped: ${reason}`))
  }
}
