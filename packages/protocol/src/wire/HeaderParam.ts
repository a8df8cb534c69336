/** One argument of a tool that a header mirrors. Apart from the rules of the annotation, which a client over HTTP may never need. */
import { isJsonObject } from "../model/Shape.ts"

/** An argument and its header. `name` comes after `Mcp-Param-`; `path` leads to the argument through nested objects. */
export interface HeaderParam {
  readonly name: string
  readonly path: ReadonlyArray<string>
  readonly type: "string" | "integer" | "boolean"
}

/** The argument that a header mirrors; `undefined` if the call does not give it, or gives null. */
export const valueOf = ({ path }: HeaderParam, args: unknown): unknown => {
  let value = args
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  return value ?? undefined
}
