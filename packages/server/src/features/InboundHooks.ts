/**
 * Hooks around every incoming message, before any of it is decoded. They also see `initialize`, `ping`, notifications
 * and unknown methods. `Middleware.inbound` registers them; without a hook, no message passes through this module.
 */
import { effectOf, inOwnFiber } from "@effect-mcp/core/internal/calling"
import { HandlerContext } from "@effect-mcp/core/internal/handlers"
import { Spans } from "@effect-mcp/core/internal/peers"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Outbound } from "@effect-mcp/core/RequestContext"
import type { Envelope } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Mailbox, type Mailboxes } from "../internal/Mailbox.ts"
import { type NotificationSender, sizeOf } from "../session/Sender.ts"
import type { Session } from "../session/Session.ts"
import { Registry } from "./Registry.ts"

/** An incoming message in wire form. The client controls all of its text. */
export interface Arrival {
  readonly message: JsonRpc.Request | JsonRpc.Notification
  readonly envelope: Envelope
  /** The caller, as the transport authenticated it. */
  readonly principal: Principal["Service"]
  /** `undefined` for a POST without a session. */
  readonly session: Session | undefined
  /** Sends messages along with the answer. Messages for a request that has ended are dropped. */
  readonly outbound: Outbound
}

/**
 * Answers a message, either by calling `next` or by itself. For a request, `next` returns the result on the wire, and
 * fails with -32601 if the server does not know the method. For a notification, the result is ignored and a failure is
 * logged.
 */
export type InboundHook<R = never> = (
  arrival: Arrival,
  next: Effect.Effect<unknown, McpError.McpError>
) => Effect.Effect<unknown, McpError.McpError, R>

type Answer = Effect.Effect<unknown, McpError.McpError>

interface Entry {
  readonly key: string
  readonly hook: (arrival: Arrival, next: Answer) => Answer
}

/** Provides a hook with its layer's services and a new Scope per message. `next` runs in the context that it was created for. */
export const hookOf = <R>(
  inbound: InboundHook<R>,
  services: Context.Context<Exclude<R, Scope.Scope>>
): Entry["hook"] => {
  const context = new HandlerContext<R, Scope.Scope>(services, { forwardsLogs: false })
  return (arrival, next) =>
    Effect.contextWith((ambient: Context.Context<never>) => {
      const outer = new HandlerContext<never, never>(ambient, { forwardsLogs: false })
      return Effect.scoped(context.provide(effectOf("Middleware.inbound", () => inbound(arrival, outer.provide(next)))))
    })
}

class Received implements Arrival {
  readonly message: Arrival["message"]
  readonly envelope: Envelope
  readonly principal: Principal["Service"]
  readonly session: Session | undefined
  readonly outbound: Outbound
  /** True once the message has been handled. */
  over = false

  constructor(
    message: Arrival["message"],
    envelope: Envelope,
    principal: Principal["Service"],
    session: Session | undefined,
    outbound: (isOver: () => boolean) => Outbound
  ) {
    this.message = message
    this.envelope = envelope
    this.principal = principal
    this.session = session
    this.outbound = outbound(() => this.over)
  }
}

const requestOf = (
  received: ReceivedRequest,
  principal: Principal["Service"],
  session: Session | undefined,
  closing: Effect.Effect<void>
): Received => {
  const { envelope, request, sink } = received
  return new Received(request, envelope, principal, session, (isOver) => ({
    notify: (method, params) => {
      if (isOver() || received.cancelled === true) return
      Spans.notify(sink, JsonRpc.notification(method, params), "data", request.id)
    },
    ready: sink.ready,
    isRead: () => sink.isRead?.() !== false,
    left: sink.left ?? Effect.never,
    closing,
    connection: session?.initializedConnection ?? session?.connection
  }))
}

const notificationOf = (
  notification: JsonRpc.Notification,
  { envelope, outbound, principal, session }: NotificationSender
): Received => new Received(notification, envelope, principal, session, () => outbound(true))

/** A server's hooks. The hook registered first is the outermost. */
export class InboundHooks {
  private readonly registry: Registry<Entry, never>
  private count = 0

  constructor(registry: Registry<Entry, never>) {
    this.registry = registry
  }

  static readonly make: Effect.Effect<InboundHooks> = Effect.map(
    Registry.make<Entry, never>("inbound middleware"),
    (registry) => new InboundHooks(registry)
  )

  get isEmpty(): boolean {
    return this.registry.isEmpty
  }

  register(hook: Entry["hook"]): Effect.Effect<void, never, Scope.Scope> {
    return Effect.suspend(() => {
      const key = `${++this.count}`
      return this.registry.register(key, { key, hook })
    })
  }

  /**
   * Answers the request with `next`, wrapped in the hooks. Hooks are interruptible, and a hook that answers in place of a stopped handler
   * needs a fiber that was not interrupted, so `next` runs in a separate fiber.
   */
  request(
    received: ReceivedRequest,
    principal: Principal["Service"],
    session: Session | undefined,
    closing: Effect.Effect<void>,
    next: () => Answer
  ): Answer {
    const arrival = requestOf(received, principal, session, closing)
    return Effect.interruptible(this.around(arrival, inOwnFiber(Effect.suspend(next))))
  }

  /**
   * True if a notification of the sender must be queued here: there are hooks, or earlier notifications wait for a hook that was removed.
   */
  concerns({ hookMailbox }: Mailboxes): boolean {
    return !this.isEmpty || hookMailbox?.isBusy === true
  }

  /** Runs the hooks, after the sender's earlier notifications. Returns false and drops the notification if too many are waiting. */
  notification(notification: JsonRpc.Notification, sender: NotificationSender, handle: () => void): boolean {
    const { mailboxes, waiting } = sender
    const queue = (mailboxes.hookMailbox ??= new Mailbox(waiting))
    const handled = this.around(notificationOf(notification, sender), Effect.sync(handle)).pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.logError(`The middleware around ${JSON.stringify(notification.method.slice(0, 128))} failed`, cause)
      ),
      Effect.asVoid
    )
    return queue.push(
      handled,
      () => sizeOf(notification),
      (effect) => sender.fork(effect)
    )
  }

  private around(arrival: Received, next: Answer): Answer {
    return Effect.suspend(() => {
      let run = next
      for (const { key } of this.registry.entries.toReversed()) {
        const inner = run
        run = this.registry.hold(
          key,
          ({ hook }) => hook(arrival, inner),
          () => inner
        )
      }
      return Effect.ensuring(
        run,
        Effect.sync(() => (arrival.over = true))
      )
    })
  }
}
