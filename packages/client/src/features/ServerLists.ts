/** What a client has of its server's lists: the streams that read them, and what it learned of tools. */
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
  /** Whether tools are listed before the first call of one that is not known. */
  readonly lists: boolean
  /** Called with the reason for every tool that is left out of the list. */
  readonly rejected: (reason: string) => void
}

export interface ServerLists {
  readonly listTools: Stream.Stream<Tool, ClientError>
  readonly listResources: Stream.Stream<Resource, ClientError>
  readonly listResourceTemplates: Stream.Stream<ResourceTemplate, ClientError>
  readonly listPrompts: Stream.Stream<Prompt, ClientError>
  readonly catalog: ToolCatalog.ToolCatalog
  readonly headers: ToolHeaders.ToolHeaders
  /** The result of a call, checked against the output schema that was listed; one that cannot be checked fails before the call. */
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
