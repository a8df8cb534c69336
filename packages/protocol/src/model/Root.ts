/** Roots: the folders and files a client makes available to a server. */
import * as Schema from "effect/Schema"
import { metaFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

/** A root. `uri` is a file URI. */
export const Root = struct("Root", { uri: Schema.String, name: Schema.optionalKey(Schema.String), ...metaFields })
export type Root = typeof Root.Type

/** The roots a client makes available. */
export const ListRootsResult = struct("ListRootsResult", { ...metaFields, roots: Schema.Array(Root) })
export type ListRootsResult = typeof ListRootsResult.Type
