/**
 * The client's `subscriptions/listen` requests (spec 2026-07-28: basic/patterns/subscriptions). Each one runs in a separate fiber until its
 * scope closes.
 */
import type { Peer } from "@effect-mcp/core/Peer"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import { AcknowledgedParams, type SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type ClientError, Closed, InvalidResult, Timeout } from "../ClientError.ts"

const coder = Codecs.coder<AcknowledgedParams>(verbatim(AcknowledgedParams))

export interface ListenSubscription {
  /** Notifications that the server has agreed to send. */
  readonly granted: SubscriptionFilter & JsonObject
  /** Completes when the server or the connection ends the subscription. */
  readonly ended: Effect.Effect<Closed>
}

interface Open {
  readonly told: ((notification: JsonRpc.Notification) => void) | undefined
  readonly acknowledged: Deferred.Deferred<SubscriptionFilter, ClientError>
  readonly ended: Deferred.Deferred<Closed>
}

export class Listening {
  private readonly open = new Map<unknown, Open>()
  private readonly peer: Peer
  private readonly meta: () => JsonObject
  private readonly timeout: Duration.Input

  /** `timeout` limits the wait for the acknowledgement, not the subscription. */
  constructor(peer: Peer, meta: () => JsonObject, timeout: Duration.Input) {
    this.peer = peer
    this.meta = meta
    this.timeout = timeout
  }

  /**
   * Subscribes, and returns when the server has acknowledged. The reader calls `told` with each of the subscription's notifications,
   * starting with the acknowledgement.
   */
  listen(
    filter: SubscriptionFilter & JsonObject,
    told?: (notification: JsonRpc.Notification) => void
  ): Effect.Effect<ListenSubscription, ClientError, Scope.Scope> {
    return Effect.suspend(() => {
      const entry: Open = { told, acknowledged: Deferred.makeUnsafe(), ended: Deferred.makeUnsafe() }
      let id: JsonRpc.Id | undefined
      const options = {
        cancellable: true,
        onSend: (sent: JsonRpc.Id) => {
          // Middleware may send it again.
          this.open.delete(id)
          id = sent
          this.open.set(sent, entry)
        }
      }
      const endedByServer = Effect.map(Deferred.await(entry.ended), () => {
        // A subscription that the server has ended is not cancelled, because a cancellation must name a request in flight.
        options.cancellable = false
      })
      const params = { notifications: filter, _meta: this.meta() }
      const run = this.peer.request("subscriptions/listen", params, options).pipe(
        Effect.raceFirst(endedByServer),
        Effect.onExit((exit) => Effect.sync(() => this.finish(id, entry, exit))),
        Effect.exit
      )
      const late = Effect.fail(
        new Timeout({
          method: "subscriptions/listen",
          message: "Timed out waiting for the server to acknowledge the subscription"
        })
      )
      return Effect.andThen(
        Effect.forkScoped(run, { startImmediately: true }),
        Effect.timeoutOrElse(Deferred.await(entry.acknowledged), { duration: this.timeout, orElse: () => late })
      ).pipe(Effect.map((granted) => ({ granted, ended: Deferred.await(entry.ended) })))
    })
  }

  private finish(id: JsonRpc.Id | undefined, entry: Open, exit: Exit.Exit<unknown, ClientError>): void {
    this.open.delete(id)
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
    Deferred.doneUnsafe(entry.acknowledged, Exit.isFailure(exit) ? Exit.failCause(exit.cause) : Effect.fail(over()))
    Deferred.doneUnsafe(entry.ended, Effect.succeed(error instanceof Closed ? error : over()))
  }

  /**
   * Returns `true` for notifications that are only handled here: acknowledgements, ends of subscriptions, and notifications for ended
   * subscriptions.
   */
  received(notification: JsonRpc.Notification): boolean {
    const { method, params } = notification
    if (method === "notifications/cancelled") {
      const entry = this.open.get(params?.requestId)
      if (entry !== undefined) Deferred.doneUnsafe(entry.ended, Effect.succeed(over()))
      return true
    }
    const id = isJsonObject(params?._meta) ? params._meta[subscriptionId] : undefined
    const entry = this.open.get(id)
    if (method === "notifications/subscriptions/acknowledged") {
      if (entry !== undefined && acknowledge(entry, params)) entry.told?.(notification)
      return true
    }
    if (entry === undefined) return id !== undefined
    entry.told?.(notification)
    return false
  }
}

const over = (): Closed => new Closed({ message: "The server ended the subscription" })

/** True if this acknowledgement is the first one and is valid. */
const acknowledge = ({ acknowledged }: Open, params: JsonRpc.Params | undefined): boolean => {
  const decoded = Effect.mapBoth(coder.decode(params), {
    onFailure: (message) =>
      new InvalidResult({
        method: "subscriptions/listen",
        message: `The server sent an invalid acknowledgement: ${message}`,
        result: params
      }),
    onSuccess: ({ notifications }) => notifications
  })
  const exit = Effect.runSyncExit(decoded)
  return Deferred.doneUnsafe(acknowledged, exit) && Exit.isSuccess(exit)
}
