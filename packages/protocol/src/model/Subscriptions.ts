/**
 * Subscriptions since 2026-07-28: `subscriptions/listen` is one long request, and its result ends the notifications.
 */
import * as Schema from "effect/Schema"
import { metaFields, requestFields, RequestId, subscriptionId } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** The notifications that a client subscribes to; an absent field subscribes to none. `resourceSubscriptions` are URIs. */
export const SubscriptionFilter = struct("SubscriptionFilter", {
  toolsListChanged: Schema.optionalKey(Schema.Boolean),
  promptsListChanged: Schema.optionalKey(Schema.Boolean),
  resourcesListChanged: Schema.optionalKey(Schema.Boolean),
  resourceSubscriptions: Schema.optionalKey(Schema.Array(Schema.String))
})
export type SubscriptionFilter = typeof SubscriptionFilter.Type

/** The params of `subscriptions/listen` (2026-07-28). */
export const ListenParams = struct("ListenParams", { ...requestFields, notifications: SubscriptionFilter })
export type ListenParams = typeof ListenParams.Type

/** The graceful end of a subscription; `_meta` holds the id of its request. */
export const ListenResult = struct("ListenResult", {
  _meta: Schema.StructWithRest(Schema.Struct({ [subscriptionId]: RequestId }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})
export type ListenResult = typeof ListenResult.Type

/** The first notification of a subscription: `notifications` is the part of the filter that will be honoured. */
export const AcknowledgedParams = struct("AcknowledgedParams", { ...metaFields, notifications: SubscriptionFilter })
export type AcknowledgedParams = typeof AcknowledgedParams.Type
