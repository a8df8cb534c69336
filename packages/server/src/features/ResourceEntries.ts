/**
 * A server's resources and templates: lists, reads, and completers for templates. Static resources take precedence over
 * templates, and the server's own entries over entries from sources. A caller that cannot see an entry gets the next
 * match.
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
import * as Stream from "effect/Stream"
import { itemsOf, type Registry, sees } from "./Registry.ts"
import { during } from "./mounting.ts"
import { type Listing, SourceOwners } from "./SourceOwners.ts"

type Caller = Principal["Service"]
type Listed<A> = Effect.Effect<ReadonlyArray<A>, McpError.McpError, QueryServices>

/** Identifies the entry that answers a read of a URI. Reads with the same key share a watcher. */
export type WatchKey =
  | { readonly kind: "resource" | "mounted"; readonly uri: string }
  | { readonly kind: "template"; readonly uri: string; readonly uriTemplate: string }

/** Serializes a watch key, for use as the key of a Map. */
export const textOfKey = ({ kind, uri, ...rest }: WatchKey): string => JSON.stringify({ kind, uri, ...rest })

const unsuggested = Effect.succeed([])

const seen = <A extends ResourceEntry | TemplateEntry>(entries: ReadonlyArray<A>, caller: Caller, uri?: string) =>
  entries.filter((entry) => sees(entry, caller, uri))

/** Reads a source's URIs and templates. */
const listing = (source: ResourceSource) =>
  Effect.map(
    Effect.all([source.list, source.templates], { concurrency: "unbounded" }),
    ([resources, templates]): Listing => {
      const uriTemplates = templates.map(({ uriTemplate }) => uriTemplate)
      return {
        names: new Set([...resources.map(({ uri }) => uri), ...uriTemplates]),
        // The source does the matching, so that a server without sources does not bundle a template parser.
        matches: (uri) => uriTemplates.some((uriTemplate) => source.matches(uriTemplate, uri))
      }
    }
  )

/**
 * True if an error means that there is no resource at this URI. The error code depends on the revision of the mounted
 * server.
 */
export const isNotFound = ({ code, data }: McpError.McpError, uri: string): boolean =>
  code === McpError.ResourceNotFound || (code === McpError.InvalidParams && isJsonObject(data) && data.uri === uri)

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

  /** All resources except members of the server's own templates, because listing members may read anything. */
  readonly registered: Listed<Model.Resource> = this.listed(() => [])

  /** Lists the server's own resources, then templates' members, then resources from sources. */
  private listed(membersOf: (caller: Caller) => ReadonlyArray<Listed<Model.Resource>>): Listed<Model.Resource> {
    // Fields are initialized before the constructor assigns the registries.
    return Effect.suspend(() =>
      itemsOf(
        this.statics,
        (entry) => entry.resource,
        ({ uri }) => uri,
        (caller) => [...membersOf(caller), ...this.statics.sources.map((source) => source.list)]
      )
    )
  }

  readonly templates: Listed<Model.ResourceTemplate> = Effect.suspend(() =>
    itemsOf(
      this.patterns,
      (entry) => entry.template,
      ({ uriTemplate }) => uriTemplate,
      () => this.statics.sources.map((source) => source.templates)
    )
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

  /**
   * Returns the key of the entry that answers when this caller reads a URI, or `undefined` if the caller sees nothing
   * there.
   */
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

  /** Streams updates to a key's resource, or returns `undefined` if it cannot be watched. */
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
    // A watcher has no request in which lists could be read, so every source that may have the URI is watched.
    const streams = this.statics.sources.flatMap((source) => source.watch(uri) ?? [])
    return streams.length > 1 ? Stream.mergeAll(streams, { concurrency: "unbounded" }) : streams[0]
  }

  /** True if a template in this server or a source matches a URI. */
  matches(uriTemplate: string, uri: string): boolean {
    const own = this.patterns.get(uriTemplate)
    if (own !== undefined) return own.read(uri) !== undefined
    return this.statics.sources.some((source) => source.matches(uriTemplate, uri))
  }

  /**
   * Returns the completer for one variable, or `undefined` if it has none. Fails if the template or variable does not
   * exist.
   */
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
    const known = this.statics.get(uriTemplate) // a plain URI has no variables to complete
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
