/** Subscriptions since 2026-07-28: `subscriptions/listen` is a single long-running request whose result ends the notifications. */
import * as Schema from "effect/Schema"
import type { ServerCapabilities } from "./Capabilities.ts"
import { type ListKind, listKinds } from "./Lists.ts"
import { metaFields, requestFields, RequestId, subscriptionId } from "./Meta.ts"
import { struct } from "./Shape.ts"

const flag = Schema.optionalKey(Schema.Boolean)

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every kind has its field
const listChanges = Object.fromEntries(listKinds.map((kind) => [`${kind}ListChanged`, flag])) as {
  readonly [K in ListKind as `${K}ListChanged`]: typeof flag
}

/** The notifications a client subscribes to. A field that is absent subscribes to nothing. `resourceSubscriptions` are URIs. */
export const SubscriptionFilter = struct("SubscriptionFilter", {
  ...listChanges,
  resourceSubscriptions: Schema.optionalKey(Schema.Array(Schema.String))
})
export type SubscriptionFilter = typeof SubscriptionFilter.Type

/** Returns the filter for changes to these lists. */
export const listFilter = (kinds: ReadonlyArray<ListKind>): SubscriptionFilter =>
  Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]))

/** Returns the lists in the filter whose changes a server with these capabilities announces. */
export const announced = (
  filter: SubscriptionFilter,
  capabilities: Pick<ServerCapabilities, ListKind>
): ReadonlyArray<ListKind> =>
  listKinds.filter((kind) => filter[`${kind}ListChanged`] === true && capabilities[kind]?.listChanged === true)

/** Params of `subscriptions/listen` (2026-07-28). */
export const ListenParams = struct("ListenParams", { ...requestFields, notifications: SubscriptionFilter })
export type ListenParams = typeof ListenParams.Type

/** Ends a subscription gracefully. `_meta` contains the ID of the subscription's request. */
export const ListenResult = struct("ListenResult", {
  _meta: Schema.StructWithRest(Schema.Struct({ [subscriptionId]: RequestId }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
})
export type ListenResult = typeof ListenResult.Type

/** The first notification of a subscription. `notifications` is the part of the filter that the server accepted. */
export const AcknowledgedParams = struct("AcknowledgedParams", { ...metaFields, notifications: SubscriptionFilter })
export type AcknowledgedParams = typeof AcknowledgedParams.Type
