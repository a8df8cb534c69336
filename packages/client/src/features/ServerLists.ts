/** Streams for a server's lists, and the catalog of its tools. */
import type { ListName } from "@effect-mcp/protocol/MethodInfo"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import type { ClientError } from "../ClientError.ts"
import { withSafeIcons } from "../internal/icons.ts"
import { expanded } from "../internal/streams.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import { listMember, type ListMembers } from "./ListMembers.ts"
import * as Lists from "./Lists.ts"
import * as ToolCatalog from "./ToolCatalog.ts"
import * as ToolHeaders from "./ToolHeaders.ts"

type Iconic = Parameters<typeof withSafeIcons>[0]

export interface Options {
  readonly connection: ReconnectingConnection
  readonly limits: Lists.ListLimits
  /** Whether to list tools before the first call to an unknown one. */
  readonly lists: boolean
  /** Called with the reason for each tool that is left out of the list. */
  readonly rejected: (reason: string) => void
}

export interface ServerLists {
  readonly members: ListMembers
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
  const items = (name: ListName): Stream.Stream<Iconic, ClientError> =>
    expanded(Lists.pages(connection, MethodInfo.lists[name].method, limits), (page) =>
      Effect.succeed(("tools" in page ? catalog.learn(page.tools) : itemsIn(page, name)).map(withSafeIcons))
    )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each has the items of its list, which the codec has checked
  const members = Object.fromEntries(
    Struct.keys(MethodInfo.lists).map((name) => [listMember(name), items(name)])
  ) as ListMembers
  return {
    catalog,
    headers: ToolHeaders.make({ connection, catalog, limits, lists }),
    checked: (name, send) =>
      Effect.flatMapEager(catalog.validator(name), (validator) =>
        Effect.flatMap(send(), (result) => ToolCatalog.checkResult(name, validator, result))
      ),
    members
  }
}

/** The items of a page, which is the result of the list's own method. */
const itemsIn = (page: object, name: ListName): ReadonlyArray<Iconic> => Reflect.get(page, name)
