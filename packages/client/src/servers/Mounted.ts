/**
 * Mounts several servers' features into your own server, turning it into a gateway.
 *
 * Tools and prompts use their merged names. A resource URI is prefixed with its server's name and `+`. While a server is disconnected, its
 * lists are empty and requests to it fail with -32603.
 */
import type { Suggestions } from "@effect-mcp/core/Completions"
import { PromptRegistry, type PromptSource } from "@effect-mcp/core/Prompts"
import { notFound, ResourceRegistry, type ResourceSource } from "@effect-mcp/core/Resources"
import { ToolRegistry, type ToolSource } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { type Item, type ListKind, listKinds } from "@effect-mcp/protocol/MethodInfo"
import type * as Duration from "effect/Duration"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Client } from "../Client.ts"
import * as Sources from "../mount/Sources.ts"
import { changesOf, itemsOf, listChanges, type MergedList, type Route } from "./MergedList.ts"
import type { NamedList } from "./Names.ts"
import type { Supervised } from "./Supervisor.ts"

/** The merged lists whose items have names. */
export type NamedLists = { readonly [N in NamedList]: MergedList<Item<N>> }

interface Mountable extends NamedLists {
  readonly servers: ReadonlyArray<Supervised>
  /** How long a list waits for a server. */
  readonly patience: Duration.Input
}

const none = Effect.succeed<Suggestions>({ values: [] })

const toMcpError = (error: { readonly message: string }): McpError.McpError =>
  error instanceof McpError.McpError ? error : McpError.internalError(error.message)

const withMcpError = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, toMcpError)

const listOf = <A extends { readonly name: string }>(merged: MergedList<A>) =>
  withMcpError(Effect.map(merged.list, (all) => all.map(({ item, name }) => ({ ...item, name }))))

/** Runs a request on the server that a name belongs to. */
const routed = <A, B, R>(
  merged: MergedList<A>,
  name: string,
  use: (client: Client, own: Route["name"]) => Effect.Effect<B, McpError.McpError, R> | undefined
) =>
  Effect.flatMap(withMcpError(merged.route(name)), ({ name: own, server }) =>
    Effect.flatMap(
      withMcpError(server.client),
      (client) => use(client, own) ?? Effect.fail(McpError.invalidParams(`Unknown name: ${own}`))
    )
  )

const toolsOf = ({ tools }: Mountable): ToolSource => ({
  list: listOf(tools),
  call: (params) => routed(tools, params.name, (client, name) => Sources.tools(client).call({ ...params, name })),
  changes: tools.changes
})

const promptsOf = ({ prompts }: Mountable): PromptSource => ({
  list: listOf(prompts),
  get: (params) => routed(prompts, params.name, (client, name) => Sources.prompts(client).get({ ...params, name })),
  completerOf: (prompt, argument) => (value, others) =>
    routed(prompts, prompt, (client, name) => {
      const completer = Sources.prompts(client).completerOf?.(name, argument)
      return completer === undefined ? none : completer(value, others)
    }),
  changes: prompts.changes
})

/** One server's resources, with their own URIs. */
const resourcesOf = (server: Supervised, patience: Duration.Input): ResourceSource => {
  const source = Effect.map(withMcpError(server.client), Sources.resources)
  return {
    list: Effect.map(itemsOf(server, "resources", patience), (items = []) => items),
    templates: Effect.map(itemsOf(server, "resourceTemplates", patience), (items = []) => items),
    read: (params) => Effect.flatMap(source, ({ read }) => read(params) ?? notFound(params.uri)),
    // Watches again each time the server reconnects.
    watch: (uri) => changesOf(server, (client) => Sources.resources(client).watch(uri) ?? Stream.empty),
    matches: UriTemplate.matches,
    completerOf: (template, variable) => (value, others) =>
      Effect.flatMap(source, ({ completerOf }) => {
        const completer = completerOf?.(template, variable)
        return completer === undefined ? none : completer(value, others)
      }),
    changes: listChanges(server, "resources")
  }
}

/** Services that mounting requires. */
export type MountRegistries = PromptRegistry | ResourceRegistry | Scope.Scope | ToolRegistry

type Mount = (all: Mountable) => Effect.Effect<void, never, MountRegistries>

/** How to mount the lists behind each capability. A missing entry is a type error. */
const mounts: Readonly<Record<ListKind, Mount>> = {
  tools: (all) => Effect.flatMap(ToolRegistry, (registry) => registry.mount(toolsOf(all))),
  prompts: (all) => Effect.flatMap(PromptRegistry, (registry) => registry.mount(promptsOf(all))),
  resources: ({ patience, servers }) =>
    Effect.flatMap(ResourceRegistry, (registry) =>
      Effect.forEach(
        servers,
        (server) => registry.mount(resourcesOf(server, patience), { prefix: `${server.name}+` }),
        { discard: true }
      )
    )
}

/** Mounts all servers' features until the scope closes. */
export const mount = Effect.fnUntraced(function* (all: Mountable): Effect.fn.Return<void, never, MountRegistries> {
  for (const kind of listKinds) yield* mounts[kind](all)
})
