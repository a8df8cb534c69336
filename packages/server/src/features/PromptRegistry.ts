/**
 * The server's prompts, and completers for their arguments. The server's own prompts take precedence over prompts with
 * the same name from sources; see `SourceOwners`.
 */
import { Principal } from "@effect-mcp/core/Principal"
import { type PromptEntry, PromptRegistry, type PromptSource } from "@effect-mcp/core/Prompts"
import { type Completer, ownCompleter } from "@effect-mcp/core/Completions"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { mount } from "./mounting.ts"
import { type Changing, isRestricted, itemsOf, Registry, sees } from "./Registry.ts"
import { SourceOwners } from "./SourceOwners.ts"

const prefixed = (source: PromptSource, prefix: string): PromptSource => ({
  list: Effect.map(source.list, (prompts) => prompts.map((prompt) => ({ ...prompt, name: prefix + prompt.name }))),
  get: (params) =>
    params.name.startsWith(prefix) ? source.get({ ...params, name: params.name.slice(prefix.length) }) : undefined,
  ...(source.completerOf && {
    completerOf: (name: string, argument: string) =>
      name.startsWith(prefix) ? source.completerOf?.(name.slice(prefix.length), argument) : undefined
  }),
  changes: source.changes
})

const unsuggested = Effect.succeed([])

export interface PromptSet extends Omit<PromptSource, "changes">, Changing {
  readonly isEmpty: () => boolean
  /** True if the list may depend on the caller. */
  readonly isRestricted: () => boolean
  readonly hasCompleters: () => boolean
  /**
   * Returns the completer for one argument, or `undefined` if it has none. Fails if the prompt or argument does not
   * exist.
   */
  readonly completer: (
    name: string,
    argument: string,
    principal: Principal["Service"]
  ) => Completer<QueryServices> | undefined | McpError.McpError
}

/** Creates a registry: the service for feature layers, and the set that the dispatcher reads. */
export const make: Effect.Effect<{ readonly prompts: PromptSet; readonly context: Context.Context<PromptRegistry> }> =
  Effect.map(Registry.make<PromptEntry, PromptSource>("prompt"), (registry) => {
    const list: PromptSource["list"] = itemsOf(
      registry,
      (entry) => entry.prompt,
      (prompt) => prompt.name,
      () => registry.sources.map((source) => source.list)
    )
    const owners = new SourceOwners<PromptSource>(registry)
    const listing = (source: PromptSource) =>
      Effect.map(source.list, (prompts) => ({ names: new Set(prompts.map(({ name }) => name)) }))
    const mounted: PromptSource["get"] = (params) => owners.choose(params.name, (source) => source.get(params), listing)
    const mountedCompleter =
      (name: string, argument: string): Completer<QueryServices> =>
      (value, others) =>
        owners.choose(
          name,
          (source) => source.get({ name }) && (source.completerOf?.(name, argument)?.(value, others) ?? unsuggested),
          listing
        ) ?? unsuggested
    const get: PromptSource["get"] = (params) => {
      const { name } = params
      if (registry.get(name) === undefined) return mounted(params)
      const elsewhere = Effect.suspend(() => mounted(params) ?? Effect.fail(McpError.unknownPrompt(name)))
      const own = (principal: Principal["Service"]) => (entry: PromptEntry) =>
        sees(entry, principal) ? entry.get(params) : elsewhere
      return Effect.flatMap(Principal, (principal) => registry.hold(name, own(principal), () => elsewhere))
    }
    const prompts: PromptSet = {
      list,
      get,
      listen: registry.listen,
      isEmpty: () => registry.isEmpty,
      isRestricted: () => isRestricted(registry),
      hasCompleters: () =>
        registry.sources.some((source) => source.completerOf !== undefined) ||
        registry.entries.some((entry) => Object.keys(entry.complete).length > 0),
      completer: (name, argument, principal) => {
        const entry = registry.get(name)
        if (entry === undefined || !sees(entry, principal)) {
          const isMounted = registry.sources.some((source) => source.get({ name }) !== undefined)
          return isMounted ? mountedCompleter(name, argument) : McpError.unknownPrompt(name)
        }
        return entry.prompt.arguments?.some((known) => known.name === argument) === true
          ? ownCompleter(entry.complete, argument)
          : McpError.invalidParams(`The prompt ${name} has no argument ${excerpt(JSON.stringify(argument))}`)
      }
    }
    return {
      prompts,
      context: Context.make(PromptRegistry, {
        register: (entry) => registry.register(entry.prompt.name, entry),
        mount: (source, options) =>
          mount(registry, options?.prefix === undefined ? source : prefixed(source, options.prefix))
      })
    }
  })
