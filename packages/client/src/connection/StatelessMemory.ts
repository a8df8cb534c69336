/** The subscriptions and cached results that a client keeps between requests of the stateless era (2026-07-28). */
import type { Peer } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
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
  /** What every request declares in its `_meta`. */
  readonly meta: () => JsonObject
  /** Bounds the wait for an acknowledgement. */
  readonly timeout: Duration.Input
  /** Results that are cached at most. */
  readonly cacheSize: number | undefined
  readonly cacheBytes: number | undefined
}

/** A result, and whether it must not be cached. */
export interface Received<A> {
  readonly result: A
  readonly retried: boolean
}

export interface StatelessMemory extends Pick<EraRequests, "listen" | "subscribeLists"> {
  /** Subscribes to updates of a resource that the server declared. */
  readonly subscribeResource: EraRequests["subscribeResource"]
  /** The result of a request, or the cached one while that is fresh. `fresh`: sends it all the same. */
  readonly cached: <A>(
    method: string,
    params: unknown,
    fresh: boolean | undefined,
    send: () => Effect.Effect<Received<A>, ClientError>
  ) => Effect.Effect<A, ClientError>
  /** Handles a notification before any other part of the client; `true` for one that no other part needs. */
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

/** The request, or its cached result while that is fresh. */
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

/** A refused cursor means that the list has changed: its cached pages are dropped. */
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
            message: `The server announces no updates of ${uri}`
          })
        )
  )

/** Calls `updated` with the URI of each update. */
const updates =
  (updated: (uri: string) => void) =>
  ({ method, params }: JsonRpc.Notification): void => {
    if (method === "notifications/resources/updated" && typeof params?.uri === "string") updated(params.uri)
  }

/** One subscription to all lists whose changes the server announces, shared by all streams of changes. */
const listSubscription = Effect.fnUntraced(function* (
  listening: Listening,
  { serverCapabilities }: Negotiated
): Effect.fn.Return<EraRequests["subscribeLists"], never, Scope.Scope> {
  const lists = {
    ...(serverCapabilities.tools?.listChanged === true ? { toolsListChanged: true } : undefined),
    ...(serverCapabilities.prompts?.listChanged === true ? { promptsListChanged: true } : undefined),
    ...(serverCapabilities.resources?.listChanged === true ? { resourcesListChanged: true } : undefined)
  }
  if (Object.keys(lists).length === 0) return Effect.succeed(Effect.never)
  const shared: RcRef.RcRef<ListenSubscription, ClientError> = yield* RcRef.make({
    acquire: Effect.tap(listening.listen(lists), ({ ended }) =>
      // A listener that comes after the end gets another subscription, though earlier ones still hold this one.
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

/** Drops the cached results that a notification makes stale. An updated resource drops all reads: its URI may be a part of another. */
const forgetStale = (cache: ResponseCache, { method }: JsonRpc.Notification): void => {
  const stale = MethodInfo.ofServerNotification(method)?.stale
  if (stale !== undefined) cache.forget(...stale)
}
