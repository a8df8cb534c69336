/**
 * The resources and templates of a server: lists, reads, and the completers of templates. Static ones win over templates, own ones over
 * those of sources; a caller that does not see one gets the next.
 */
import { type Completer, ownCompleter } from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import { notFound, type ResourceEntry, type ResourceSource, type TemplateEntry } from "@effect-mcp/core/Resources"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Model from "@effect-mcp/protocol/model/Resource"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { type Registry, uniqueBy } from "./Registry.ts"
import { during } from "./mounting.ts"
import { type Listing, SourceOwners } from "./SourceOwners.ts"

type Caller = Principal["Service"]
type Listed<A> = Effect.Effect<ReadonlyArray<A>, McpError.McpError, QueryServices>

/** What a read of a URI is answered by: a key that the watchers share. */
export type WatchKey =
  | { readonly kind: "resource" | "mounted"; readonly uri: string }
  | { readonly kind: "template"; readonly uri: string; readonly uriTemplate: string }

/** A key as the key of a Map. */
export const textOfKey = ({ kind, uri, ...rest }: WatchKey): string => JSON.stringify({ kind, uri, ...rest })

const unsuggested = Effect.succeed([])

const sees = (entry: ResourceEntry | TemplateEntry, caller: Caller, uri?: string): boolean =>
  entry.visible?.(caller, uri) !== false

const seen = <A extends ResourceEntry | TemplateEntry>(entries: ReadonlyArray<A>, caller: Caller, uri?: string) =>
  entries.filter((entry) => sees(entry, caller, uri))

/** The URIs and templates of a source. */
const listing = (source: ResourceSource) =>
  Effect.map(
    Effect.all([source.list, source.templates], { concurrency: "unbounded" }),
    ([resources, templates]): Listing => {
      const uriTemplates = templates.map(({ uriTemplate }) => uriTemplate)
      return {
        names: new Set([...resources.map(({ uri }) => uri), ...uriTemplates]),
        // The source matches, so that a server without sources has no parser of templates.
        matches: (uri) => uriTemplates.some((uriTemplate) => source.matches(uriTemplate, uri))
      }
    }
  )

/** Whether an error says of this URI that there is no such resource; the code depends on the revision of the server that is mounted. */
export const isNotFound = ({ code, data }: McpError.McpError, uri: string): boolean =>
  code === McpError.ResourceNotFound || (code === McpError.InvalidParams && isJsonObject(data) && data.uri === uri)

/** The updates of several streams, until all have ended. `Stream.mergeAll` does the same, and adds 1.4 KiB to the bundle of each server. */
const ofEach = (streams: ReadonlyArray<Stream.Stream<unknown>>): Stream.Stream<unknown> =>
  Stream.callback<unknown>(
    (queue) =>
      Effect.andThen(
        Effect.forEach(streams, (stream) => Stream.runForEach(stream, (update) => Queue.offer(queue, update)), {
          concurrency: "unbounded",
          discard: true
        }),
        Queue.end(queue)
      ),
    { bufferSize: 16 }
  )

export class ResourceEntries {
  private readonly statics: Registry<ResourceEntry, ResourceSource>
  private readonly patterns: Registry<TemplateEntry, never>
  private readonly owners: SourceOwners<ResourceSource>

  constructor(statics: Registry<ResourceEntry, ResourceSource>, patterns: Registry<TemplateEntry, never>) {
    this.statics = statics
    this.patterns = patterns
    this.owners = new SourceOwners(statics)
  }

  readonly list: Listed<Model.Resource> = this.listed((caller) =>
    seen(this.patterns.entries, caller).flatMap((entry) =>
      entry.list === undefined
        ? []
        : [Effect.map(entry.list, (all) => all.filter((member) => sees(entry, caller, member.uri)))]
    )
  )

  /** Without the members of the server's own templates, whose lists may read anything. */
  readonly registered: Listed<Model.Resource> = this.listed(() => [])

  /** Own resources, the members of templates, those of sources. */
  private listed(membersOf: (caller: Caller) => ReadonlyArray<Listed<Model.Resource>>): Listed<Model.Resource> {
    return Effect.flatMap(Principal, (caller) => {
      const own = seen(this.statics.entries, caller).map((entry) => entry.resource)
      const mounted = this.statics.sources.map((source) => source.list)
      return Effect.map(Effect.all([...membersOf(caller), ...mounted], { concurrency: "unbounded" }), (rest) =>
        uniqueBy([own, ...rest].flat(), (resource: Model.Resource) => resource.uri)
      )
    })
  }

