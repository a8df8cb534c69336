/**
 * The registry of a server's resources and templates: the service that feature layers register with, and the set that the dispatcher reads.
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
  /** The resources without members of the server's own templates. */
  readonly registered: ResourceSource["list"]
  readonly isEmpty: () => boolean
  /** True if the list of resources or templates may depend on the caller. */
  readonly isRestricted: (list: "resources" | "templates") => boolean
  readonly hasCompleters: () => boolean
  /** True if there is anything to subscribe to. */
  readonly watchable: () => boolean
  /** True if this principal sees a resource, template or source for the URI. */
  readonly has: (uri: string, principal: Principal["Service"]) => boolean
  /**
   * Calls the listener after every update of the resource that this principal would read, until the scope closes. All subscribers share one
   * watcher, which is running when this returns. Does nothing for a URI that the principal does not see.
   */
  readonly subscribe: (
    uri: string,
    principal: Principal["Service"],
    listener: ResourceWatchers.UpdateListener
  ) => Effect.Effect<void, never, Scope.Scope>
  /**
   * Shares updates with the server's other nodes until the scope closes. Must be called before the first subscription.
   */
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

/** Creates a registry: the service for feature layers, and the set that the dispatcher reads. Watchers live in the scope. */
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
    // A source's `watch` has no caller, so it offers what an anonymous caller sees.
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
      // The effect that lists a template's members may read its caller.
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
