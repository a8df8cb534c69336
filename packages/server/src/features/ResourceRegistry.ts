/**
 * The server's resources and templates. Static ones win over templates, own ones over mounted ones.
 *
 * Watching is shared: the `changes` of a resource run once, from the first listener to the last, in the context of its layer. A caller
 * gets updates only of what it may read.
 */
import { type Completer, ownCompleter } from "@effect-mcp/core/Completions"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import {
  notFound,
  type ResourceEntry,
  ResourceRegistry,
  type ResourceSource,
  type TemplateEntry
} from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Model from "@effect-mcp/protocol/model/Resource"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { hasVisibility, Registry, uniqueBy } from "./Registry.ts"
import { SourceOwners } from "./SourceOwners.ts"

type Listed<A> = Effect.Effect<ReadonlyArray<A>, McpError.McpError, QueryServices>

export interface UpdateListener {
  /** Called in the watcher's fiber: must not throw. */
  readonly resourceUpdated: (uri: string) => void
}

/** One subscription: a listener with two of them is called until both have ended. */
interface Subscription {
  readonly listener: UpdateListener
}

export interface ResourceSet extends ResourceSource {
  readonly isEmpty: () => boolean
  /** Whether some resources or templates are visible to some callers only. */
  readonly isRestricted: () => boolean
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
    listener: UpdateListener
  ) => Effect.Effect<void, never, Scope.Scope>
  readonly completer: (
    uriTemplate: string,
    variable: string,
    principal: Principal["Service"]
  ) => Completer<QueryServices> | undefined | McpError.McpError
}

/** What answers for a URI: a key that the watchers share. */
type WatchKey =
  | { readonly kind: "resource" | "mounted"; readonly uri: string }
  | { readonly kind: "template"; readonly uri: string; readonly uriTemplate: string }

const unsuggested = Effect.succeed([])

const matches = (uriTemplate: string, uri: string): boolean =>
  Result.match(UriTemplate.parse(uriTemplate), {
    onFailure: () => false,
    onSuccess: (template) => UriTemplate.match(template, uri) !== undefined
  })

const hasVariable = (uriTemplate: string, variable: string): boolean =>
  Result.match(UriTemplate.parse(uriTemplate), {
    onFailure: () => false,
    onSuccess: (template) => UriTemplate.variables(template).includes(variable)
  })

/** Subscribers called in one turn: few enough to stay in the processor's caches until their message is written. */
const atOnce = 64

/** Calls all subscribers, some in a turn: those have written the update before the next are called, and other requests run between. */
const notifyAll = (uri: string, subscriptions: ReadonlySet<Subscription>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const rest = subscriptions.values()
    // Subscriptions made meanwhile come last in the set and are not counted: they have missed nothing.
    let left = subscriptions.size
    const some = (): Effect.Effect<void> => {
      for (let i = 0; i < atOnce; i++) {
        const next = rest.next()
        if (next.done === true || left-- === 0) return Effect.void
        next.value.listener.resourceUpdated(uri)
      }
      return Effect.flatMap(Effect.yieldNow, some)
    }
    return some()
  })