  readonly templates: Listed<Model.ResourceTemplate> = Effect.suspend(() =>
    Effect.flatMap(Principal, (caller) => {
      const own = seen(this.patterns.entries, caller).map((entry) => entry.template)
      const mounted = this.statics.sources.map((source) => source.templates)
      return Effect.map(Effect.all(mounted, { concurrency: "unbounded" }), (rest) =>
        uniqueBy([own, ...rest].flat(), (template: Model.ResourceTemplate) => template.uriTemplate)
      )
    })
  )

  readonly read: ResourceSource["read"] = (params) => {
    const { uri } = params
    const { patterns, statics } = this
    const mounted = () => {
      const read = this.owners.choose(uri, (source) => source.read(params), listing)
      return read && Effect.catch(read, (error) => (isNotFound(error, uri) ? notFound(uri) : Effect.fail(error)))
    }
    const matching = patterns.entries.filter((entry) => entry.read(uri) !== undefined)
    if (statics.get(uri) === undefined && matching.length === 0) return mounted()
    const elsewhere: ResourceEntry["read"] = Effect.suspend(() => mounted() ?? notFound(uri))
    return Effect.flatMap(Principal, (caller) => {
      const [match] = seen(matching, caller, uri)
      const member =
        match === undefined
          ? elsewhere
          : patterns.hold(
              match.template.uriTemplate,
              (entry) => entry.read(uri) ?? elsewhere,
              () => elsewhere
            )
      return statics.hold(
        uri,
        (entry) => (sees(entry, caller) ? entry.read : member),
        () => member
      )
    })
  }

  /** The key of what answers the caller's read of a URI; undefined where it sees nothing. */
  watchKeyOf(uri: string, caller: Caller): WatchKey | undefined {
    const entry = this.statics.get(uri)
    if (entry !== undefined && sees(entry, caller)) return { kind: "resource", uri }
    const pattern = this.patterns.entries.find((one) => one.read(uri) !== undefined && sees(one, caller, uri))
    if (pattern !== undefined) return { kind: "template", uri, uriTemplate: pattern.template.uriTemplate }
    return this.offeredBySource(uri) ? { kind: "mounted", uri } : undefined
  }

  private offeredBySource(uri: string): boolean {
    return this.statics.sources.some((source) => source.read({ uri }) !== undefined)
  }

  /** The updates of what a key names; undefined where it cannot be watched. */
  watch(key: WatchKey): Stream.Stream<unknown> | undefined {
    const { uri } = key
    if (key.kind === "resource") {
      const stream = this.statics.get(uri)?.watch
      return stream && during(this.statics, uri, stream)
    }
    if (key.kind === "template") {
      const stream = this.patterns.get(key.uriTemplate)?.watch(uri)
      return stream && during(this.patterns, key.uriTemplate, stream)
    }
    // A watcher has no request in which lists could be read, so each source that may have the URI is watched.
    const streams = this.statics.sources.flatMap((source) => source.watch(uri) ?? [])
    return streams.length > 1 ? ofEach(streams) : streams[0]
  }

  /** Whether a template, its own or that of a source, matches a URI. */
  matches(uriTemplate: string, uri: string): boolean {
    const own = this.patterns.get(uriTemplate)
    if (own !== undefined) return own.read(uri) !== undefined
    return this.statics.sources.some((source) => source.matches(uriTemplate, uri))
  }

  /** The completer of one variable; undefined when it has none; an error for a template or variable that does not exist. */
  completer(
    uriTemplate: string,
    variable: string,
    caller: Caller
  ): Completer<QueryServices> | undefined | McpError.McpError {
    const entry = this.patterns.get(uriTemplate)
    if (entry !== undefined && sees(entry, caller)) {
      return entry.variables.includes(variable)
        ? ownCompleter(entry.complete, variable)
        : McpError.invalidParams(
            `The resource template ${uriTemplate} has no variable ${excerpt(JSON.stringify(variable))}`
          )
    }
    const known = this.statics.get(uriTemplate) // a plain URI may be named too; it has nothing to complete
    if (known !== undefined && sees(known, caller)) return undefined
    if (!this.offeredBySource(uriTemplate)) {
      return McpError.invalidParams(`Unknown resource template: ${excerpt(uriTemplate)}`)
    }
    return (value, others) =>
      this.owners.choose(
        uriTemplate,
        (source) =>
          source.read({ uri: uriTemplate }) &&
          (source.completerOf?.(uriTemplate, variable)?.(value, others) ?? unsuggested),
        listing
      ) ?? unsuggested
  }
}
