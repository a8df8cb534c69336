/**
 * Resources on one upstream connection whose updates are forwarded to the session of its downstream client.
 *
 * Owns one watcher per subscribed URI. Drops updates of a URI after it was unsubscribed from, which a server may still send.
 */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { Client } from "@effect-mcp/client/McpClient"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Maximum number of unsubscribed URIs to remember. Limited, because clients choose them. */
const maxUnsubscribed = 1024

interface Watched {
  fiber: Fiber.Fiber<void> | undefined
}

/** Sends a notification to a client's session once there is room for it. */
export const notify = (connection: RequestConnection, method: string, params?: { readonly [key: string]: unknown }) =>
  Effect.andThen(
    connection.ready,
    Effect.sync(() => connection.notify(method, params))
  )

export class ResourceUpdates {
  private readonly watched = new Map<string, Watched>()
  private readonly unsubscribed = new BoundedMap<string, true>(maxUnsubscribed)
  private readonly client: Client
  private readonly scope: Scope.Scope

  constructor(client: Client, scope: Scope.Scope) {
    this.client = client
    this.scope = scope
  }

  /** Starts to notify the session of every update to the resource. Every update after this returns is forwarded. */
  subscribe(connection: RequestConnection, uri: string): Effect.Effect<void, ClientError> {
    return Effect.suspend(() => {
      this.unsubscribed.delete(uri)
      if (this.watched.has(uri)) return Effect.void
      const established = Deferred.makeUnsafe<void, ClientError>()
      const watched: Watched = { fiber: undefined }
      this.watched.set(uri, watched)
      const relaying = Effect.onExit(this.relay(connection, uri, established), (exit) =>
        Effect.sync(() => {
          // A newer subscription to the same URI may have replaced this one.
          if (this.watched.get(uri) === watched) this.watched.delete(uri)
          if (Exit.isFailure(exit)) Deferred.doneUnsafe(established, exit)
        })
      )
      return Effect.flatMap(Effect.forkIn(Effect.ignore(relaying), this.scope), (fiber) => {
        watched.fiber = fiber
        return Deferred.await(established)
      })
    })
  }

  unsubscribe(uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const fiber = this.watched.get(uri)?.fiber
      if (this.watched.delete(uri)) this.unsubscribed.set(uri, true)
      // Without subscriptions, no updates arrive.
      if (this.watched.size === 0) this.unsubscribed.clear()
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })
  }

  /** Runs for the lifetime of the subscription. `established` completes with its first event. */
  private relay(
    connection: RequestConnection,
    uri: string,
    established: Deferred.Deferred<void, ClientError>
  ): Effect.Effect<void, ClientError> {
    return Stream.runForEach(this.client.watchResource(uri), (event) =>
      Effect.flatMap(
        event._tag === "Watching" ? Deferred.succeed(established, undefined) : Effect.succeed(false),
        (isFirst) =>
          // Every later `Watching` means that an update may have been missed.
          isFirst || this.unsubscribed.has(event.uri)
            ? Effect.void
            : notify(connection, "notifications/resources/updated", { uri: event.uri })
      )
    )
  }
}
