/**
 * All of a peer's resources as one service: a registry on the server, a proxy on the client.
 *
 * A resource is a URI with a `read` effect. A template is a family of URIs (RFC 6570). Pass a `changes` stream to make either of them
 * subscribable: each element announces an update. The stream only runs while there are subscribers.
 */
import * as Base64 from "effect/encoding/Base64"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Annotations } from "@effect-mcp/protocol/model/Annotations"
import type { ResourceContents } from "@effect-mcp/protocol/model/Content"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type * as Model from "@effect-mcp/protocol/model/Resource"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AskError } from "../request/ClientInput.ts"
import { askErrorToMcp } from "../request/askErrorToMcp.ts"
import * as CacheHint from "./CacheHint.ts"
import { type Completer, confined, inQuery } from "./Completions.ts"
import { registrationLayer } from "./registration.ts"
import type { NamedCompleters, VariablesOf } from "./templateVariables.ts"
import { HandlerContext } from "./HandlerContext.ts"
import type { Principal } from "../transport/Principal.ts"
import { type QueryServices, RequestContext, type RequestServices } from "../request/RequestContext.ts"

export type { Variables, VariablesOf } from "./templateVariables.ts"

/** The resource doesn't exist, or the caller must not know about it. The error code is -32002, or -32602 since 2026-07-28. */
export class ResourceNotFound extends Data.TaggedError("ResourceNotFound")<{ readonly uri: string }> {
  override get message(): string {
    return `Resource not found: ${excerpt(this.uri)}`
  }
}

/** Output of a `read`: text, bytes, or contents with their own URIs and media types. */
export type ResourceOutput = string | Uint8Array | ReadonlyArray<ResourceContents> | Model.ReadResourceResult
/** Errors a `read` may fail with. */
export type ReadError = ResourceNotFound | AskError | McpError.McpError

/** A source of resources. `read` and `watch` return `undefined` if the source has no resource at the URI. */
export interface ResourceSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, QueryServices>
  readonly templates: Effect.Effect<ReadonlyArray<Model.ResourceTemplate>, McpError.McpError, QueryServices>
  readonly read: (
    params: Model.ReadResourceParams
  ) => Effect.Effect<Model.ReadResourceResult, McpError.McpError, RequestServices> | undefined
  /**
   * Updates to one resource, shared by all callers, or `undefined` if the resource has no subscriptions. Runs while there are subscribers.
   */
  readonly watch: (uri: string) => Stream.Stream<unknown> | undefined
  /**
   * Returns true if one of the source's templates matches the URI, like `UriTemplate.matches`. Needed if several sources have the same
   * template.
   */
  readonly matches: (uriTemplate: string, uri: string) => boolean
  /** Returns the completer for a variable in one of the source's templates, or `undefined` if there is none. */
  readonly completerOf?: (uriTemplate: string, variable: string) => Completer<QueryServices> | undefined
  /** Emits whenever the resource or template list may have changed. */
  readonly changes: Stream.Stream<void>
}

/** The resources a program can read, local or remote. */
export class Resources extends Context.Service<Resources, ResourceSource>()("@effect-mcp/core/Resources") {}

/**
 * Returns true if the caller may know about a resource. Called before a resource is listed, read, completed or subscribed to. For a
 * template it is called with the member's URI, or without a URI to check the template itself.
 */
export type Visible = (principal: Principal["Service"], uri?: string) => boolean

/**
 * An update stream shared by all subscribers. It runs outside any request, so a request service in `R` is a compile error that names the
 * service.
 */
export type ResourceChanges<R> = Stream.Stream<unknown, never, R> & Shared<R>
type Shared<R> = [Extract<R, RequestServices>] extends [never]
  ? unknown
  : {
      readonly "`changes` runs once for all subscribers, so it cannot use request services": Extract<R, RequestServices>
    }
type Read = Effect.Effect<Model.ReadResourceResult, McpError.McpError, RequestServices>

/** A registered resource. */
export interface ResourceEntry {
  readonly resource: Model.Resource
  readonly read: Read
  readonly watch?: Stream.Stream<unknown> | undefined
  readonly visible?: Visible | undefined
}

/** A registered template. */
export interface TemplateEntry {
  readonly template: Model.ResourceTemplate
  /** Variable names in the template. */
  readonly variables: ReadonlyArray<string>
  /** Returns `undefined` if the template doesn't match the URI. */
  readonly read: (uri: string) => Read | undefined
  readonly watch: (uri: string) => Stream.Stream<unknown> | undefined
  /** True if clients can subscribe to resources that match the template. */
  readonly watchable: boolean
  /** Matching resources to include in the resource list. */
  readonly list?: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, QueryServices> | undefined
  readonly complete: { readonly [variable: string]: Completer<QueryServices> }
  readonly visible?: Visible | undefined
}

