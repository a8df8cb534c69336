/** Client members that read a list or its changes. There is one for each list in the protocol. */
import type { Item, ListKind, ListName } from "@effect-mcp/protocol/MethodInfo"
import type * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"

/** Name of the member that streams a list, such as `listTools` for `tools`. */
export type ListMember<N extends ListName = ListName> = `list${Capitalize<N>}`
/** Name of the member that emits when a list may have changed, such as `toolChanges` for `tools`. */
export type ChangeMember<K extends ListKind = ListKind> = `${K extends `${infer One}s` ? One : never}Changes`

/** A stream for each list, with the items from every page. */
export type ListMembers = { readonly [N in ListName as ListMember<N>]: Stream.Stream<Item<N>, ClientError> }
/** A stream of changes for each capability with lists. */
export type ChangeMembers = { readonly [K in ListKind as ChangeMember<K>]: Stream.Stream<void> }

/** Returns the name of the member that streams this list. */
export const listMember = <N extends ListName>(list: N): ListMember<N> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the template literal type mirrors this expression
  `list${list.charAt(0).toUpperCase()}${list.slice(1)}` as ListMember<N>

/** Returns the name of the member that emits changes. */
export const changeMember = <K extends ListKind>(kind: K): ChangeMember<K> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the template literal type mirrors this expression
  `${kind.slice(0, -1)}Changes` as ChangeMember<K>

/**
 * Streams a server's list by name, for programs that treat all lists the same way.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { MethodInfo } from "@effect-mcp/protocol"
 * import { Effect, Stream, Struct } from "effect"
 *
 * export const sizes = Effect.gen(function* () {
 *   const client = yield* McpClient.McpClient
 *   return yield* Effect.forEach(Struct.keys(MethodInfo.lists), (name) => Stream.runCount(McpClient.listOf(client, name)))
 * })
 * ```
 */
export const listOf = <N extends ListName>(client: ListMembers, name: N): Stream.Stream<Item<N>, ClientError> =>
  client[listMember(name)]

/** Emits when a list belonging to this capability may have changed, like `toolChanges`. */
export const changesOf = (client: ChangeMembers, kind: ListKind): Stream.Stream<void> => client[changeMember(kind)]
