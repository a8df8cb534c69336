/** Subscriptions and cached results that a client keeps between stateless requests (2026-07-28). */
import type { Peer } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Subscriptions from "@effect-mcp/protocol/model/Subscriptions"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import { CapabilityMissing, type ClientError, Closed } from "../ClientError.ts"
import type { EraRequests } from "./Era.ts"
import { Listening, type ListenSubscription } from "./Listening.ts"
import type { Negotiated } from "./Negotiation.ts"
import { ResponseCache } from "./ResponseCache.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  /** Returns the declaration that every request includes in its `_meta`. */
  readonly meta: () => JsonObject
  /** How long to wait for an acknowledgement. */
  readonly timeout: Duration.Input
  /** Maximum number of cached results. */
  readonly cacheSize: number | undefined
  readonly cacheBytes: number | undefined
}

/** A result. If `retried` is true, it depends on answered questions and must not be cached. */
export interface Received<A> {
  readonly result: A
  readonly retried: boolean
}

export interface StatelessMemory extends Pick<EraRequests, "listen" | "subscribeLists"> {
  /** Subscribes to updates of a resource the server declared. */
  readonly subscribeResource: EraRequests["subscribeResource"]
  /** Returns the cached result if it is fresh, or else sends the request. With `fresh`, always sends the request. */
  readonly cached: <A>(
    method: string,
    params: unknown,
    fresh: boolean | undefined,
    send: () => Effect.Effect<Received<A>, ClientError>
  ) => Effect.Effect<A, ClientError>
  /** Handles a notification before any other part of the client does. Returns `true` if no other part needs it. */
  readonly received: (notification: JsonRpc.Notification) => boolean
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<StatelessMemory, never, Scope.Scope> {
  const { cacheBytes, cacheSize, meta, negotiated, peer, timeout } = options
  const cache = new ResponseCache(cacheSize, cacheBytes)
  const listening = new Listening(peer, meta, timeout)
  return {
    listen: (filter, received) => listening.listen(filter, received),
    subscribeResource: (uri, updated) => subscribeResource(listening, uri, updated),
    subscribeLists: yield* listSubscription(listening, negotiated),
    cached: (method, params, fresh, send) => cached(cache, method, params, fresh, send),
    received: (notification) => {
      forgetStale(cache, notification)
      return listening.received(notification)
    }
  }
})

/** Returns the cached result if it is fresh, or else sends the request. */
const cached = <A>(
  cache: ResponseCache,
  method: string,
  params: unknown,
  fresh: boolean | undefined,
  send: () => Effect.Effect<Received<A>, ClientError>
): Effect.Effect<A, ClientError> => {
  const sending = Effect.suspend(send)
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const known = cache.get(method, params, now)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only a result of this method was kept under this key
    if (known !== undefined && fresh !== true) return Effect.succeed(known as A)
    const generation = cache.generation(method)
    return Effect.flatMap(Effect.tapError(sending, discard(cache, method, params)), ({ result, retried }) =>
      Effect.map(Clock.currentTimeMillis, (received) => {
        if (!retried && isJsonObject(result)) cache.put(method, params, result, generation, received)
        return result
      })
    )
  })
}

/** Drops a list's cached pages if the server rejects a cursor, because that means the list has changed. */
const discard = (cache: ResponseCache, method: string, params: unknown) => (error: ClientError) =>
  Effect.sync(() => {
    const isPage = isJsonObject(params) && params["cursor"] !== undefined
    if (isPage && error._tag === "McpError") cache.forget(method)
  })

const subscribeResource = (listening: Listening, uri: string, updated: (uri: string) => void) =>
  Effect.flatMap(listening.listen({ resourceSubscriptions: [uri] }, updates(updated)), ({ ended, granted }) =>
    granted.resourceSubscriptions?.includes(uri) === true
      ? Effect.succeed(ended)
      : Effect.fail(
          new CapabilityMissing({
            capability: "resources.subscribe",
            message: `The server does not support subscriptions to ${uri}`
          })
        )
  )

/** Calls `updated` with the URI of each update. */
const updates =
  (updated: (uri: string) => void) =>
  ({ method, params }: JsonRpc.Notification): void => {
    if (method === "notifications/resources/updated" && typeof params?.uri === "string") updated(params.uri)
  }

/** A subscription to all list changes the server announces, shared by all streams of changes. */
const listSubscription = Effect.fnUntraced(function* (
  listening: Listening,
  { serverCapabilities }: Negotiated
): Effect.fn.Return<EraRequests["subscribeLists"], never, Scope.Scope> {
  const lists = Subscriptions.announced(Subscriptions.listFilter(MethodInfo.listKinds), serverCapabilities)
  if (lists.length === 0) return Effect.succeed(Effect.never)
  const shared: RcRef.RcRef<ListenSubscription, ClientError> = yield* RcRef.make({
    acquire: Effect.tap(listening.listen(Subscriptions.listFilter(lists)), ({ ended }) =>
      // A listener that arrives after the end opens a new subscription, even though earlier listeners still hold this one.
      Effect.forkScoped(
        Effect.flatMap(ended, () => RcRef.invalidate(shared)),
        { startImmediately: true }
      )
    )
  })
  return RcRef.get(shared).pipe(
    Effect.map(({ ended }) => ended),
    // A closed RcRef interrupts.
    Effect.catchCauseIf(Cause.hasInterruptsOnly, () => Effect.fail(new Closed({ message: "The connection is closed" })))
  )
})

/**
 * Drops cached results that a notification makes stale. A resource update drops all reads, because its URI may be part of another resource.
 */
const forgetStale = (cache: ResponseCache, { method }: JsonRpc.Notification): void => {
  const stale = MethodInfo.ofServerNotification(method)?.stale
  if (stale !== undefined) cache.forget(...stale)
}
