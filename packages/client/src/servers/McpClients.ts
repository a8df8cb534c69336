/**
 * Manages the clients of several servers as one service. It merges their lists, reconnects each server, and reports which server asks a
 * question.
 *
 * Building the service does not wait for any server. While a server is down, its items are missing from the lists, its requests fail with
 * `Unavailable`, and the service retries the connection with growing delays. Closing the scope closes every client.
 */
import { type Item, listKinds, type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { GetPromptResult } from "@effect-mcp/protocol/model/Prompt"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import type { CallOptions } from "../CallOptions.ts"
import type { CallEvent } from "../features/Calls.ts"
import { changeMember, type ChangeMembers, type ListMember, listMember } from "../features/ListMembers.ts"
import type * as Http from "../transport/Http.ts"
import type * as Stdio from "../transport/Stdio.ts"
import * as Configuration from "./Configuration.ts"
import * as MergedList from "./MergedList.ts"
import * as Mounted from "./Mounted.ts"
import * as ProjectedList from "./ProjectedList.ts"
import * as Names from "./Names.ts"
import type { TableServer } from "./Server.ts"
import * as ServerClient from "./ServerClient.ts"
import { type ServerState, Unavailable } from "./ServerState.ts"
import * as Supervisor from "./Supervisor.ts"

export { type Common, http, server, type TableServer as Server, stdio } from "./Server.ts"
export { type Configured, InvalidConfiguration, read, table } from "./Configuration.ts"
export { NameClash, type Naming as Names } from "./Names.ts"
export type { ServerRequestError as RequestError, ServerClient } from "./ServerClient.ts"
export { type ServerState, Unavailable } from "./ServerState.ts"

export interface Options extends Supervisor.Options {
  /** How to name tools and prompts in the merged lists. Default `prefix`: the server's name, `_`, and the tool or prompt name. */
  readonly names?: Names.Naming | undefined
  /**
   * How to treat tools that some host cannot use. `project` lists their schemas in a form that every host accepts, and converts the arguments
   * of `callToolByName` and `callToolByNameStream` back. `off` lists all schemas unchanged. Default `off`.
   */
  readonly portability?: "project" | "off" | undefined
}

/** Servers by name. */
export type Table<R = unknown> = { readonly [name: string]: TableServer<unknown, R> }

/** Services required by the servers in a table. */
export type Requirements<T extends Table> = T[keyof T] extends TableServer<unknown, infer R> ? R : never

/** A tool, prompt, resource or resource template, together with its server's name. */
export interface Listed<A> {
  readonly server: string
  /** The item as its server lists it, with its original name or URI. */
  readonly item: A
}

/** A listed item with its name in the merged list. */
export interface Named<A> extends Listed<A> {
  readonly name: string
}

type MergedError = Names.NameClash | ServerClient.ServerRequestError

/**
 * Items from all connected servers (`listTools`, `listPrompts`, `listResources`, `listResourceTemplates`), in table order.
 *
 * Tools and prompts carry their merged name. If `names` is `refuse` and two items have the same name, the list fails with `NameClash`. URIs
 * are unique only within a server, so read resources through `of(server)`.
 */
export type MergedLists = {
  readonly [N in ListName as ListMember<N>]: N extends Names.NamedList
    ? Effect.Effect<ReadonlyArray<Named<Item<N>>>, Names.NameClash>
    : Effect.Effect<ReadonlyArray<Listed<Item<N>>>>
}

/**
 * Merged lists and requests across several servers.
 *
 * Members ending in `Changes`, such as `toolChanges`, emit when a merged list may have changed, including when a server connects or
 * disconnects. Several changes in quick succession produce one event.
 */
export interface MergedClients extends MergedLists, ChangeMembers {
  /** Calls a tool by its merged name. */
  readonly callToolByName: (
    name: string,
    args?: { readonly [name: string]: unknown },
    options?: CallOptions
  ) => Effect.Effect<CallToolResult, MergedError>
  readonly callToolByNameStream: (
    name: string,
    args?: { readonly [name: string]: unknown },
    options?: CallOptions
  ) => Stream.Stream<CallEvent<CallToolResult>, MergedError>
  /** Gets a prompt by its merged name. */
  readonly getPromptByName: (
    name: string,
    args?: { readonly [argument: string]: string },
    options?: CallOptions
  ) => Effect.Effect<GetPromptResult, MergedError>
  /** Mounts every server's features into the server whose registries are in the context. */
  readonly mount: Effect.Effect<void, never, Mounted.MountRegistries>
}

/** Clients for the servers in a table. */
export interface Clients<Name extends string = string> extends MergedClients {
  /** Server names, in table order. */
  readonly names: ReadonlyArray<Name>
  /** Returns the members for sending requests to one server. */
  readonly of: (server: Name) => ServerClient.ServerClient
  readonly state: (server: Name) => ServerState
  /** Emits each server's current state, followed by every change. */
  readonly states: Stream.Stream<{ readonly server: Name; readonly state: ServerState }>
  /** Reconnects to a server that is down without waiting for the next scheduled attempt. Returns the new state. */
  readonly retry: (server: Name) => Effect.Effect<ServerState>
}

/** Clients for servers whose names aren't known at compile time, such as servers read from a file. */
export class McpClients extends Context.Service<McpClients, Clients>()("@effect-mcp/client/McpClients") {}

/** Stands in for a server that is not in the table. */
const missing = (name: string, names: ReadonlyArray<string>): Supervisor.Supervised => {
  const message = `There is no server ${JSON.stringify(name)}. Configured servers: ${names.join(", ") || "none"}`
  const unavailable = new Unavailable({ server: name, message })
  const state: ServerState = { _tag: "Down", message, cause: unavailable, tries: 0, retries: false }
  return {
    name,
    state: () => state,
    states: Stream.succeed(state),
    client: Effect.fail(unavailable),
    suspect: () => {},
    retry: Effect.succeed(state)
  }
}

const mergedMembers = (
  servers: ReadonlyArray<Supervisor.Supervised>,
  { names = "prefix", patience = Supervisor.defaultPatience, portability = "off" }: Options
): MergedClients => {
  const merging = { servers, names, patience }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each list
  const merged = Object.fromEntries(
    Names.namedLists.map((list) => [list, MergedList.make(list, merging)])
  ) as Mounted.NamedLists
  const listed = (list: ListName): Effect.Effect<ReadonlyArray<Listed<unknown>>> =>
    Effect.map(
      Effect.forEach(
        servers,
        (server) =>
          Effect.map(MergedList.itemsOf(server, list, patience), (items = []) =>
            items.map((item) => ({ server: server.name, item }))
          ),
        { concurrency: "unbounded" }
      ),
      (lists) => lists.flat()
    )
  const route = <A>(list: MergedList.MergedList<A>, name: string) =>
    Effect.map(list.route(name), ({ name: own, server }) => ({ own, client: ServerClient.make(server) }))
  const { args, list: tools } = ProjectedList.make(merged.tools, portability)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each list and each kind
  const members = Object.fromEntries([
    ...Struct.keys(lists).map((list) => [listMember(list), listed(list)] as const),
    ...Names.namedLists.map((list) => [listMember(list), merged[list].list] as const),
    ...listKinds.map(
      (kind) =>
        [changeMember(kind), MergedList.anyOf(servers.map((server) => MergedList.listChanges(server, kind)))] as const
    )
  ]) as unknown as MergedLists & ChangeMembers
  return {
    ...members,
    listTools: tools,
    callToolByName: (name, given, options) =>
      Effect.flatMap(route(merged.tools, name), ({ client, own }) =>
        Effect.flatMap(args(name, given), (original) => client.callToolByName(own, original, options))
      ),
    callToolByNameStream: (name, given, options) =>
      Stream.unwrap(
        Effect.flatMap(route(merged.tools, name), ({ client, own }) =>
          Effect.map(args(name, given), (original) => client.callToolByNameStream(own, original, options))
        )
      ),
    getPromptByName: (name, args, options) =>
      Effect.flatMap(route(merged.prompts, name), ({ client, own }) => client.getPromptByName(own, args, options)),
    mount: Mounted.mount({ ...merged, servers, patience })
  }
}

const makeAny = Effect.fnUntraced(function* <T extends Table>(
  given: T,
  options: Options
): Effect.fn.Return<Clients, never, Requirements<T> | Scope.Scope> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each server requires a part of what all require
  const table = given as Table<Requirements<T>>
  const supervised = new Map<string, readonly [Supervisor.Supervised, ServerClient.ServerClient]>()
  for (const [name, server] of Object.entries(table)) {
    const one = yield* Supervisor.make(name, server, options)
    supervised.set(name, [one, ServerClient.make(one)])
  }
  const names = [...supervised.keys()]
  const servers = Array.from(supervised.values(), ([server]) => server)
  const find = (name: string) => {
    const found = supervised.get(name)
    if (found !== undefined) return found
    const absent = missing(name, names)
    return [absent, ServerClient.make(absent)] as const
  }
  return {
    names,
    of: (name) => find(name)[1],
    state: (name) => find(name)[0].state(),
    retry: (name) => Effect.suspend(() => find(name)[0].retry),
    states: Stream.mergeAll(
      servers.map((server) => Stream.map(server.states, (state) => ({ server: server.name, state }))),
      { concurrency: "unbounded" }
    ),
    ...mergedMembers(servers, options)
  }
})

