/** Reads a server's contract as a client sees it: the result of `initialize`, and the lists. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as McpClient from "@effect-mcp/client/McpClient"
import { type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { Contract } from "@effect-mcp/server/Contract"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"

/** Maximum number of items to read from a list. */
const longest = 10_000

const sorted = (
  client: McpClient.McpClient["Service"],
  name: ListName
): Effect.Effect<ReadonlyArray<object>, ClientError> => {
  const { capability, key } = lists[name]
  const of = (item: object) => String(Reflect.get(item, key))
  return client.serverCapabilities[capability] === undefined
    ? Effect.succeed([])
    : Effect.map(Stream.runCollect(Stream.take(McpClient.listOf(client, name), longest)), (items) =>
        items.toSorted((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0))
      )
}

const settingsOnly = { requests: [], questions: [], notifications: [], subscriptions: [] }

/** Reads all lists. Includes only the settings of extensions. */
export const offered = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"]
): Effect.fn.Return<Contract, ClientError> {
  const { extensions = {} } = client.serverCapabilities
  const listed: Record<string, ReadonlyArray<object>> = {}
  for (const name of Struct.keys(lists)) listed[name] = yield* sorted(client, name)
  const contract: Contract = {
    name: client.serverInfo.name,
    ...(client.instructions === undefined ? undefined : { instructions: client.instructions }),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each list has the items of its name
    ...(listed as Pick<Contract, ListName>),
    extensions: Object.keys(extensions)
      .toSorted()
      .map((id) => ({ id, settings: extensions[id] ?? {}, ...settingsOnly }))
  }
  return contract
})
