/**
 * The counterpart of `Downgrade`: defines how values are encoded for revisions that no longer support them.
 *
 * `since` is the first revision without the feature. It and all newer revisions receive the replacement. Older revisions encode the value
 * unchanged.
 */
import * as Capabilities from "../model/Capabilities.ts"
import * as Elicitation from "../model/Elicitation.ts"
import * as Progress from "../model/Progress.ts"
import * as Tool from "../model/Tool.ts"
import { type RewriteRow, rowsOf } from "./Rewrite.ts"

const client = rowsOf(Capabilities.ClientCapabilities)

/** All rows. Rows for the same type are applied in this order. */
export const removed: ReadonlyArray<RewriteRow> = [
  // Tasks became an extension, which is declared with the other extensions.
  ...client.drop("2026-07-28", "tasks"),
  ...rowsOf(Capabilities.ServerCapabilities).drop("2026-07-28", "tasks"),
  ...rowsOf(Tool.Tool).drop("2026-07-28", "execution"),
  // Roots are requested when they are needed, so there is no change notification.
  client.change("2026-07-28", "rewrite", "roots", (value) => {
    if (value.roots?.listChanged === undefined) return value
    const { listChanged: _dropped, ...roots } = value.roots
    return { ...value, roots }
  }),
  rowsOf(Progress.CancelledParams).change("2026-07-28", "error", "requestId", (value, refuse) => {
    if (value.requestId === undefined) refuse("a cancellation without a request id")
    return value
  }),
  ...rowsOf(Elicitation.ElicitUrlParams).drop("2026-07-28", "elicitationId"),
  // Deprecated in 2026-07-28 in favor of the titled form from 2025-11-25.
  rowsOf(Elicitation.EnumSchema).change("2026-07-28", "rewrite", "enumNames", (value) => {
    if (value.enumNames === undefined) return value
    const { enum: values, enumNames, ...rest } = value
    return { ...rest, oneOf: values.map((value, i) => ({ const: value, title: enumNames[i] ?? value })) }
  })
]
