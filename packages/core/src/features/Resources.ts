/**
 * The resources of a peer, behind one tag: a registry on the server, a proxy on the client.
 *
 * A resource is a URI with a `read`; a template is a family of URIs (RFC 6570). `changes` makes either subscribable: each event of that
 * stream is one update, and the stream runs only while there are subscribers.
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

/** There is no such resource, or the caller must not know of it. Answered by -32002, or -32602 from 2026-07-28 on. */
export class ResourceNotFound extends Data.TaggedError("ResourceNotFound")<{ readonly uri: string }> {
  override get message(): string {
    return `Resource not found: ${excerpt(this.uri)}`
  }
}

/** What a `read` returns: text, bytes, or contents with URIs and types of their own. */
export type ResourceOutput = string | Uint8Array | ReadonlyArray<ResourceContents> | Model.ReadResourceResult
/** The failures of a `read`. */
export type ReadError = ResourceNotFound | AskError | McpError.McpError

/** A source of resources. `read` and `watch` give `undefined` for a URI that the source does not have. */
export interface ResourceSource {
  readonly list: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, QueryServices>
  readonly templates: Effect.Effect<ReadonlyArray<Model.ResourceTemplate>, McpError.McpError, QueryServices>
  readonly read: (
    params: Model.ReadResourceParams
  ) => Effect.Effect<Model.ReadResourceResult, McpError.McpError, RequestServices> | undefined
  /** Updates of one resource, shared by all callers; `undefined` when it cannot be subscribed to. Runs while it has subscribers. */
  readonly watch: (uri: string) => Stream.Stream<unknown> | undefined
  /** Whether one of its templates matches a URI, where several sources offer it; as `UriTemplate.matches` does. */
  readonly matches: (uriTemplate: string, uri: string) => boolean
  /** The completer of a variable of one of its templates; `undefined` where there is none. */
  readonly completerOf?: (uriTemplate: string, variable: string) => Completer<QueryServices> | undefined
  /** One event whenever the lists may answer differently. */
  readonly changes: Stream.Stream<void>
}

/** The resources that a program reads, wherever they are. */
export class Resources extends Context.Service<Resources, ResourceSource>()("@effect-mcp/core/Resources") {}

/**
 * Whether a caller may know of a resource. Called before it is listed, read, completed or subscribed to: with the URI of a template's
 * member, or without one for the template itself.
 */
export type Visible = (principal: Principal["Service"], uri?: string) => boolean

/** Updates that all subscribers share: a type error names the request services in `R`, since no request runs the stream. */
export type ResourceChanges<R> = Stream.Stream<unknown, never, R> & Shared<R>
type Shared<R> = [Extract<R, RequestServices>] extends [never]
  ? unknown
  : { readonly "`changes` runs once for all subscribers and has no services of a request": Extract<R, RequestServices> }
type Read = Effect.Effect<Model.ReadResourceResult, McpError.McpError, RequestServices>

/** A resource as a registry holds it. */
export interface ResourceEntry {
  readonly resource: Model.Resource
  readonly read: Read
  readonly watch?: Stream.Stream<unknown> | undefined
  readonly visible?: Visible | undefined
}

/** A template as a registry holds it. */
export interface TemplateEntry {
  readonly template: Model.ResourceTemplate
  /** The names of its variables. */
  readonly variables: ReadonlyArray<string>
  /** `undefined` for a URI that the template does not match. */
  readonly read: (uri: string) => Read | undefined
  readonly watch: (uri: string) => Stream.Stream<unknown> | undefined
  /** Whether its members can be subscribed to at all. */
  readonly watchable: boolean
  /** Members to list by name. */
  readonly list?: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, QueryServices> | undefined
  readonly complete: { readonly [variable: string]: Completer<QueryServices> }
  readonly visible?: Visible | undefined
}

/** Where feature layers register. A URI or template that is taken is a defect. */
export class ResourceRegistry extends Context.Service<
  ResourceRegistry,
  {
    readonly register: (entry: ResourceEntry) => Effect.Effect<void, never, Scope.Scope>
    readonly registerTemplate: (entry: TemplateEntry) => Effect.Effect<void, never, Scope.Scope>
    /**
     * Adds all resources and templates of a source; `prefix` comes before each URI, also in contents. For one URI of several sources see
     * `ToolRegistry.mount`; its updates come from all of them.
     */
    readonly mount: (
      source: ResourceSource,
      options?: { readonly prefix?: string }
    ) => Effect.Effect<void, never, Scope.Scope>
    /** Announces that the `list` of a template has changed. */
    readonly changed: Effect.Effect<void>
  }
