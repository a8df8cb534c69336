/**
 * Notifications about a request in flight: its progress and its cancellation.
 */
import * as Schema from "effect/Schema"
import { metaFields, ProgressToken, RequestId } from "./Meta.ts"
import { struct } from "./Shape.ts"

export { ProgressToken }

/** `progress` increases with each notification; `total` is in the same unit. */
export const ProgressParams = struct("ProgressParams", {
  ...metaFields,
  progressToken: ProgressToken,
  progress: Schema.Finite,
  total: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String)
})
export type ProgressParams = typeof ProgressParams.Type

/** `requestId` is missing only in 2025-11-25, where a task is cancelled by its own request. */
export const CancelledParams = struct("CancelledParams", {
  ...metaFields,
  requestId: Schema.optionalKey(RequestId),
  reason: Schema.optionalKey(Schema.String)
})
export type CancelledParams = typeof CancelledParams.Type
