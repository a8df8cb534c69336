/**
 * `subscriptions/listen` (spec 2026-07-28: basic/patterns/subscriptions) on notifications of the upstream server.
 *
 * The request's fiber is the subscription: it subscribes upstream, acknowledges, relays, and ends with a result when either server ends.
 */
import type { Outbound } from "@effect-mcp/core/RequestContext"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import type { ListenResult, SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import { maxPerSession } from "@effect-mcp/server/internal/Subscriptions"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Upstream } from "./Upstream.ts"

/** Runs for as long as the subscription. */
export const listen = Effect.fnUntraced(function* (
  { client }: Upstream,
  id: JsonRpc.Id,
  { closing, notify, ready }: Outbound,
  wanted: SubscriptionFilter
): Effect.fn.Return<ListenResult, never, Scope.Scope> {
  const _meta = { [subscriptionId]: id }
  const acknowledged = Deferred.makeUnsafe<void>()
  const notifyClient = (method: string, params: JsonRpc.Params = {}) =>
    Effect.andThen(
      Effect.andThen(Deferred.await(acknowledged), ready),
      Effect.sync(() => notify(method, { ...params, _meta }))
    )
  const { prompts, resources, tools } = client.serverCapabilities
  const lists = [
    ["toolsListChanged", tools, client.toolChanges, "notifications/tools/list_changed"],
    ["promptsListChanged", prompts, client.promptChanges, "notifications/prompts/list_changed"],
    ["resourcesListChanged", resources, client.resourceChanges, "notifications/resources/list_changed"]
  ] as const
  const granted = lists.filter(([name, declared]) => wanted[name] === true && declared?.listChanged === true)
  for (const [, , changes, method] of granted) {
    yield* Effect.forkScoped(
      Stream.runForEach(changes, () => notifyClient(method)),
      { startImmediately: true }
    )
  }
  const uris = resources?.subscribe === true ? [...new Set(wanted.resourceSubscriptions)].slice(0, maxPerSession) : []
  const watched = yield* Effect.forEach(
    uris,
    (uri) => {
      const established = Deferred.makeUnsafe<boolean>()
      const updates = Stream.runForEach(client.watchResource(uri), (event) =>
        Effect.flatMap(
          event._tag === "Watching" ? Deferred.succeed(established, true) : Effect.succeed(false),
          (first) =>
            // Every later `Watching` means that an update may have been missed.
            first ? Effect.void : notifyClient("notifications/resources/updated", { uri: event.uri })
        )
      ).pipe(Effect.ignore, Effect.ensuring(Deferred.succeed(established, false)))
      return Effect.andThen(Effect.forkScoped(updates), Deferred.await(established))
    },
    { concurrency: "unbounded" }
  )
  const followed = uris.filter((_uri, index) => watched[index] === true)
  notify("notifications/subscriptions/acknowledged", {
    notifications: {
      ...Object.fromEntries(granted.map(([name]) => [name, true])),
      ...(followed.length > 0 ? { resourceSubscriptions: followed } : undefined)
    },
    _meta
  })
  yield* Deferred.succeed(acknowledged, undefined)
  yield* Effect.raceFirst(closing, Effect.ignore(client.awaitClosed))
  return { _meta }
})