/**
 * Creates clients for the servers in a table. They close with the scope. Does not wait for any server to connect.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { Effect } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const clients = yield* McpClients.make({
 *     weather: McpClients.stdio({ command: "weather-server" }),
 *     files: McpClients.http({ url: "https://files.example.com/mcp" })
 *   })
 *   return yield* clients.of("weather").callToolByName("forecast", { city: "Rome" })
 * })
 * ```
 */
export const make = <T extends Table>(
  table: T,
  options: Options = {}
): Effect.Effect<Clients<keyof T & string>, never, Requirements<T> | Scope.Scope> => makeAny(table, options)

/**
 * Provides clients for the servers in a table as `McpClients`. `of` accepts any name; requests to an unknown server fail with
 * `Unavailable`.
 */
export const layer = <T extends Table>(
  table: T,
  options: Options = {}
): Layer.Layer<McpClients, never, Exclude<Requirements<T>, Scope.Scope>> =>
  Layer.effect(McpClients, makeAny(table, options))

/**
 * Provides clients for the servers in a configuration file. Fails with `InvalidConfiguration` if the file is unusable, but not if a server
 * is down.
 *
 * @example
 * ```ts
 * import { McpClients, layerFile } from "@effect-mcp/client/McpClients"
 * import { Effect } from "effect"
 *
 * export const names = Effect.gen(function* () {
 *   const clients = yield* McpClients
 *   return (yield* clients.listTools).map(({ name }) => name)
 * }).pipe(Effect.provide(layerFile(".mcp.json")))
 * ```
 */
