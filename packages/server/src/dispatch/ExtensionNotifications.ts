/**
 * Client notifications that extensions define. Each session, and each caller that POSTs without a session, has a
 * mailbox that runs handlers in order.
 *
 * A notification never receives a response. If it is rejected, or too many are waiting, it is dropped and the reason is
 * logged.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { ExtensionSet } from "../features/ExtensionRegistry.ts"
import { Mailbox } from "../internal/Mailbox.ts"
import * as Detached from "../request/Detached.ts"
import { type NotificationSender, sizeOf } from "../session/Sender.ts"
import type { NegotiatedSession } from "../session/Session.ts"
import { undeclared } from "./ExtensionMethods.ts"

/** Returns the client's declaration, from its session or from the notification, or `undefined` if neither has one. */
export type ClientOf = (sender: NotificationSender, notification: JsonRpc.Notification) => NegotiatedSession | undefined

export interface Options {
  readonly extensions: ExtensionSet
  readonly clientOf: ClientOf
}

const noParams: JsonObject = {}
const unasked = ClientInput.unavailable("Notification handlers cannot ask questions in this revision")

export class ExtensionNotifications {
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  has({ method }: JsonRpc.Notification): boolean {
    return this.options.extensions.notification(method) !== undefined
  }

  /** Returns why the notification was dropped, or `undefined` if a handler receives it or no extension defines it. */
  receive(sender: NotificationSender, notification: JsonRpc.Notification): string | undefined {
    const { clientOf, extensions } = this.options
    const { method } = notification
    const owned = extensions.notification(method)
    if (owned === undefined) return undefined
    const client = clientOf(sender, notification)
    if (client === undefined)
      return `${excerpt(method)} arrived before initialize, or without the client's declaration in _meta`
    const { clientCapabilities: capabilities, revision } = client
    const { extension } = owned
    const { mailboxes, principal, session, waiting } = sender
    const duplex = session?.duplex === true
    const isOffered = Extension.isIn(extension, revision) && extension.offered({ principal, revision, duplex })
    if (!isOffered || undeclared(extension, method, { capabilities, revision }) !== undefined) {
      return `${excerpt(method)} belongs to an extension that the client did not declare`
    }
    const mailbox = (mailboxes.extensionMailbox ??= new Mailbox(waiting))
    const pushed = mailbox.push(
      this.handled(sender, notification, { ...client, principal }),
      () => sizeOf(notification),
      (effect) => sender.fork(effect)
    )
    return pushed ? undefined : `Too many notifications are waiting for their handlers: ${excerpt(method)}`
  }

  private handled(
    { envelope, outbound, session }: NotificationSender,
    { method, params = noParams }: JsonRpc.Notification,
    client: Pick<Detached.Facts, "clientCapabilities" | "clientInfo" | "principal" | "revision">
  ): Effect.Effect<void> {
    const { _meta: meta, ...rest } = params
    const isStateful = client.revision.era === "stateful"
    const sent = outbound(isStateful)
    const facts: Detached.Facts = {
      ...client,
      id: "",
      method,
      meta: isJsonObject(meta) ? meta : noParams,
      sessionId: isStateful ? session?.id : undefined
    }
    // A handler is held only while it runs, so a dropped notification never holds one.
    const receive = Effect.suspend(() => this.options.extensions.receive(method, rest))
    const received = Detached.provide(receive, facts, {
      input: (isStateful ? sent.connection?.input : undefined) ?? unasked,
      outbound: sent,
      envelope
    })
    return Effect.catchCause(received, (cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.void
      const refused = cause.reasons.find(Cause.isFailReason)
      return refused === undefined
        ? Effect.logError(`The handler for ${method} threw an unexpected error`, cause)
        : Effect.logDebug(`Dropped: ${excerpt(refused.error.message)}`)
    })
  }
}
