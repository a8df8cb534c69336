/**
 * The contract of a server: what it offers, as one value for documents, clients, tests, and a lock file in a repository.
 *
 * Owns the text that is kept, and what a change of it means to clients. `readContract` reads it from a server.
 */
import { canonicalJson } from "@effect-mcp/core/internal/canonicalJson"
import { Prompt } from "@effect-mcp/protocol/model/Prompt"
import { Resource, ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import { isJsonObject, JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import { Tool } from "@effect-mcp/protocol/model/Tool"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Change, changed, type Compare, isSame, schemas } from "./SchemaDiff.ts"

export type { Change } from "./SchemaDiff.ts"

/** A method of an extension: a request of the client, or a question of the server. Its params and results are JSON Schemas. */
const Method = Schema.Struct({
  method: Schema.String,
  params: JsonObject,
  result: JsonObject,
  failure: Schema.optionalKey(JsonObject),
  failureCode: Schema.optionalKey(Schema.Finite)
})

const Notification = Schema.Struct({
  method: Schema.String,
  from: Schema.Literals(["client", "server"]),
  params: JsonObject
})

const Extension = Schema.Struct({
  id: Schema.String,
  /** What the server declares with it. */
  settings: JsonObject,
  requests: Schema.Array(Method),
  questions: Schema.Array(Method),
  notifications: Schema.Array(Notification),
  subscriptions: Schema.Array(Schema.Struct({ key: Schema.String, filter: JsonObject })),
  /** Its keys of `_meta`; absent where it has none. */
  meta: Schema.optionalKey(Schema.Array(Schema.Struct({ key: Schema.String, value: JsonObject })))
})

/**
 * What a server offers to one principal. Each list is sorted by what names its items: `name`, `uri`, `uriTemplate`, `id`, `method` or `key`.
 * The version of the server is no part of it, nor are the resources that templates list.
 */
export const Contract = Schema.Struct({
  name: Schema.String,
  instructions: Schema.optionalKey(Schema.String),
  tools: Schema.Array(Tool),
  prompts: Schema.Array(Prompt),
  resources: Schema.Array(Resource),
  templates: Schema.Array(ResourceTemplate),
  /** An extension that the options of the server declare has only its settings. */
  extensions: Schema.Array(Extension)
})
export type Contract = typeof Contract.Type

/** The contract as JSON, indented, with sorted keys: equal contracts have equal text. See `diff` for an example. */
export const toText = (contract: Contract): string =>
  `${JSON.stringify(JSON.parse(canonicalJson(contract)), undefined, 2)}\n`

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(verbatim(Contract)))

/** Reads what `toText` has written; fails for other text. See `diff` for an example. */
export const fromText = (text: string): Effect.Effect<Contract, Schema.SchemaError> => decode(text)

/** The arguments of a prompt, as the schema of an object. */
const promptArguments: Compare = (owner, before, after) => {
  const schemaOf = (value: unknown) => {
    const all = Array.isArray(value) ? value.filter(isJsonObject) : []
    return {
      properties: Object.fromEntries(all.map(({ name, required: _required, ...rest }) => [String(name), rest])),
      required: all.flatMap(({ name, required }) => (required === true ? [name] : []))
    }
  }
  return schemas("arguments", true)(owner, schemaOf(before), schemaOf(after))
}

/** `answered`: clients have to answer the items, so they fail for a new one. */
const lists =
  (noun: string, key: string, answered = false): Compare =>
  (_owner, before, after) => {
    const byKey = (items: unknown) =>
      new Map((Array.isArray(items) ? items : []).filter(isJsonObject).map((item) => [String(item[key]), item]))
    const [old, now] = [byKey(before), byKey(after)]
    return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((id) => {
      const owner = `The ${noun} ${JSON.stringify(id)}`
      const [was, is] = [old.get(id), now.get(id)]
      if (is === undefined) return [{ kind: "removed", breaking: true, message: `${owner} is removed` } as const]
      if (was === undefined) return [{ kind: "added", breaking: answered, message: `${owner} is new` } as const]
      return fields(owner, was, is)
    })
  }

/** Fields that describe or hint: another value breaks no client. */
const harmless = new Set(["annotations", "description", "icons", "instructions", "name", "size", "title"])

const compare: ReadonlyMap<string, Compare> = new Map([
  ["tools", lists("tool", "name")],
  ["prompts", lists("prompt", "name")],
  ["resources", lists("resource", "uri")],
  ["templates", lists("template", "uriTemplate")],
  ["extensions", lists("extension", "id")],
  ["requests", lists("method", "method")],
  ["questions", lists("question", "method", true)],
  ["notifications", lists("notification", "method")],
  ["subscriptions", lists("subscription", "key")],
  ["meta", lists("key of _meta", "key")],
  ["inputSchema", schemas("input schema", true)],
  ["outputSchema", schemas("output schema", false)],
  ["arguments", promptArguments]
])

const fields = (owner: string, before: JsonObject, after: JsonObject): ReadonlyArray<Change> =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted().flatMap((field) => {
    const [was, is] = [before[field], after[field]]
    if (isSame(was, is)) return []
    const compared = compare.get(field)?.(owner, was, is)
    if (compared === undefined) return [changed(`${owner} changes its ${field}`, !harmless.has(field))]
    // The text differs all the same: by the order of a list.
    return compared.length > 0 ? compared : [changed(`${owner} changes its ${field}`, false)]
  })

/**
 * What has changed from `before` to `after`, as sentences; empty where their texts are equal. A change inside the schema of one property
 * counts as breaking, unless only annotations (`description`, `title`, `default`) differ; so does each change of a schema of an extension.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Contract, McpServer } from "@effect-mcp/server"
 * import { Effect, Schema } from "effect"
 *
 * const contractOf = (...names: ReadonlyArray<string>) => {
 *   const input = Schema.Struct(Object.fromEntries(names.map((name) => [name, Schema.Finite])))
 *   const features = Tools.layer(Tool.make("add", { description: "Adds", input }), () => Effect.succeed(""))
 *   const server = McpServer.layer({ name: "calculator", version: "1", features })
 *   return Effect.flatMap(McpServer.McpServer, ({ contract }) => contract()).pipe(Effect.provide(server))
 * }
 *
 * const program = Effect.gen(function* () {
 *   // A test reads this text from a file.
 *   const locked = Contract.toText(yield* contractOf("a"))
 *   for (const { breaking, message } of Contract.diff(yield* Contract.fromText(locked), yield* contractOf("a", "b"))) {
 *     console.log(breaking, message) // => true The tool "add" requires "b"
 *   }
 * })
 *
 * await Effect.runPromise(program)
 * ```
 */
export const diff = (before: Contract, after: Contract): ReadonlyArray<Change> => fields("The server", before, after)