/** Whether an error says of this URI that there is no such resource; the code depends on the revision. */
const isNotFound = ({ code, data }: McpError.McpError, uri: string): boolean =>
  (code === McpError.ResourceNotFound || code === McpError.InvalidParams) && isJsonObject(data) && data.uri === uri

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
  const changes = Stream.merge(statics.changes, templates.changes)

  const sees = (entry: ResourceEntry | TemplateEntry, principal: Principal["Service"], uri?: string): boolean =>
    entry.visible?.(principal, uri) !== false
  const seen = <A extends ResourceEntry | TemplateEntry>(
    entries: ReadonlyArray<A>,
    principal: Principal["Service"],
    uri?: string
  ) => entries.filter((entry) => sees(entry, principal, uri))

  const list: Listed<Model.Resource> = Effect.gen(function* () {
    const principal = yield* Principal
    const own = seen(statics.entries, principal).map((entry) => entry.resource)
    const members = seen(templates.entries, principal).flatMap((entry) =>
      entry.list === undefined
        ? []
        : [Effect.map(entry.list, (all) => all.filter((member) => sees(entry, principal, member.uri)))]
    )
    const mounted = statics.sources.map((source) => source.list)
    const rest = yield* Effect.all([...members, ...mounted], { concurrency: "unbounded" })
    return uniqueBy([own, ...rest].flat(), (resource: Model.Resource) => resource.uri)
  })
  const listTemplates: Listed<Model.ResourceTemplate> = Effect.gen(function* () {
    const own = seen(templates.entries, yield* Principal).map((entry) => entry.template)
    const mounted = yield* Effect.all(
      statics.sources.map((source) => source.templates),
      { concurrency: "unbounded" }
    )
    return uniqueBy([own, ...mounted].flat(), (template: Model.ResourceTemplate) => template.uriTemplate)
  })

  const owners = new SourceOwners<ResourceSource>(statics)
  /** Whether a source lists a URI, or a template that matches it. */
  const listing = (uri: string) => (source: ResourceSource) =>
    Effect.map(
      Effect.all([source.list, source.templates], { concurrency: "unbounded" }),
      ([resources, templates]) =>
        resources.some((resource) => resource.uri === uri) ||
        templates.some(({ uriTemplate }) => uriTemplate === uri || matches(uriTemplate, uri))
    )

  const read: ResourceSource["read"] = (params) => {
    const { uri } = params
    const mounted = () => owners.choose(uri, (source) => source.read(params), listing(uri))
    const matching = templates.entries.filter((entry) => entry.read(uri) !== undefined)
    if (statics.get(uri) === undefined && matching.length === 0) return mounted()
    const elsewhere: ResourceEntry["read"] = Effect.suspend(() => mounted() ?? notFound(uri))
    return Effect.flatMap(Principal, (principal) => {
      const [match] = seen(matching, principal, uri)
      const member =
        match === undefined
          ? elsewhere
          : Effect.suspend(
              () => templates.hold(match.template.uriTemplate, (entry) => entry.read(uri) ?? elsewhere) ?? elsewhere
            )
      return statics.hold(uri, (entry) => (sees(entry, principal) ? entry.read : member)) ?? member
    })
  }

  /** What answers a principal's read of a URI. */
  const watchKeyOf = (uri: string, principal: Principal["Service"]): WatchKey | undefined => {
    const entry = statics.get(uri)
    if (entry !== undefined && sees(entry, principal)) return { kind: "resource", uri }
    const template = templates.entries.find((one) => one.read(uri) !== undefined && sees(one, principal, uri))
    if (template !== undefined) return { kind: "template", uri, uriTemplate: template.template.uriTemplate }
    return statics.sources.some((source) => source.read({ uri }) !== undefined) ? { kind: "mounted", uri } : undefined
  }
  const watch = (from: WatchKey): Stream.Stream<unknown> | undefined => {
    const { uri } = from
    if (from.kind === "resource") {
      const stream = statics.get(uri)?.watch
      return stream && statics.during(uri, stream)
    }
    if (from.kind === "template") {
      const stream = templates.get(from.uriTemplate)?.watch(uri)
      return stream && templates.during(from.uriTemplate, stream)
    }
    // A watcher has no request in which lists could be read, so each source that may have the URI is watched.
    const streams = statics.sources.flatMap((source) => source.watch(uri) ?? [])
    return streams.length > 1 ? Stream.mergeAll(streams, { concurrency: "unbounded" }) : streams[0]
  }

  const context = yield* Effect.context<never>()
  /** The subscriptions to each key: called one after the other, since a fiber or a queue each would cost more than the message. */
  const watchers: RcMap.RcMap<WatchKey, Set<Subscription>> = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (from: WatchKey): Effect.fn.Return<Set<Subscription>, never, Scope.Scope> {
      const { uri } = from
      const subscriptions = new Set<Subscription>()
      const stream = watch(from)
      if (stream !== undefined) {
        yield* Stream.runForEachArray(stream, () => notifyAll(uri, subscriptions)).pipe(
          Effect.tapCause((cause) =>
            Cause.hasDies(cause) ? Effect.logError(`The watcher of ${uri} died`, cause) : Effect.void
          ),
          // A subscription made after the resource was removed and registered again gets its new watcher.
          Effect.andThen(
            Effect.suspend(() => (watch(from) === undefined ? RcMap.invalidate(watchers, from) : Effect.void))
          ),
          // The first listener's request is over long before the watcher is: its services are not the watcher's.
          Effect.updateContext<never, never>(() => context),
          Effect.forkScoped({ startImmediately: true })
        )
      }
      return subscriptions
    })
  })

  const resources: ResourceSet = {
    list,
    templates: listTemplates,
    read,
    // `watch` of a source names no listener: it offers what an anonymous caller sees.
    watch: (uri) => {
      const from = watchKeyOf(uri, anonymous)
      return from && watch(from)
    },
    changes,
    isEmpty: () => statics.isEmpty && templates.isEmpty,
    isRestricted: () => statics.entries.some(hasVisibility) || templates.entries.some(hasVisibility),
    watchable: () =>
      statics.sources.length > 0 ||
      statics.entries.some((entry) => entry.watch !== undefined) ||
      templates.entries.some((entry) => entry.watchable),
    hasCompleters: () =>
      statics.sources.some((source) => source.completerOf !== undefined) ||
      templates.entries.some((entry) => Object.keys(entry.complete).length > 0),
    has: (uri, principal) => watchKeyOf(uri, principal) !== undefined,
    subscribe: Effect.fnUntraced(function* (uri, principal, listener) {
      const from = watchKeyOf(uri, principal)
      if (from === undefined) return
      const subscriptions = yield* RcMap.get(watchers, from)
      const one = { listener }
      yield* Effect.acquireRelease(
        Effect.sync(() => subscriptions.add(one)),
        () => Effect.sync(() => subscriptions.delete(one))
      )
    }),
    completer: (uriTemplate, variable, principal) => {
      const entry = templates.get(uriTemplate)
      if (entry !== undefined && sees(entry, principal)) {
        return hasVariable(uriTemplate, variable)
          ? ownCompleter(entry.complete, variable)
          : McpError.invalidParams(`The resource template ${uriTemplate} has no variable ${JSON.stringify(variable)}`)
      }
      const known = statics.get(uriTemplate) // a plain URI may be named too; it has nothing to complete
      if (known !== undefined && sees(known, principal)) return undefined
      if (!statics.sources.some((source) => source.read({ uri: uriTemplate }) !== undefined)) {
        return McpError.invalidParams(`Unknown resource template: ${uriTemplate}`)
      }
      return (value, others) =>
        owners.choose(
          uriTemplate,
          (source) =>
            source.read({ uri: uriTemplate }) &&
            (source.completerOf?.(uriTemplate, variable)?.(value, others) ?? unsuggested),
          listing(uriTemplate)
        ) ?? unsuggested
    }
  }
  return {
    resources,
    context: Context.make(ResourceRegistry, {
      register: (entry) => statics.register(entry.resource.uri, entry),
      registerTemplate: (entry) => templates.register(entry.template.uriTemplate, entry),
      mount: (source, options) =>
        statics.mount(options?.prefix === undefined ? source : prefixed(source, options.prefix)),
      changed: templates.changed
    })
  }
})
