/** A tool argument that is copied to a header. Separate from the annotation's rules, which an HTTP client may never need to load. */
import { isJsonObject } from "../model/Shape.ts"

/** An argument and its header. `name` is the part after `Mcp-Param-`; `path` leads to the argument through nested objects. */
export interface HeaderParam {
  readonly name: string
  readonly path: ReadonlyArray<string>
  readonly type: "string" | "integer" | "boolean"
}

/** Returns the value to copy to the header, or `undefined` if the argument is missing or null. */
export const valueOf = ({ path }: HeaderParam, args: unknown): unknown => {
  let value = args
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value ?? undefined
}
