/**
 * Where a notification of a client came from: a session, or POSTs without one, which belong together where they have one caller.
 *
 * Owns the fibers that handle what was posted without a session.
 */
import { Fibers } from "@effect-mcp/core/internal/Fibers"
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
  /** Where messages wait that are handled in order. */
  readonly mailboxes: Mailboxes
  readonly principal: Principal.Principal["Service"]
  readonly envelope: Envelope
  readonly session: Session | undefined
  /** What the client said of itself; undefined where the message says it, or nothing does. */
  readonly negotiated: NegotiatedSession | undefined
  /** What may be sent in return: notifications only where `mayNotify`. */
  readonly outbound: (mayNotify: boolean) => Outbound
  readonly fork: (effect: Effect.Effect<void>) => void
  /** What waits for senders of the same kind; undefined: each is bounded by itself. */
  readonly waiting: MailboxLoad | undefined
}

/** The size of a message that waits, in characters of JSON. */
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

/** A caller of POSTs without a session, for as long as any of its notifications is handled. */
class Caller implements Mailboxes {
  running = 0
  hookMailbox: Mailbox | undefined = undefined
  extensionMailbox: Mailbox | undefined = undefined
}

/** Of all callers together: sixteen times what one may have. */
const maxCount = 16 * 1024
const maxSize = 64 * 1024 * 1024

export interface PostedOptions {
  /** The network address of the client, which tells anonymous callers apart. */
  readonly address?: string | undefined
  /** Completes when the endpoint is about to stop. Default never. */
  readonly closing?: Effect.Effect<void> | undefined
  /** What is known of the client where its messages do not say it: revisions up to 2025-11-25. */
  readonly negotiated?: NegotiatedSession | undefined
}

/** The callers of POSTs without a session. */
export class PostingCallers {
  private readonly callers = new Map<string, Caller>()
  private readonly waiting = new MailboxLoad(maxCount, maxSize)
  private readonly fibers = new Fibers()
  private readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>

  constructor(runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>) {
    this.runFork = runFork
  }

  /** Interrupts what is handled. */
  get end(): Effect.Effect<void> {
    return this.fibers.end
  }

  senderOf(envelope: Envelope, { address, closing = Effect.never, negotiated }: PostedOptions): NotificationSender {
    const principal = envelope.principal ?? Principal.anonymous
    // Callers without a name and an address cannot be told apart.
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
