/** The skills that a server publishes (extension `io.modelcontextprotocol/skills`), as untrusted JSON. */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { at } from "./json.ts"

/** ID of the extension (2026-07-28). */
export const extension = "io.modelcontextprotocol/skills"

/** Part of every URI and path that the generator makes up. */
export const invented = "fuzz-none"

/** A file in a skill's manifest. The other fields may be anything. */
export interface ManifestFile extends JsonObject {
  readonly uri: string
}

const isFile = (value: unknown): value is ManifestFile => isJsonObject(value) && typeof value.uri === "string"

/** Returns the entries in the result of `skills/list` or `skills/get`. */
export const entriesOf = (result: unknown): ReadonlyArray<unknown> => {
  const list = at(result, "skills")
  if (Array.isArray(list)) return list
  const one = at(result, "skill")
  return one === undefined ? [] : [one]
}

/** Returns the files that an entry lists, none if they are generated. */
export const filesOf = (entry: unknown): ReadonlyArray<ManifestFile> => {
  const resources = at(entry, "resources")
  return Array.isArray(resources) ? resources.filter(isFile) : []
}

/** Returns the URI of a skill's directory, without a slash at the end, or `undefined` if this is not the URI of a `SKILL.md`. */
export const rootOf = (uri: string): string | undefined =>
  uri.endsWith("/SKILL.md") ? uri.slice(0, -"/SKILL.md".length) : undefined
