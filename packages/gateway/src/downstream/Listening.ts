/**
 * Answers `subscriptions/listen` requests (spec 2026-07-28: basic/patterns/subscriptions) based on the upstream server's notifications.
 *
 * The request's fiber is the subscription. It subscribes upstream, sends the acknowledgement, forwards notifications, and returns a result
 * when either server ends the subscription.
 */
import { changesOf } from "@effect-mcp/client/McpClient"
import * as Extension from "@effect-mcp/core/Extension"
import type { Message } from "@effect-mcp/core/Extensions"
import { objectOf } from "@effect-mcp/core/internal/codecs"
import { type Outbound, RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { announced, listFilter, type ListenResult, SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import { type TaskMaker, TasksExtension } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tasks from "../tasks/Tasks.ts"
import * as Translation from "../Translation.ts"
import type { Upstream } from "../upstream/Upstream.ts"

/** Maximum number of subscriptions per `subscriptions/listen`, which is the number that a server grants by default. */
const maxSubscriptions = 1024

const method = "subscriptions/listen"

/** Returns the part of a filter that extensions add. */
const ownKinds = (filter: SubscriptionFilter): JsonObject =>
  Object.fromEntries(Object.entries(filter).filter(([key]) => !Object.hasOwn(SubscriptionFilter.fields, key)))

/**
 * Subscribes upstream to kinds that the gateway does not know, and returns the granted kinds. An upstream server with sessions has no such
 * kinds and grants none.
 */
const listenOwn = Effect.fnUntraced(function* (
  { client }: Upstream,
  filter: JsonObject,
  notifyClient: (method: string, params: JsonObject) => Effect.Effect<void>
): Effect.fn.Return<JsonObject, McpError.McpError, Scope.Scope> {
  const { revision } = client
  if (revision.era === "stateful" || Object.keys(filter).length === 0) return {}
  const granted = Deferred.makeUnsafe<JsonObject, McpError.McpError>()
  const relaying = Stream.runForEach(client.raw.listen(filter), (event) =>
    event._tag === "Listening" ? Deferred.succeed(granted, event.granted) : notifyClient(event.method, event.params)
  )
  yield* Effect.forkScoped(
    Effect.catch(relaying, (error) => Deferred.fail(granted, Translation.toMcpError(method, revision)(error))),
    { startImmediately: true }
  )
  const all = yield* Deferred.await(granted)
  return Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(filter, key)))
})

/** Follows the gateway's tasks, and returns the IDs of the tasks that the caller owns. */
const listenToTasks = Effect.fnUntraced(function* (
  tasks: TaskMaker,
  ids: unknown,
  notifyClient: (method: string, params: JsonObject) => Effect.Effect<void>
): Effect.fn.Return<JsonObject, McpError.McpError, RequestServices> {
  if (ids === undefined) return {}
  const { filter, key } = TasksExtension.subscriptions.taskIds
  const wanted = yield* Effect.mapError(filter.decode(ids), ({ message }) =>
    McpError.invalidParams(`Invalid params for the subscription ${key}: ${message}`)
  )
  const { clientCapabilities, revision } = yield* RequestContext
  if (Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined) {
    return yield* McpError.missingClientCapability(Extension.declarationOf(TasksExtension, revision, {}))
  }
  const { granted, messages } = yield* tasks.listen(wanted)
  const send = ({ notification, params }: Message) =>
    Effect.flatMap(objectOf(`The params of ${notification.method}`, notification.params.encode(params)), (params) =>
      notifyClient(notification.method, params)
    )
  yield* Effect.forkScoped(Stream.runForEach(messages, send), { startImmediately: true })
  return { [key]: granted }
})

/** Runs for the lifetime of the subscription. Fails if the upstream server rejects a kind that an extension adds. */
export const listen = Effect.fnUntraced(function* (
  tasks: TaskMaker,
  upstream: Upstream,
  declared: ServerCapabilities,
  id: JsonRpc.Id,
  { closing, notify, ready }: Outbound,
  wanted: SubscriptionFilter
): Effect.fn.Return<ListenResult, McpError.McpError, RequestServices> {
  const { client } = upstream
  const _meta = { [subscriptionId]: id }
  const acknowledged = Deferred.makeUnsafe<void>()
  const notifyClient = (method: string, params: JsonRpc.Params = {}) =>
    Effect.andThen(
      Effect.andThen(Deferred.await(acknowledged), ready),
      Effect.sync(() =>
        notify(method, { ...params, _meta: { ...(isJsonObject(params._meta) && params._meta), ..._meta } })
      )
    )
  const { taskIds, ...kinds } = ownKinds(wanted)
  const hasTasks = Tasks.generationOf(client) !== "none"
  const own = {
    ...(yield* listenOwn(upstream, kinds, notifyClient)),
    ...(yield* listenToTasks(tasks, hasTasks ? taskIds : undefined, notifyClient))
  }
  const granted = announced(wanted, declared)
  for (const kind of granted) {
    yield* Effect.forkScoped(
      Stream.runForEach(changesOf(client, kind), () => notifyClient(`notifications/${kind}/list_changed`)),
      { startImmediately: true }
    )
  }
  // A change after the acknowledgement must reach the client.
  if (granted.length > 0) yield* Effect.ignore(client.changesReady)
  const uris =
    declared.resources?.subscribe === true ? [...new Set(wanted.resourceSubscriptions)].slice(0, maxSubscriptions) : []
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
      ...own,
      ...listFilter(granted),
      ...(followed.length > 0 ? { resourceSubscriptions: followed } : undefined)
    },
    _meta
  })
  yield* Deferred.succeed(acknowledged, undefined)
  yield* Effect.raceFirst(closing, Effect.ignore(client.awaitClosed))
  return { _meta }
})
