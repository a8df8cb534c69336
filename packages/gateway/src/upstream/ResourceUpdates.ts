/**
 * The resources of one conversation whose updates are passed on to the session of its downstream client.
 *
 * Owns one watcher per subscribed URI. Refuses updates of a URI that was unsubscribed from, which a server may still send.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { Client } from "@effect-mcp/client/McpClient"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How many URIs that were unsubscribed from are remembered, at most: clients choose them. */
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
  private readonly unsubscribed = new Set<string>()
  private readonly client: Client
  private readonly scope: Scope.Scope

  constructor(client: Client, scope: Scope.Scope) {
    this.client = client
    this.scope = scope
  }

  /** Notifies the session of every update of the resource, once this has returned. */
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
      if (this.watched.delete(uri)) this.unsubscribed.add(uri)
      const [oldest] = this.unsubscribed
      if (this.unsubscribed.size > maxUnsubscribed && oldest !== undefined) this.unsubscribed.delete(oldest)
      // Without subscriptions no update arrives.
      if (this.watched.size === 0) this.unsubscribed.clear()
      return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
    })
  }

  /** Runs for as long as the subscription; `established` completes with its first event. */
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
