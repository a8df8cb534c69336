/** Content annotations: audience, priority and last modification (spec 2025-11-25: server/resources#annotations). */
import * as Schema from "effect/Schema"
import { struct } from "./Shape.ts"

/** The author of a prompt or sampling message, or the intended reader of content. */
export const Role = Schema.Literals(["user", "assistant"])
export type Role = typeof Role.Type

/** `priority` ranges from 0 (optional) to 1 (required); `lastModified` is an ISO 8601 time. */
export const Annotations = struct("Annotations", {
  audience: Schema.optionalKey(Schema.Array(Role)),
  priority: Schema.optionalKey(Schema.Finite),
  lastModified: Schema.optionalKey(Schema.String)
})
export type Annotations = typeof Annotations.Type