/** The resource registry. Registering a URI or template twice is a defect. */
export class ResourceRegistry extends Context.Service<
  ResourceRegistry,
  {
    readonly register: (entry: ResourceEntry) => Effect.Effect<void, never, Scope.Scope>
    readonly registerTemplate: (entry: TemplateEntry) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Adds all resources and templates of a source and prepends `prefix` to each URI, including the URIs in contents. `ToolRegistry.mount`
     * explains how clashes are resolved; updates come from every source with the URI.
     */
    readonly mount: (
      source: ResourceSource,
      options?: { readonly prefix?: string }
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Announces that a template's `list` has changed. */
    readonly changed: Effect.Effect<void>
  }
>()("@effect-mcp/core/ResourceRegistry") {}

interface Described {
  /** Programmatic name. `title` is the display name. */
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly annotations?: Annotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

/** Options for registering a resource. */
export interface Options extends Described {
  readonly uri: string
  /** Size in bytes, before encoding. */
  readonly size?: number | undefined
  /** How long a read stays fresh, and whether caches may share it (since 2026-07-28). Default: immediately stale and private. */
  readonly cache?: CacheHint.CacheHint | undefined
  /** Returns true if the caller may know about the resource. Default: visible to everyone. */
  readonly visible?: Visible | undefined
}

/** Options for registering a resource template. */
export interface TemplateOptions<RL, RC> extends Described {
  /**
   * RFC 6570 template. `{name}` matches within one path segment: the value can't be "." or "..", and can't contain "/", "\\" or NUL in any
   * encoding. `{+path}` also matches slashes and may contain "..", so `read` has to check the value.
   */
  readonly uriTemplate: string
  /** Variables that may have any value, as with `{+path}`. Naming a variable that isn't in the template is a defect. */
  readonly unconfined?: ReadonlyArray<string> | undefined
  /** Matching resources to include in the resource list, in addition to the template itself. */
  readonly list?: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, RL> | undefined
  readonly complete?: { readonly [variable: string]: Completer<RC> } | undefined
  /** Same as for a single resource. */
  readonly cache?: CacheHint.CacheHint | undefined
  readonly visible?: Visible | undefined
}

/** Returns the fields that resources and templates have in common. A field that violates the specification is a defect. */
const describe = (options: Described) => {
  const { name, title, description, mimeType, annotations, icons, meta } = options
  Validate.mimeType(`Resource ${name}`, mimeType)
  Validate.annotations(`Resource ${name}`, annotations)
  Validate.icons(`Resource ${name}`, icons)
  return {
    name,
    ...(title === undefined ? undefined : { title }),
    ...(description === undefined ? undefined : { description }),
    ...(mimeType === undefined ? undefined : { mimeType }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons }),
    ...(meta === undefined ? undefined : { _meta: meta })
  }
}

/** Converts the output of a `read` to a result for `uri`. Throws if contents written by hand violate the specification. */
const resultOf = (output: ResourceOutput, uri: string, mimeType?: string): Model.ReadResourceResult => {
  const type = (fallback: string) => mimeType ?? fallback
  if (typeof output === "string") return { contents: [{ uri, mimeType: type("text/plain"), text: output }] }
  if (output instanceof Uint8Array) {
    return { contents: [{ uri, mimeType: type("application/octet-stream"), blob: Base64.encode(output) }] }
  }
  const result = isContents(output) ? { contents: output } : output
  for (const part of result.contents) Validate.contents(`The resource ${excerpt(uri)}`, part)
  return result
}
const isContents = (output: Exclude<ResourceOutput, string | Uint8Array>): output is ReadonlyArray<ResourceContents> =>
  Array.isArray(output)

/** Dies if a member that a template lists violates the specification. */
const checkMembers = (members: ReadonlyArray<Model.Resource>): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const member of members) Validate.resource(`The listed resource ${member.name}`, member)
  })

/** Converts a handler's failures to protocol errors of the client's revision. */
const recover = (error: ReadError): Effect.Effect<never, McpError.McpError, RequestContext> => {
  if (error instanceof McpError.McpError) return Effect.fail(error)
  if (error instanceof ResourceNotFound) return notFound(error.uri)
  return askErrorToMcp(error)
}

/** Fails with the error for an unknown resource: -32002, or -32602 since 2026-07-28. */
export const notFound = (uri: string): Effect.Effect<never, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ revision }) => {
    const code = revision.rules.resourceNotFound
    const { message } = withoutStack(() => new ResourceNotFound({ uri }))
    return Effect.fail(withoutStack(() => new McpError.McpError({ code, message, data: { uri } })))
  })

/** True if the string has a scheme and contains only characters that RFC 3986 allows unescaped. */
export const isUri = (uri: string): boolean =>
  /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/.test(uri)