>()("@effect-mcp/core/ResourceRegistry") {}

interface Described {
  /** The name for programs; `title` is the one to show. */
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly annotations?: Annotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

/** One resource. */
export interface Options extends Described {
  readonly uri: string
  /** In bytes, before any encoding. */
  readonly size?: number | undefined
  /** How long a read stays fresh, and for which callers (2026-07-28 on). Default: stale at once and private. */
  readonly cache?: CacheHint.CacheHint | undefined
  /** Whether a caller may know of it. Default true. */
  readonly visible?: Visible | undefined
}

/** A family of resources. */
export interface TemplateOptions<RL, RC> extends Described {
  /**
   * RFC 6570. `{name}` stays within a path segment: its value is neither "." nor "..", and holds no "/", "\\" or NUL, however these are
   * encoded. `{+path}` crosses slashes and may climb: `read` has to check it.
   */
  readonly uriTemplate: string
  /** Variables that may have any value, like `{+path}`. A name that the template does not have is a defect. */
  readonly unconfined?: ReadonlyArray<string> | undefined
  /** Members to list beside the template itself. */
  readonly list?: Effect.Effect<ReadonlyArray<Model.Resource>, McpError.McpError, RL> | undefined
  readonly complete?: { readonly [variable: string]: Completer<RC> } | undefined
  /** As for a single resource. */
  readonly cache?: CacheHint.CacheHint | undefined
  readonly visible?: Visible | undefined
}

/** The fields that resources and templates share. One that the specification does not allow is a defect. */
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

/** The result of a `read` of `uri`. */
export const resultOf = (output: ResourceOutput, uri: string, mimeType?: string): Model.ReadResourceResult => {
  const type = (fallback: string) => mimeType ?? fallback
  if (typeof output === "string") return { contents: [{ uri, mimeType: type("text/plain"), text: output }] }
  if (output instanceof Uint8Array) {
    return { contents: [{ uri, mimeType: type("application/octet-stream"), blob: Base64.encode(output) }] }
  }
  return isContents(output) ? { contents: output } : output
}
const isContents = (output: Exclude<ResourceOutput, string | Uint8Array>): output is ReadonlyArray<ResourceContents> =>
  Array.isArray(output)

/** A handler's failures as errors of the revision. */
const recover = (error: ReadError): Effect.Effect<never, McpError.McpError, RequestContext> => {
  if (error instanceof McpError.McpError) return Effect.fail(error)
  if (error instanceof ResourceNotFound) return notFound(error.uri)
  return askErrorToMcp(error)
}

/** The error for an unknown resource: -32002, or -32602 from 2026-07-28 on. */
export const notFound = (uri: string): Effect.Effect<never, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ revision }) => {
    const code = revision.rules.resourceNotFound
    const { message } = withoutStack(() => new ResourceNotFound({ uri }))
    return Effect.fail(withoutStack(() => new McpError.McpError({ code, message, data: { uri } })))
  })

/** Whether it has a scheme, and no character that must be percent-encoded (RFC 3986). */
export const isUri = (uri: string): boolean =>
  /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$/.test(uri)

/**
 * Offers one resource for as long as the layer lives. With `changes` it can be subscribed to: the stream runs once for all callers to
 * which the resource is `visible`; a check inside `read` does not prevent subscriptions. An invalid `uri` is a defect.
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
    if (!isUri(uri)) return Effect.die(new Error(`Not a URI (RFC 3986): ${JSON.stringify(uri)}`))
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
 * Offers a family of resources for as long as the layer lives. `read` gets the variables of the requested URI. `changes` makes members
 * subscribable and runs once for all subscribers of a member. A template that is not RFC 6570 is a defect.
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
        list: list === undefined ? undefined : new HandlerContext<RL, QueryServices>(services).provided(() => list)(),
        complete: confined(inQuery(options.complete ?? {}, services), (name, value) =>
          UriTemplate.admits(template.success, name, value, { unconfined })
        ),
        visible
      })
    }
  )
