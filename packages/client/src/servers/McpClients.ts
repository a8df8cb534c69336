/**
 * Clients of several servers as one service: merges their lists, supervises each server and reports which server asks a question.
 *
 * Building the service does not wait for any server. A server that is down is left out of the lists, fails its own requests with
 * `Unavailable`, and is retried with growing delays. Closing the scope closes every client.
 */
import type { GetPromptResult, Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { PromptRegistry } from "@effect-mcp/core/Prompts"
import type { ResourceRegistry } from "@effect-mcp/core/Resources"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Resource, ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { CallEvent } from "../features/Calls.ts"
import type * as Http from "../transport/Http.ts"
import type * as Stdio from "../transport/Stdio.ts"
import * as Configuration from "./Configuration.ts"
import * as MergedList from "./MergedList.ts"
import * as Mounted from "./Mounted.ts"
import type * as Names from "./Names.ts"
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
  /**
   * How to name tools and prompts in the merged lists. Default `prefix`: the name of the server, `_`, then the name of the tool or prompt.
   */
  readonly names?: Names.Naming | undefined
}

/** Servers by name. */
export type Table<R = unknown> = { readonly [name: string]: TableServer<unknown, R> }

/** Services that the servers of a table require. */
export type Requirements<T extends Table> = T[keyof T] extends TableServer<unknown, infer R> ? R : never

/** A tool, prompt, resource or resource template, and the name of its server. */
export interface Listed<A> {
  readonly server: string
  /** The item as its server lists it, with the server's own name or URI. */
  readonly item: A
}

/** A listed item and its name in the merged list. */
export interface Named<A> extends Listed<A> {
  readonly name: string
}

type MergedError = Names.NameClash | ServerClient.ServerRequestError

/** Merged lists and requests of several servers. */
export interface MergedClients {
  /**
   * Tools of all connected servers, in the order of the table. Fails with `NameClash` if `names` is `refuse` and two tools have the same
   * name.
   */
  readonly listTools: Effect.Effect<ReadonlyArray<Named<Tool>>, Names.NameClash>
  readonly listPrompts: Effect.Effect<ReadonlyArray<Named<Prompt>>, Names.NameClash>
  /** Resources of all connected servers. URIs are unique only within a server, so read a resource through `of(server)`. */
  readonly listResources: Effect.Effect<ReadonlyArray<Listed<Resource>>>
  readonly listResourceTemplates: Effect.Effect<ReadonlyArray<Listed<ResourceTemplate>>>
  /** Calls a tool by its name in the merged list. */
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
  /** Gets a prompt by its name in the merged list. */
  readonly getPromptByName: (
    name: string,
    args?: { readonly [argument: string]: string },
    options?: CallOptions
  ) => Effect.Effect<GetPromptResult, MergedError>
  /** Emits when the merged list may have changed, including when a server connects or disconnects. Bursts of changes become one event. */
  readonly toolChanges: Stream.Stream<void>
  readonly promptChanges: Stream.Stream<void>
  readonly resourceChanges: Stream.Stream<void>
  /** Mounts the features of all servers into the server whose registries are in the context. */
  readonly mount: Effect.Effect<void, never, PromptRegistry | ResourceRegistry | Scope.Scope | ToolRegistry>
}

/** Clients of the servers of a table. */
export interface Clients<Name extends string = string> extends MergedClients {
  /** Names of the servers, in the order of the table. */
  readonly names: ReadonlyArray<Name>
  /** Returns the requests of one server. */
  readonly of: (server: Name) => ServerClient.ServerClient
  readonly state: (server: Name) => ServerState
  /** Emits the current state of each server, then every change. */
  readonly states: Stream.Stream<{ readonly server: Name; readonly state: ServerState }>
  /** Tries to connect to a server that is down, without waiting for its next attempt, and returns the new state. */
  readonly retry: (server: Name) => Effect.Effect<ServerState>
}

/** Clients of servers whose names are not known to the compiler, such as servers from a file. */
export class McpClients extends Context.Service<McpClients, Clients>()("@effect-mcp/client/McpClients") {}

const tools: MergedList.Feature<Tool> = {
  kind: "tool",
  list: ({ listTools }) => listTools,
  changes: ({ toolChanges }) => toolChanges
}
const prompts: MergedList.Feature<Prompt> = {
  kind: "prompt",
  list: ({ listPrompts }) => listPrompts,
  changes: ({ promptChanges }) => promptChanges
}

/** Stands in for a server that is not in the table. */
const missing = (name: string, names: ReadonlyArray<string>): Supervisor.Supervised => {
  const message = `There is no server ${JSON.stringify(name)}: the table has ${names.join(", ") || "none"}`
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
  { names = "prefix", patience = Supervisor.defaultPatience }: Options
): MergedClients => {
  const merging = { servers, names, patience }
  const merged = {
    servers,
    patience,
    tools: MergedList.make(tools, merging),
    prompts: MergedList.make(prompts, merging)
  }
  const listed = <A>(list: Parameters<typeof MergedList.itemsOf<A>>[1]): Effect.Effect<ReadonlyArray<Listed<A>>> =>
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
  return {
    listTools: merged.tools.list,
    listPrompts: merged.prompts.list,
    listResources: listed((client) => client.listResources),
    listResourceTemplates: listed((client) => client.listResourceTemplates),
    callToolByName: (name, args, options) =>
      Effect.flatMap(route(merged.tools, name), ({ client, own }) => client.callToolByName(own, args, options)),
    callToolByNameStream: (name, args, options) =>
      Stream.unwrap(
        Effect.map(route(merged.tools, name), ({ client, own }) => client.callToolByNameStream(own, args, options))
      ),
    getPromptByName: (name, args, options) =>
      Effect.flatMap(route(merged.prompts, name), ({ client, own }) => client.getPromptByName(own, args, options)),
    toolChanges: merged.tools.changes,
    promptChanges: merged.prompts.changes,
    resourceChanges: MergedList.anyOf(
      servers.map((server) => MergedList.changesOf(server, (client) => client.resourceChanges))
    ),
    mount: Mounted.mount(merged)
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
 * Makes clients for the servers of a table, which close with the scope. Does not wait for any server.
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
 * Provides clients for the servers of a table as `McpClients`. `of` accepts any name; an unknown name fails the request with `Unavailable`.
 */
export const layer = <T extends Table>(
  table: T,
  options: Options = {}
): Layer.Layer<McpClients, never, Exclude<Requirements<T>, Scope.Scope>> =>
  Layer.effect(McpClients, makeAny(table, options))

/**
 * Provides clients for the servers of a configuration file. Fails with `InvalidConfiguration` if the file cannot be used, but not if a
 * server is down.
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

/** The class of a service with the clients of one table. */
export interface ServiceClass<Self, Id extends string, T extends Table> extends Context.ServiceClass<
  Self,
  Id,
  Clients<keyof T & string>
> {
  /** Provides the clients of the table as this service and as `McpClients`. */
  readonly layer: Layer.Layer<Self | McpClients, never, Exclude<Requirements<T>, Scope.Scope>>
}

/**
 * Creates a service with the clients of a table, typed by the names of its servers.
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
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names are those of the table
      Context.make(McpClients, clients).pipe(Context.add(tag, clients as Clients<keyof T & string>))
    )
    return Object.assign(tag, { layer: Layer.effectContext(both) })
  }