/**
 * Offers one resource for the lifetime of the layer. Pass `changes` to make it subscribable. That stream runs once for all callers who may
 * see the resource (`visible`), so an access check inside `read` doesn't prevent subscriptions. An invalid `uri` is a defect.
 *
 * @example
 * ```ts
 * import { Resources } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Stream } from "effect"
 *
 * const status = Resources.layer(
 *   { uri: "status://now", name: "Status", mimeType: "text/markdown" },
 *   Effect.succeed("# All is well"),
 *   Stream.tick("1 minute")
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(status, "2025-11-25")
 *   const { contents } = yield* client.readResource("status://now")
 *   for (const part of contents) if ("text" in part) yield* Console.log(part.text) // => # All is well
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const layer = <E extends ReadError, R, RW = never>(
  options: Options,
  read: Effect.Effect<ResourceOutput, E, R>,
  changes?: ResourceChanges<RW>
): Layer.Layer<never, never, ResourceRegistry | Exclude<R, RequestServices> | RW> =>
  registrationLayer(ResourceRegistry, (registry, services: Context.Context<Exclude<R, RequestServices> | RW>) => {
    const contents = new HandlerContext<R>(services).provided(() => read)
    const { uri, mimeType, size, visible } = options
    const cache = CacheHint.ofRead(options)
    if (!isUri(uri)) return Effect.die(new Error(`Not a valid URI (RFC 3986): ${JSON.stringify(uri)}`))
    return registry.register({
      resource: { uri, ...describe(options), ...(size === undefined ? undefined : { size }) },
      read: contents().pipe(
        Effect.map((output) => ({ ...cache, ...resultOf(output, uri, mimeType) })),
        Effect.catch(recover)
      ),
      watch: changes === undefined ? undefined : Stream.provideContext(changes, services),
      visible
    })
  })

/**
 * Offers a family of resources for the lifetime of the layer. `read` receives the variables parsed from the requested URI. Pass `changes`
 * to make each matching resource subscribable; the stream runs once per resource, no matter how many subscribers it has. An invalid RFC
 * 6570 template is a defect.
 *
 * @example
 * ```ts
 * import { Completions, Resources } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const users = new Map([["ada", "Ada Lovelace"]])
 *
 * export const profiles = Resources.layerTemplate(
 *   { uriTemplate: "users://{id}/profile", name: "Profile", complete: { id: Completions.choices([...users.keys()]) } },
 *   ({ id }, uri) => {
 *     const name = users.get(String(id))
 *     return name === undefined ? Effect.fail(new Resources.ResourceNotFound({ uri })) : Effect.succeed(name)
 *   }
 * )
 * ```
 */
export const layerTemplate = <
  E extends ReadError,
  R,
  RW = never,
  RL = never,
  RC = never,
  const T extends string = string,
  C = {}
>(
  options: TemplateOptions<RL, RC> & NamedCompleters<T, C>,
  read: (variables: VariablesOf<T>, uri: string) => Effect.Effect<ResourceOutput, E, R>,
  changes?: (variables: VariablesOf<T>, uri: string) => ResourceChanges<RW>
): Layer.Layer<never, never, ResourceRegistry | Exclude<R, RequestServices> | Exclude<RL | RC, QueryServices> | RW> =>
  registrationLayer(
    ResourceRegistry,
    (registry, services: Context.Context<Exclude<R, RequestServices> | Exclude<RL | RC, QueryServices> | RW>) => {
      const template = UriTemplate.parse(options.uriTemplate)
      if (Result.isFailure(template)) return Effect.die(template.failure)
      const { mimeType, uriTemplate, unconfined = [], visible, list } = options
      const stray = unconfined.find((name) => !UriTemplate.variables(template.success).includes(name))
      if (stray !== undefined) return Effect.die(new Error(`The template ${uriTemplate} has no variable ${stray}`))
      const variablesOf = (uri: string) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a match has exactly the variables that the template names
        UriTemplate.match(template.success, uri, { unconfined }) as VariablesOf<T> | undefined
      const contents = new HandlerContext<R>(services).provided(read)
      const cache = CacheHint.ofRead(options)
      return registry.registerTemplate({
        template: { uriTemplate, ...describe(options) },
        variables: UriTemplate.variables(template.success),
        read: (uri) => {
          const variables = variablesOf(uri)
          return variables === undefined
            ? undefined
            : contents(variables, uri).pipe(
                Effect.map((output) => ({ ...cache, ...resultOf(output, uri, mimeType) })),
                Effect.catch(recover)
              )
        },
        watch: (uri) => {
          const variables = changes && variablesOf(uri)
          return variables && changes && Stream.provideContext(changes(variables, uri), services)
        },
        watchable: changes !== undefined,
        list: list && Effect.tap(new HandlerContext<RL, QueryServices>(services).provided(() => list)(), checkMembers),
        complete: confined(inQuery(options.complete ?? {}, services), (name, value) =>
          UriTemplate.admits(template.success, name, value, { unconfined })
        ),
        visible
      })
    }
  )
