/** The streams that read a server's lists, and the catalog of its tools. */
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type { Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { Resource, ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"
import { withSafeIcons } from "../internal/icons.ts"
import { expanded } from "../internal/streams.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Lists from "./Lists.ts"
import * as ToolCatalog from "./ToolCatalog.ts"
import * as ToolHeaders from "./ToolHeaders.ts"

type Iconic = Parameters<typeof withSafeIcons>[0]

export interface Options {
  readonly connection: ReconnectingConnection
  readonly limits: Lists.ListLimits
  /** Whether to list tools before the first call of an unknown one. */
  readonly lists: boolean
  /** Called with the reason for each tool that is left out of the list. */
  readonly rejected: (reason: string) => void
}

export interface ServerLists {
  readonly listTools: Stream.Stream<Tool, ClientError>
  readonly listResources: Stream.Stream<Resource, ClientError>
  readonly listResourceTemplates: Stream.Stream<ResourceTemplate, ClientError>
  readonly listPrompts: Stream.Stream<Prompt, ClientError>
  readonly catalog: ToolCatalog.ToolCatalog
  readonly headers: ToolHeaders.ToolHeaders
  /** Checks the result of a call against the listed output schema. Fails before the call if the schema is unusable. */
  readonly checked: (
    name: string,
    send: () => Effect.Effect<CallToolResult, ClientError>
  ) => Effect.Effect<CallToolResult, ClientError>
}

export const make = ({ connection, limits, lists, rejected }: Options): ServerLists => {
  const catalog = new ToolCatalog.ToolCatalog(connection, rejected, limits.maxBytes ?? Lists.defaultMaxBytes)
  const items = <M extends Lists.ListMethod, A extends Iconic>(
    method: M,
    itemsOf: (page: ClientRequests[M]["result"]) => ReadonlyArray<A>
  ): Stream.Stream<A, ClientError> =>
    expanded(Lists.pages(connection, method, limits), (page) => Effect.succeed(itemsOf(page).map(withSafeIcons)))
  return {
    catalog,
    headers: ToolHeaders.make({ connection, catalog, limits, lists }),
    checked: (name, send) =>
      Effect.flatMapEager(catalog.validator(name), (validator) =>
        Effect.flatMap(send(), (result) => ToolCatalog.checkResult(name, validator, result))
      ),
    listTools: items("tools/list", (page) => catalog.learn(page.tools)),
    listResources: items("resources/list", (page) => page.resources),
    listResourceTemplates: items("resources/templates/list", (page) => page.resourceTemplates),
    listPrompts: items("prompts/list", (page) => page.prompts)
  }
}
