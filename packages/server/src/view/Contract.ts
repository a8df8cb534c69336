/**
 * A server's contract: everything it offers, as a single value for documentation, clients, tests, or a lock file in your repository.
 *
 * Owns the text format, and decides how a change affects clients. `readContract` reads the contract from a server.
 */
import { canonicalJson } from "@effect-mcp/core/internal/digest"
import {
  type Change,
  changed,
  type Compare,
  isSame,
  promptArguments,
  schemas
} from "@effect-mcp/core/internal/schemaDiff"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

export type { Change } from "@effect-mcp/core/internal/schemaDiff"

/** An extension method: a request from the client, or a question from the server. Its params and result are JSON Schemas. */
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
  /** Settings that the server declares for the extension. */
  settings: JsonObject,
  requests: Schema.Array(Method),
  questions: Schema.Array(Method),
  notifications: Schema.Array(Notification),
  subscriptions: Schema.Array(Schema.Struct({ key: Schema.String, filter: JsonObject })),
  /** The extension's `_meta` keys, or absent if it has none. */
  meta: Schema.optionalKey(Schema.Array(Schema.Struct({ key: Schema.String, value: JsonObject })))
})

/** Every list of the protocol, by name. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one entry for each list
const listed = Object.fromEntries(Object.entries(MethodInfo.lists).map(([name, { schema }]) => [name, schema])) as {
  readonly [N in MethodInfo.ListName]: (typeof MethodInfo.lists)[N]["schema"]
}

/**
 * Everything that a server offers to a given principal. Each list is sorted by the field that identifies its items: `name`, `uri`,
 * `uriTemplate`, `id`, `method` or `key`. The server's version and the resources that templates list are not included.
 */
export const Contract = Schema.Struct({
  name: Schema.String,
  instructions: Schema.optionalKey(Schema.String),
  ...listed,
  /** An extension that is only declared in the server's options has nothing but its settings. */
  extensions: Schema.Array(Extension)
})
export type Contract = typeof Contract.Type

/**
 * Formats the contract as indented JSON with sorted keys, so that equal contracts produce equal text. Empty protocol lists are omitted, so
 * the text stays the same when the protocol adds another list. See `diff` for an example.
 */
export const toText = (contract: Contract): string => {
  const filled = Object.entries(contract).filter(
    ([name, value]) => !Object.hasOwn(listed, name) || !Array.isArray(value) || value.length > 0
  )
  return `${JSON.stringify(JSON.parse(canonicalJson(Object.fromEntries(filled))), undefined, 2)}\n`
}

const parse = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))
const decode = Schema.decodeUnknownEffect(verbatim(Contract))
const noItems = Object.fromEntries(Object.keys(listed).map((name) => [name, []]))

/** Parses the output of `toText`, and fails on any other text. See `diff` for an example. */
export const fromText = (text: string): Effect.Effect<Contract, Schema.SchemaError> =>
  Effect.flatMap(parse(text), (json) => {
    if (!isJsonObject(json)) return decode(json)
    // Contracts locked by older versions name the resource templates `templates`.
    const { templates, ...rest } = json
    return decode({ ...noItems, ...(templates === undefined ? {} : { resourceTemplates: templates }), ...rest })
  })

/** Compares lists. With `answered`, clients have to answer the items, so adding one is a breaking change. */
const lists =
  (noun: string, key: string, answered = false): Compare =>
  (_owner, before, after) => {
    const byKey = (items: unknown) =>
      new Map((Array.isArray(items) ? items : []).filter(isJsonObject).map((item) => [String(item[key]), item]))
    const [old, now] = [byKey(before), byKey(after)]
    return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((id) => {
      const owner = `The ${noun} ${JSON.stringify(id)}`
      const [was, is] = [old.get(id), now.get(id)]
      if (is === undefined) return [{ kind: "removed", breaking: true, message: `${owner} was removed` } as const]
      if (was === undefined) return [{ kind: "added", breaking: answered, message: `${owner} is new` } as const]
      return fields(owner, was, is)
    })
  }

/** Fields that only describe or hint. Changing them doesn't break clients. */
const harmless = new Set(["annotations", "description", "icons", "instructions", "name", "size", "title"])

const compare: ReadonlyMap<string, Compare> = new Map([
  ...Object.entries(MethodInfo.lists).map(([name, { key, noun }]) => [name, lists(noun, key)] as const),
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
    if (compared === undefined) return [changed(`${owner} changed its ${field}`, !harmless.has(field))]
    // The text still differs, in the order of a list.
    return compared.length > 0 ? compared : [changed(`${owner} changed its ${field}`, false)]
  })

/**
 * Describes the changes from `before` to `after` in sentences. Empty if their texts are equal. A change to a property's schema counts as
 * breaking unless it only affects annotations (`description`, `title`, `default`). Any change to an extension's schema also counts as
 * breaking.
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
 *   // A test would read this text from a file.
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
