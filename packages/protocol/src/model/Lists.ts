/**
 * The paginated lists: one row per list.
 *
 * A row contains everything about a list: its items, the field that identifies them, its method, and its capability. List methods, list
 * capabilities, change notifications and subscription filters are derived from the rows.
 */
import * as Schema from "effect/Schema"
import * as String from "effect/String"
import { cacheFields, pageFields, PaginatedParams } from "./Meta.ts"
import { Prompt } from "./Prompt.ts"
import { Resource, ResourceTemplate } from "./Resource.ts"
import { struct } from "./Shape.ts"
import { Tool } from "./Tool.ts"
import type { Dated } from "./Version.ts"

/** Params of every list method. */
const params = Schema.UndefinedOr(PaginatedParams)

/** Returns the noun for an item: "resource template" for the list "resourceTemplates". */
const nounOf = (list: string): string =>
  list.replace(/s$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

interface Row<Item, Key, Method, Kind> extends Dated {
  readonly item: Item
  /** Field that uniquely identifies an item in the list. */
  readonly key: Key
  readonly method: Method
  /** The list's capability, which is also the kind of its change notification. */
  readonly capability: Kind
}

/** Describes a list, and the request for a page of it, which is read-only and cacheable. */
const list = <
  const Name extends string,
  const Key extends string,
  const Method extends string,
  const Kind extends string,
  I extends Schema.Codec<{ readonly [_ in Key]: string }>
>(
  items: Name,
  { capability, item, key, method, ...dated }: Row<I, Key, Method, Kind>
) => {
  const schema = Schema.Array(item)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of a computed key is not inferred
  const field = { [items]: schema } as { readonly [_ in Name]: typeof schema }
  const result = struct(`List${String.capitalize(items)}Result`, { ...pageFields, ...cacheFields, ...field })
  const facts = { capability, cacheable: true, readOnly: true, list: { items, key, schema }, ...dated } as const
  return { method, capability, key, schema, noun: nounOf(items), request: { params, result, ...facts } }
}

/** The lists that clients read page by page. The name of a list is the result field that contains the items. */
export const lists = {
  tools: list("tools", { item: Tool, key: "name", method: "tools/list", capability: "tools" }),
  prompts: list("prompts", { item: Prompt, key: "name", method: "prompts/list", capability: "prompts" }),
  resources: list("resources", { item: Resource, key: "uri", method: "resources/list", capability: "resources" }),
  resourceTemplates: list("resourceTemplates", {
    item: ResourceTemplate,
    key: "uriTemplate",
    method: "resources/templates/list",
    capability: "resources"
  })
}

type Lists = typeof lists

/** Name of a paginated list: the result field that contains the items. */
export type ListName = keyof Lists

/** A method that returns a paginated list. */
export type ListMethod = Lists[ListName]["method"]

/** A capability whose lists have a `list_changed` notification. */
export type ListKind = Lists[ListName]["capability"]

/** An item in a list. */
export type Item<N extends ListName> = Lists[N]["schema"]["Type"][number]

/** All capabilities whose lists have a `list_changed` notification. */
export const listKinds: ReadonlyArray<ListKind> = [...new Set(Object.values(lists).map(({ capability }) => capability))]

/** The requests for a page of a list, by method. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each list
export const listRequests = Object.fromEntries(
  Object.values(lists).map(({ method, request }) => [method, request])
) as { readonly [N in ListName as Lists[N]["method"]]: Lists[N]["request"] }
