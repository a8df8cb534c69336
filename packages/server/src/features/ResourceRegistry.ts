/**
 * The registry of a server's resources and templates: what feature layers register with, and the set that the dispatcher reads.
 */
import type { Completer } from "@effect-mcp/core/Completions"
import { anonymous, type Principal } from "@effect-mcp/core/Principal"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import {
  notFound,
  type ResourceEntry,
  ResourceRegistry,
  type ResourceSource,
  type TemplateEntry
} from "@effect-mcp/core/Resources"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { mount } from "./mounting.ts"
import { type Changing, isRestricted, Registry } from "./Registry.ts"
import { isNotFound, ResourceEntries } from "./ResourceEntries.ts"
import * as ResourceWatchers from "./ResourceWatchers.ts"
import type { SharedUpdates, WatchHere } from "./SharedUpdates.ts"

export interface ResourceSet extends Omit<ResourceSource, "changes">, Changing {
  /** The resources without the members of the server's own templates. */
  readonly registered: ResourceSource["list"]
  readonly isEmpty: () => boolean
  /** Whether the list of resources, or that of templates, may depend on its caller. */
  readonly isRestricted: (list: "resources" | "templates") => boolean
  readonly hasCompleters: () => boolean
  /** Whether anything can be subscribed to. */
  readonly watchable: () => boolean
  /** Whether this principal sees a resource, template or source that answers for the URI. */
  readonly has: (uri: string, principal: Principal["Service"]) => boolean
  /**
   * Calls the listener at every update of what this principal would read, until the scope closes. All subscribers share one watcher,
   * which runs when this returns. Nothing happens for a URI that the principal does not see.
   */
  readonly subscribe: (
    uri: string,
    principal: Principal["Service"],
    listener: ResourceWatchers.UpdateListener
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Shares the updates with the other nodes of a server, until the scope closes. Called before the first subscription. */
  readonly share: (
    sharing: (watch: WatchHere) => Effect.Effect<SharedUpdates, never, Scope.Scope>
  ) => Effect.Effect<void, never, Scope.Scope>
  readonly completer: (
    uriTemplate: string,
    variable: string,
    principal: Principal["Service"]
  ) => Completer<QueryServices> | undefined | McpError.McpError
}

const prefixed = (source: ResourceSource, prefix: string): ResourceSource => {
  const own = <A>(uri: string, use: (uri: string) => A | undefined): A | undefined =>
    uri.startsWith(prefix) ? use(uri.slice(prefix.length)) : undefined
  return {
    list: Effect.map(source.list, (all) => all.map((resource) => ({ ...resource, uri: prefix + resource.uri }))),
    templates: Effect.map(source.templates, (all) =>
      all.map((template) => ({ ...template, uriTemplate: prefix + template.uriTemplate }))
    ),
    read: (params) =>
      own(params.uri, (uri) => {
        const read = source.read({ ...params, uri })
        return (
          read &&
          Effect.matchEffect(read, {
            onFailure: (error) => (isNotFound(error, uri) ? notFound(params.uri) : Effect.fail(error)),
            onSuccess: (result) =>
              Effect.succeed({
                ...result,
                contents: result.contents.map((part) => ({ ...part, uri: prefix + part.uri }))
              })
          })
        )
      }),
    watch: (uri) => own(uri, source.watch),
    matches: (uriTemplate, uri) => own(uriTemplate, (rest) => own(uri, (uri) => source.matches(rest, uri))) === true,
    ...(source.completerOf && {
      completerOf: (uriTemplate: string, variable: string) =>
        own(uriTemplate, (rest) => source.completerOf?.(rest, variable))
    }),
    changes: source.changes
  }
}

/** A new registry: the service for feature layers, and the set that the dispatcher reads. Watchers live in the scope. */
export const make: Effect.Effect<
  { readonly resources: ResourceSet; readonly context: Context.Context<ResourceRegistry> },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const statics = yield* Registry.make<ResourceEntry, ResourceSource>("resource")
  const templates = yield* Registry.make<TemplateEntry, never>("resource template")
  const entries = new ResourceEntries(statics, templates)
  const watchers = yield* ResourceWatchers.make(entries)
  let shared: SharedUpdates | undefined
  const resources: ResourceSet = {
    list: entries.list,
    registered: entries.registered,
    templates: entries.templates,
    read: entries.read,
    // `watch` of a source names no caller: it offers what an anonymous one sees.
    watch: (uri) => {
      const key = entries.watchKeyOf(uri, anonymous)
      return key && entries.watch(key)
    },
    matches: (uriTemplate, uri) => entries.matches(uriTemplate, uri),
    listen: (listener) => {
      statics.listen(listener)
      templates.listen(listener)
    },
    isEmpty: () => statics.isEmpty && templates.isEmpty,
    isRestricted: (list) =>
      isRestricted(statics) ||
      isRestricted(templates) ||
      // The effect that lists the members of a template may read its caller.
      (list === "resources" && templates.entries.some((entry) => entry.list !== undefined)),
    watchable: () =>
      statics.sources.length > 0 ||
      statics.entries.some((entry) => entry.watch !== undefined) ||
      templates.entries.some((entry) => entry.watchable),
    hasCompleters: () =>
      statics.sources.some((source) => source.completerOf !== undefined) ||
      templates.entries.some((entry) => Object.keys(entry.complete).length > 0),
    has: (uri, principal) => entries.watchKeyOf(uri, principal) !== undefined,
    subscribe: (uri, principal, listener) =>
      Effect.suspend(() => {
        const key = entries.watchKeyOf(uri, principal)
        if (key === undefined) return Effect.void
        const here = watchers.subscribe(key, listener)
        return shared === undefined ? here : Effect.andThen(here, shared.subscribe(key, listener))
      }),
    share: (sharing) =>
      Effect.map(
        sharing((key, listener) => watchers.subscribe(key, listener)),
        (updates) => void (shared = updates)
      ),
    completer: (uriTemplate, variable, principal) => entries.completer(uriTemplate, variable, principal)
  }
  return {
    resources,
    context: Context.make(ResourceRegistry, {
      register: (entry) => statics.register(entry.resource.uri, entry),
      registerTemplate: (entry) => templates.register(entry.template.uriTemplate, entry),
      mount: (source, options) =>
        mount(statics, options?.prefix === undefined ? source : prefixed(source, options.prefix)),
      changed: templates.changed
    })
  }
})
