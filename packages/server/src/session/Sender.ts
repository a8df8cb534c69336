/**
 * The sender of a client notification: a session, or a caller's POSTs without a session.
 *
 * Owns the fibers that handle notifications posted without a session.
 */
import { Fibers } from "@effect-mcp/core/internal/inFlight"
import * as Principal from "@effect-mcp/core/Principal"
import type { Outbound } from "@effect-mcp/core/RequestContext"
import type { Envelope } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { inertOutbound } from "../internal/inertOutbound.ts"
import { type Mailbox, type Mailboxes, MailboxLoad } from "../internal/Mailbox.ts"
import type { NegotiatedSession, Session } from "./Session.ts"

export interface NotificationSender {
  /** Mailboxes for messages that are handled in order. */
  readonly mailboxes: Mailboxes
  readonly principal: Principal.Principal["Service"]
  readonly envelope: Envelope
  readonly session: Session | undefined
  /** The client's declaration, or `undefined` if it is in the message or missing. */
  readonly negotiated: NegotiatedSession | undefined
  /** Creates the outbound for replies, which sends notifications only if `mayNotify`. */
  readonly outbound: (mayNotify: boolean) => Outbound
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Load that senders of the same kind share, or `undefined` if each sender has only its own limit. */
  readonly waiting: MailboxLoad | undefined
}

/** Returns the size of a waiting message, in characters of JSON. */
export const sizeOf = (message: JsonRpc.Notification): number => JSON.stringify(message).length

export const ofSession = (session: Session, envelope: Envelope): NotificationSender => ({
  mailboxes: session,
  principal: envelope.principal ?? session.principal,
  envelope,
  session,
  negotiated: session.negotiated,
  outbound: (mayNotify) => ({
    notify: mayNotify ? (method, params) => session.notify(method, params) : () => {},
    ready: session.connection.ready,
    isRead: session.connection.isRead,
    left: session.connection.left,
    closing: session.closing,
    connection: session.initializedConnection ?? session.connection
  }),
  fork: (effect) => session.fork(effect),
  waiting: undefined
})

/** A caller of POSTs without a session. Exists while any of its notifications is being handled. */
class Caller implements Mailboxes {
  running = 0
  hookMailbox: Mailbox | undefined = undefined
  extensionMailbox: Mailbox | undefined = undefined
}

/** For all callers together: sixteen times the limit of one caller. */
const maxCount = 16 * 1024
const maxSize = 64 * 1024 * 1024

export interface PostedOptions {
  /** The client's network address, which distinguishes anonymous callers. */
  readonly address?: string | undefined
  /** Completes when the endpoint is about to stop. By default it never completes. */
  readonly closing?: Effect.Effect<void> | undefined
  /** The client's declaration, if its messages do not contain it (revisions up to 2025-11-25). */
  readonly negotiated?: NegotiatedSession | undefined
}

/** Callers that send POSTs without a session. */
export class PostingCallers {
  private readonly callers = new Map<string, Caller>()
  private readonly waiting = new MailboxLoad(maxCount, maxSize)
  private readonly fibers = new Fibers()
  private readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>

  constructor(runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.runFork = runFork
  }

  /** Interrupts all running handlers. */
  get end(): Effect.Effect<void> {
    return this.fibers.end
  }

  senderOf(envelope: Envelope, { address, closing = Effect.never, negotiated }: PostedOptions): NotificationSender {
    const principal = envelope.principal ?? Principal.anonymous
    // Callers without a name or an address cannot be distinguished.
    const key = Principal.callerKey(principal, address) ?? ""
    const caller = this.callers.get(key) ?? new Caller()
    return {
      mailboxes: caller,
      principal,
      envelope,
      session: undefined,
      negotiated,
      outbound: () => ({ ...inertOutbound, closing }),
      fork: (effect) => this.fork(key, caller, effect),
      waiting: this.waiting
    }
  }

  private fork(key: string, caller: Caller, effect: Effect.Effect<void>): void {
    caller.running++
    this.callers.set(key, caller)
    const fiber = this.runFork(effect)
    this.fibers.add(fiber)
    fiber.addObserver(() => {
      caller.running--
      if (caller.running === 0) this.callers.delete(key)
    })
  }
}
