/**
 * The server's resources and templates. Static ones win over templates, own ones over mounted ones.
 *
 * Watching is shared: however many subscribe to a URI, its `changes` stream runs once, from the first subscriber to the last.
 */
import { type Completer, ownCompleter } from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
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
import * as Cause from "effect/Cause"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as RcMap from "effect/RcMap"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Registry, uniqueBy } from "./Registry.ts"

type Listed<A> = Effect.Effect<ReadonlyArray<A>, McpError.McpError, QueryServices>

export interface Subscriber {
  /** Must not fail. */
  readonly resourceUpdated: (uri: string) => void
}

/** One subscription: who is subscribed twice is so until both have ended. */
interface Subscription {
  readonly subscriber: Subscriber
}

export interface ResourceSet extends ResourceSource {
  readonly isEmpty: () => boolean
  readonly hasCompleters: () => boolean
  /** Whether anything can be subscribed to. */
  readonly watchable: () => boolean
  /** Whether the URI is one of ours, seen by this principal. */
  readonly has: (uri: string, principal: Principal["Service"]) => boolean
  /** As long as the scope lives the subscriber is told of every update. One watcher for all; it runs when this returns. */
  readonly subscribe: (uri: string, subscriber: Subscriber) => Effect.Effect<void, never, Scope.Scope>
  readonly completer: (
    uriTemplate: string,
    variable: string,
    principal: Principal["Service"]
  ) => Completer<QueryServices> | undefined | McpError.McpError
}

const hasVariable = (uriTemplate: string, variable: string): boolean =>
  Result.match(UriTemplate.parse(uriTemplate), {
    onFailure: () => false,
    onSuccess: (template) => UriTemplate.variables(template).includes(variable)
  })

/** So few that what is visited thrice for a message (told, announced, written) is still in the caches the third time. */
const atOnce = 64

/** Tells all who are there, some in a turn: those have it before the next are told, and the server answers others meanwhile. */
const tell = (uri: string, told: ReadonlySet<Subscription>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const rest = told.values()
    // Whoever comes meanwhile comes after them, and has not missed it: who subscribes anew when told is not told again.
    let left = told.size
    const some = (): Effect.Effect<void> => {
      for (let i = 0; i < atOnce; i++) {
        const next = rest.next()
        if (next.done === true || left-- === 0) return Effect.void
        next.value.subscriber.resourceUpdated(uri)
      }
      return Effect.flatMap(Effect.yieldNow, some)
    }
    return some()
  })

/** A fresh registry: the tag for feature layers, and what the dispatcher reads. Watchers live in the scope. */
export const make: Effect.Effect<
  { readonly resources: ResourceSet; readonly context: Context.Context<ResourceRegistry> },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const statics = yield* Registry.make<ResourceEntry, ResourceSource>("resource")
  const templates = yield* Registry.make<TemplateEntry, never>("resource template")
  const changes = Stream.merge(statics.changes, templates.changes)

  const sees = (entry: ResourceEntry | TemplateEntry, principal: Principal["Service"]): boolean =>
    entry.visible?.(principal) !== false
  const seen = <A extends ResourceEntry | TemplateEntry>(entries: ReadonlyArray<A>, principal: Principal["Service"]) =>
    entries.filter((entry) => sees(entry, principal))

  const list: Listed<Model.Resource> = Effect.gen(function* () {
    const principal = yield* Principal
    const own = seen(statics.entries, principal).map((entry) => entry.resource)
    const members = seen(templates.entries, principal).flatMap((entry) =>
      entry.list === undefined ? [] : [entry.list]
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

  const read: ResourceSource["read"] = (params) => {
    const { uri } = params
    const mounted = () => {
      for (const source of statics.sources) {
        const effect = source.read(params)
        if (effect !== undefined) return effect
      }
      return undefined
    }
    const matching = templates.entries.filter((entry) => entry.read(uri) !== undefined)
    if (statics.get(uri) === undefined && matching.length === 0) return mounted()
    const elsewhere: ResourceEntry["read"] = Effect.suspend(() => mounted() ?? notFound(uri))
    return Effect.flatMap(Principal, (principal) => {
      const [match] = seen(matching, principal)
      const member =
        match === undefined
          ? elsewhere
          : templates.hold(match.template.uriTemplate, (entry) => entry.read(uri) ?? elsewhere, elsewhere)
      return statics.hold(uri, (entry) => (sees(entry, principal) ? entry.read : member), member)
    })
  }

  const watch = (uri: string): Stream.Stream<unknown> | undefined => {
    const entry = statics.get(uri)
    if (entry !== undefined) return entry.watch && statics.during(uri, entry.watch)
    for (const candidate of templates.entries) {
      const stream = candidate.watch(uri)
      if (stream !== undefined) return templates.during(candidate.template.uriTemplate, stream)
    }
    for (const source of statics.sources) {
      const stream = source.watch(uri)
      if (stream !== undefined) return stream
    }
    return undefined
  }

  /** Who is told of updates, by URI: called one after the other, since a fiber or a queue each would cost more than the message. */
  const watchers: RcMap.RcMap<string, Set<Subscription>> = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (uri: string): Effect.fn.Return<Set<Subscription>, never, Scope.Scope> {
      const told = new Set<Subscription>()
      const stream = watch(uri)
      if (stream !== undefined) {
        yield* Stream.runForEachArray(stream, () => tell(uri, told)).pipe(
          Effect.tapCause((cause) =>
            Cause.hasDies(cause) ? Effect.logError(`The watcher of ${uri} died`, cause) : Effect.void
          ),
          // Whoever subscribes after the resource has gone and come back gets its new watcher.
          Effect.andThen(
            Effect.suspend(() => (watch(uri) === undefined ? RcMap.invalidate(watchers, uri) : Effect.void))
          ),
          Effect.forkScoped({ startImmediately: true })
        )
      }
      return told
    })
  })

  const resources: ResourceSet = {
    list,
    templates: listTemplates,
    read,
    watch,
    changes,
    isEmpty: () => statics.isEmpty && templates.isEmpty,
    watchable: () =>
      statics.sources.length > 0 ||
      statics.entries.some((entry) => entry.watch !== undefined) ||
      templates.entries.some((entry) => entry.watchable),
    hasCompleters: () => templates.entries.some((entry) => Object.keys(entry.complete).length > 0),
    has: (uri, principal) => {
      const entry = statics.get(uri)
      return (
        (entry !== undefined && sees(entry, principal)) ||
        seen(templates.entries, principal).some((template) => template.read(uri) !== undefined) ||
        statics.sources.some((source) => source.read({ uri }) !== undefined)
      )
    },
    subscribe: (uri, subscriber) =>
      Effect.flatMap(RcMap.get(watchers, uri), (told) => {
        const one = { subscriber }
        return Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => told.add(one)),
            () => Effect.sync(() => told.delete(one))
          )
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
      return known !== undefined && sees(known, principal)
        ? undefined
        : McpError.invalidParams(`Unknown resource template: ${uriTemplate}`)
    }
  }
  return {
    resources,
    context: Context.make(ResourceRegistry, {
      register: (entry) => statics.register(entry.resource.uri, entry),
      registerTemplate: (entry) => templates.register(entry.template.uriTemplate, entry),
      mount: (source) => statics.mount(source),
      changed: templates.changed
    })
  }
})
