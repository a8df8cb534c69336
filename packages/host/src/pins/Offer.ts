/**
 * Everything a server offers that a model reads: its identity, instructions, tools, prompts, resources and templates.
 *
 * Items are kept as the server sends them in the negotiated revision.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import { type Client, listOf } from "@effect-mcp/client/McpClient"
import { type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"

/** A list's items by name, URI or URI template. */
export type OfferedItems = ReadonlyMap<string, JsonObject>

/** A server's offer. A list that was never read is missing. */
export interface Offer {
  /** The name that the server reports. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly instructions?: string | undefined
  readonly lists: ReadonlyMap<ListName, OfferedItems>
}

/** An offer with nothing in it. */
export const empty: Offer = { lists: new Map() }

/** Names of all lists. */
export const listNames: ReadonlyArray<ListName> = Struct.keys(lists)

/** Returns the field that identifies a list item, or `undefined` if the item lacks it. */
export const keyOf = (list: ListName, item: unknown): string | undefined => {
  const key = isJsonObject(item) ? item[lists[list].key] : undefined
  return typeof key === "string" ? key : undefined
}

/** Reads a server's whole offer. A list that the server declares but doesn't have is empty. */
export const read = Effect.fnUntraced(function* (client: Client): Effect.fn.Return<Offer, ClientError> {
  const all = new Map<ListName, OfferedItems>()
  for (const name of listNames) {
    const items: Stream.Stream<object, ClientError> = listOf(client, name)
    const listed =
      client.serverCapabilities[lists[name].capability] === undefined
        ? []
        : yield* Effect.catch(Stream.runCollect(items), (error) =>
            error._tag === "McpError" && error.code === McpError.MethodNotFound
              ? Effect.succeed([])
              : Effect.fail(error)
          )
    const known = new Map<string, JsonObject>()
    for (const item of listed) {
      const key = keyOf(name, item)
      if (key !== undefined && isJsonObject(item)) known.set(key, item)
    }
    all.set(name, known)
  }
  const { instructions, serverInfo } = client
  return { name: serverInfo.name, version: serverInfo.version, instructions, lists: all }
})
