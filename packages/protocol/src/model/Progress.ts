/** Notifications about a request in flight: progress and cancellation. */
import * as Schema from "effect/Schema"
import { metaFields, ProgressToken, RequestId } from "./Meta.ts"
import { struct } from "./Shape.ts"

export { ProgressToken }

/** Params of a progress notification. `progress` increases with each notification; `total` is in the same unit. */
export const ProgressParams = struct("ProgressParams", {
  ...metaFields,
  progressToken: ProgressToken,
  progress: Schema.Finite,
  total: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String)
})
export type ProgressParams = typeof ProgressParams.Type

/** Params of a cancellation. `requestId` is only optional in 2025-11-25, where tasks are cancelled with a separate request. */
export const CancelledParams = struct("CancelledParams", {
  ...metaFields,
  requestId: Schema.optionalKey(RequestId),
  reason: Schema.optionalKey(Schema.String)
})
export type CancelledParams = typeof CancelledParams.Type