export const layerFile = (
  file: string,
  options: Configuration.Options & Options = {}
): Layer.Layer<
  McpClients,
  Configuration.InvalidConfiguration,
  FileSystem.FileSystem | Http.Requirements | Stdio.Requirements
> =>
  Layer.effect(
    McpClients,
    Effect.flatMap(Configuration.read(file, options), (table) => makeAny(table, options))
  )

/** Class of a service that holds the clients for one table. */
export interface ServiceClass<Self, Id extends string, T extends Table> extends Context.ServiceClass<
  Self,
  Id,
  Clients<keyof T & string>
> {
  /** Provides the table's clients both as this service and as `McpClients`. */
  readonly layer: Layer.Layer<Self | McpClients, never, Exclude<Requirements<T>, Scope.Scope>>
}

/**
 * Creates a service that holds the clients for a table and knows the server names at compile time.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { Effect } from "effect"
 *
 * class Servers extends McpClients.Service<Servers>()("app/Servers", {
 *   weather: McpClients.stdio({ command: "weather-server" }),
 *   files: McpClients.http({ url: "https://files.example.com/mcp" })
 * }) {}
 *
 * export const program = Effect.gen(function* () {
 *   const servers = yield* Servers
 *   return yield* servers.of("weather").callToolByName("forecast", { city: "Rome" })
 * }).pipe(Effect.provide(Servers.layer))
 * ```
 */
export const Service =
  <Self>() =>
  <const Id extends string, T extends Table>(id: Id, table: T, options: Options = {}): ServiceClass<Self, Id, T> => {
    const tag = Context.Service<Self, Clients<keyof T & string>>()(id)
    const both = Effect.map(makeAny(table, options), (clients) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names come from the table
      Context.make(McpClients, clients).pipe(Context.add(tag, clients as Clients<keyof T & string>))
    )
    return Object.assign(tag, { layer: Layer.effectContext(both) })
  }
