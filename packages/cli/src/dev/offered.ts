/** The contract of a server as a client sees it: what `initialize` and its lists say. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type * as McpClient from "@effect-mcp/client/McpClient"
import type { Contract } from "@effect-mcp/server/Contract"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** Items of one list at most; a server that lists more is compared by the first. */
const longest = 10_000

const sorted = <A>(
  declared: object | undefined,
  list: Stream.Stream<A, ClientError>,
  key: (item: A) => string
): Effect.Effect<ReadonlyArray<A>, ClientError> =>
  declared === undefined
    ? Effect.succeed([])
    : Effect.map(Stream.runCollect(Stream.take(list, longest)), (items) =>
        items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
      )

const settingsOnly = { requests: [], questions: [], notifications: [], subscriptions: [] }

/** Reads all lists. Of extensions it has the settings alone. */
export const offered = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"]
): Effect.fn.Return<Contract, ClientError> {
  const { extensions = {}, prompts, resources, tools } = client.serverCapabilities
  const contract: Contract = {
    name: client.serverInfo.name,
    ...(client.instructions === undefined ? undefined : { instructions: client.instructions }),
    tools: yield* sorted(tools, client.listTools, ({ name }) => name),
    prompts: yield* sorted(prompts, client.listPrompts, ({ name }) => name),
    resources: yield* sorted(resources, client.listResources, ({ uri }) => uri),
    templates: yield* sorted(resources, client.listResourceTemplates, ({ uriTemplate }) => uriTemplate),
    extensions: Object.keys(extensions)
      .toSorted()
      .map((id) => ({ id, settings: extensions[id] ?? {}, ...settingsOnly }))
  }
  return contract
})
