/** The extension's methods and subscription, for their caller's tasks. */
import * as Extensions from "@effect-mcp/core/Extensions"
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { TasksExtension } from "../extension/TasksExtension.ts"
import type { Answer } from "../model/Task.ts"
import { owner } from "./Owner.ts"
import { detailed, found, type Service } from "./Service.ts"

/** Maximum number of tasks per subscription. If more are requested, the first ones are granted. */
const maxFollowed = 256

/** Returns the caller's task from the store. Fails with the unknown task error if there is none. */
const ofCaller = <A, E>(
  store: Service["store"],
  use: (owner: string) => Effect.Effect<Option.Option<A>, E>
): Effect.Effect<A, E | McpError.McpError, RequestServices> => found(Effect.flatMap(owner(store), use))

const get = ({ store }: Service, { taskId }: { readonly taskId: string }) =>
  Effect.gen(function* () {
    const task = yield* ofCaller(store, (owner) => store.get(taskId, owner))
    const { revision } = yield* RequestContext
    // Skips checking the result against the method's schema, because it was built to match and tasks have many readers.
    return EncodedResult.core("complete", yield* detailed(task, revision))
  })

const update = (
  { store }: Service,
  {
    inputResponses,
    taskId
  }: { readonly taskId: string; readonly inputResponses: { readonly [key: string]: JsonObject } }
) => {
  const answers = Object.entries(inputResponses).map(([key, result]): [string, Answer] => [
    key,
    { _tag: "Result", result }
  ])
  const answered = ofCaller(store, (owner) => store.answer(taskId, owner, Object.fromEntries(answers)))
  return Effect.mapError(Effect.as(answered, {}), (error) =>
    error._tag === "LimitReached" ? McpError.limitExceeded(error.message) : error
  )
}

/** Follows the caller's tasks with these IDs. A slow reader receives the latest state of each. */
export const listen = ({ store }: Service, ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const caller = yield* owner(store)
    const { revision } = yield* RequestContext
    const isOwn = (id: string) => Effect.map(store.get(id, caller), Option.isSome)
    const granted = yield* Effect.filter([...new Set(ids)].slice(0, maxFollowed), isOwn)
    const states = Stream.mergeAll(
      granted.map((id) => store.changes(id, caller)),
      { concurrency: "unbounded" }
    )
    // Marks an ended task as read, so that the store knows that its caller has seen the end.
    const told = Stream.tap(states, ({ id, outcome }) => (outcome === undefined ? Effect.void : store.get(id, caller)))
    const messages = Stream.mapEffect(told, (task) =>
      Effect.map(Effect.orDie(detailed(task, revision)), (params) =>
        Extensions.message(TasksExtension.notifications.changed, params)
      )
    )
    return { granted, messages }
  })

/** Provides the extension. */
export const layer = (service: Service): Layer.Layer<never, never, ExtensionRegistry> =>
  Extensions.layer(TasksExtension, {
    rateLimit: service.rateLimit,
    requests: {
      get: (params) => get(service, params),
      update: (params) => update(service, params),
      cancel: ({ taskId }) =>
        Effect.as(
          Effect.tap(
            ofCaller(service.store, (owner) => service.store.cancel(taskId, owner)),
            () => Effect.sync(() => service.routes.ended(taskId))
          ),
          {}
        )
    },
    subscriptions: { taskIds: (ids) => listen(service, ids) }
  })
