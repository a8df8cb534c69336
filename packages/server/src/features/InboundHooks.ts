/**
 * Code around every message that arrives, before anything of it is decoded: also `initialize`, `ping`, notifications and methods that the
 * server does not know. `Middleware.inbound` registers it; without any, no message passes this module.
 */
import { effectOf } from "@effect-mcp/core/internal/callback"
import { inOwnFiber } from "@effect-mcp/core/internal/eager"
import { HandlerContext } from "@effect-mcp/core/internal/HandlerContext"
import * as Spans from "@effect-mcp/core/internal/Spans"
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

/** A message that arrived, as it is on the wire. All of it is text of the client. */
export interface Arrival {
  readonly message: JsonRpc.Request | JsonRpc.Notification
  readonly envelope: Envelope
  /** The caller, as the transport knows it. */
  readonly principal: Principal["Service"]
  /** Undefined for a POST without a session. */
  readonly session: Session | undefined
  /** What may be sent beside the answer. Nothing is sent for a request that has ended. */
  readonly outbound: Outbound
}

/**
 * Answers a message: by `next`, as the server does, or by itself. `next` of a request gives the result on the wire; of a method that the
 * server does not know it fails with -32601. The result for a notification is ignored, and its failure is logged.
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

/** A hook with the services of its layer and a Scope of its own; `next` runs in the context that it was made for. */
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
  /** Whether the message was handled. */
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

/** The hooks of a server, the first registered outermost. */
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
   * `next` answers the request, with the hooks around it. Hooks can be interrupted, and an answer that replaces a stopped handler needs a
   * fiber that was not: so `next` has its own.
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

  /** Whether a notification of the sender passes here: there are hooks, or earlier ones wait for a hook that is gone. */
  concerns({ hookMailbox }: Mailboxes): boolean {
    return !this.isEmpty || hookMailbox?.isBusy === true
  }

  /** Runs the hooks after those of earlier notifications of the sender. False where too many wait: then it is dropped. */
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
