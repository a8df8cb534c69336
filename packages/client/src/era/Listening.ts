/**
 * A client's `subscriptions/listen` requests (spec 2026-07-28: basic/patterns/subscriptions): each stands open in a fiber of its own
 * for as long as its scope.
 */
import type { Peer } from "@effect-mcp/core/Peer"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import { AcknowledgedParams, type SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { type ClientError, Closed, Timeout } from "../ClientError.ts"

const coder = Codecs.coder<AcknowledgedParams>(verbatim(AcknowledgedParams))

export interface Subscription {
  /** What the server will tell of. */
  readonly granted: SubscriptionFilter
  /** Completes when the server, or the connection, ends it. */
  readonly ended: Effect.Effect<Closed>
}

interface Open {
  readonly acknowledged: Deferred.Deferred<SubscriptionFilter, ClientError>
  readonly ended: Deferred.Deferred<Closed>
}

const closed = (message: string): Closed => new Closed({ message })

export class Listening {
  private readonly open = new Map<unknown, Open>()
  private readonly peer: Peer
  private readonly meta: () => JsonObject
  private readonly timeout: Duration.Input

  /** `timeout` bounds the wait for an acknowledgement, not the subscription. */
  constructor(peer: Peer, meta: () => JsonObject, timeout: Duration.Input) {
    this.peer = peer
    this.meta = meta
    this.timeout = timeout
  }

  /** Subscribes; returns when the server has acknowledged. */
  listen(filter: SubscriptionFilter): Effect.Effect<Subscription, ClientError, Scope.Scope> {
    return Effect.suspend(() => {
      const entry: Open = { acknowledged: Deferred.makeUnsafe(), ended: Deferred.makeUnsafe() }
      let id: JsonRpc.Id | undefined
      const params = { notifications: filter, _meta: this.meta() }
      const run = this.peer
        .request("subscriptions/listen", params, {
          onSend: (sent) => {
            id = sent
            this.open.set(sent, entry)
          }
        })
        .pipe(
          Effect.raceFirst(Deferred.await(entry.ended)),
          Effect.onExit((exit) =>
            Effect.sync(() => {
              this.open.delete(id)
              const reason = closed("The server ended the subscription")
              Deferred.doneUnsafe(
                entry.acknowledged,
                Exit.isFailure(exit) ? Exit.failCause(exit.cause) : Effect.fail(reason)
              )
              Deferred.doneUnsafe(entry.ended, Effect.succeed(reason))
            })
          ),
          Effect.exit
        )
      const late = Effect.fail(
        new Timeout({ method: "subscriptions/listen", message: "The subscription was not acknowledged in time" })
      )
      return Effect.andThen(
        Effect.forkScoped(run, { startImmediately: true }),
        Effect.timeoutOrElse(Deferred.await(entry.acknowledged), { duration: this.timeout, orElse: () => late })
      ).pipe(Effect.map((granted) => ({ granted, ended: Deferred.await(entry.ended) })))
    })
  }

  /** `true` for what concerns nobody else: acknowledgements, and the end of a subscription. */
  received({ method, params }: JsonRpc.Notification): boolean {
    if (method === "notifications/cancelled") {
      const entry = this.open.get(params?.requestId)
      if (entry !== undefined)
        Deferred.doneUnsafe(entry.ended, Effect.succeed(closed("The server ended the subscription")))
      return true
    }
    if (method !== "notifications/subscriptions/acknowledged") return false
    const id = isJsonObject(params?._meta) ? params._meta[subscriptionId] : undefined
    const entry = this.open.get(id)
    const decoded = Effect.runSyncExit(coder.decode(params))
    if (entry !== undefined && Exit.isSuccess(decoded)) {
      Deferred.doneUnsafe(entry.acknowledged, Effect.succeed(decoded.value.notifications))
    }
    return true
  }
}
