/**
 * Required scopes of tools, resources and prompts: `Tools.layer(...).pipe(Auth.requires("files:write"))`.
 *
 * An annotation of layers: the contract of a tool stays free of one server's policy. A caller that lacks a scope cannot run, read, complete
 * or subscribe to what the annotated layer registers. Its entries are listed nevertheless; with `hide` they do not exist for that caller.
 */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { notFound, ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Completer } from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestContext } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { MiddlewareRegistry, type Request, type Result } from "@effect-mcp/server/Middleware"
import { unknownPrompt } from "@effect-mcp/server/internal/PromptRegistry"
import { unknownTool } from "@effect-mcp/server/internal/ToolRegistry"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { admits, admitted, Auth } from "./Caller.ts"

type Check = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | McpError, R | Principal | RequestContext>

type Sees = (principal: Principal["Service"], uri?: string) => boolean

/** How the annotation guards one entry. */
interface Rules {
  readonly check: Check
  /** Which callers see the entry; undefined where all do. */
  readonly sees: Sees | undefined
}

interface Annotation {
  readonly scopes: ReadonlyArray<string>
  readonly hide: boolean
}

/** Guards entries; nested annotations become one check, whose challenge names the scopes of all of them. */
const guarded = <Entry extends object>() => {
  const known = new WeakMap<Entry, Annotation & { readonly plain: Entry }>()
  return (
    entry: Entry,
    annotation: Annotation,
    auth: Auth["Service"],
    guard: (entry: Entry, rules: Rules) => Entry
  ): Entry => {
    const before = known.get(entry)
    const plain = before?.plain ?? entry
    const scopes = [...(before?.scopes ?? []), ...annotation.scopes]
    const hide = annotation.hide || before?.hide === true
    const demanded = admitted(auth, scopes)
    const result = guard(plain, {
      check: (effect) => Effect.andThen(demanded, effect),
      sees: hide ? admits(auth, scopes) : undefined
    })
    known.set(result, { plain, scopes, hide })
    return result
  }
}

/** Visible to callers that both the entry's own rule and the annotation admit. */
const visible = (own: Sees | undefined, sees: Sees | undefined): Sees | undefined =>
  own === undefined || sees === undefined
    ? (own ?? sees)
    : (principal, uri) => sees(principal, uri) && own(principal, uri)

/** The list of a mounted source; empty where the caller must not see the source. */
const listed = <A, E, R>(
  list: Effect.Effect<ReadonlyArray<A>, E, R>,
  sees: Sees | undefined
): Effect.Effect<ReadonlyArray<A>, E, R | Principal> =>
  sees === undefined ? list : Effect.flatMap(Principal, (principal) => (sees(principal) ? list : Effect.succeed([])))

/** The answer of a mounted source; the error for an unknown name where the caller must not see the source. */
const answered =
  <A, B, E, R, E2, R2>(
    ask: (asked: A) => Effect.Effect<B, E, R> | undefined,
    { check, sees }: Rules,
    unknown: (asked: A) => Effect.Effect<never, E2, R2>
  ) =>
  (asked: A): Effect.Effect<B, E | E2 | McpError, R | R2 | Principal | RequestContext> | undefined => {
    const offer = ask(asked)
    if (offer === undefined || sees === undefined) return offer && check(offer)
    return Effect.flatMap(Principal, (principal): Effect.Effect<B, E | E2, R | R2> =>
      sees(principal) ? offer : unknown(asked)
    )
  }

type Tools = Context.Service.Shape<typeof ToolRegistry>
type Resources = Context.Service.Shape<typeof ResourceRegistry>
type Prompts = Context.Service.Shape<typeof PromptRegistry>

const tool = guarded<Parameters<Tools["register"]>[0]>()
const toolSource = guarded<Parameters<Tools["mount"]>[0]>()
const resource = guarded<Parameters<Resources["register"]>[0]>()
const template = guarded<Parameters<Resources["registerTemplate"]>[0]>()
const resourceSource = guarded<Parameters<Resources["mount"]>[0]>()
const prompt = guarded<Parameters<Prompts["register"]>[0]>()
const promptSource = guarded<Parameters<Prompts["mount"]>[0]>()

/** Maps what a source or template gives for a request that it knows. */
const offered =
  <A, B>(ask: (asked: A) => B | undefined, check: (offer: B) => B) =>
  (asked: A): B | undefined => {
    const offer = ask(asked)
    return offer === undefined ? undefined : check(offer)
  }

const completers = (all: { readonly [name: string]: Completer<QueryServices> }, check: Check) =>
  Object.fromEntries(
    Object.entries(all).map(([name, complete]): readonly [string, Completer<QueryServices>] => [
      name,
      (value, others) => check(complete(value, others))
    ])
  )

/** The result with private caching: what needs a scope must not reach other callers from a shared cache. */
const unshared = <A extends { readonly cacheScope?: "public" | "private" | undefined }>(result: A): A =>
  result.cacheScope === "public" ? { ...result, cacheScope: "private" } : result

const tools = (registry: Tools, annotation: Annotation, auth: Auth["Service"], registered: Registered): Tools => ({
  find: (name, principal) => registry.find(name, principal),
  call: (params) => registry.call(params),
  taskTools: () => registry.taskTools(),
  mayNeedTask: () => registry.mayNeedTask(),
  mayBeTask: (name) => registry.mayBeTask(name),
  register: (entry) => {
    registered()
    return registry.register(
      tool(entry, annotation, auth, (plain, { check, sees }) => ({
        ...plain,
        call: (params) => check(plain.call(params)),
        visible: visible(plain.visible, sees)
      }))
    )
  },
  mount: (source, options) => {
    registered()
    const guardedSource = toolSource(source, annotation, auth, (plain, rules) => ({
      ...plain,
      list: listed(plain.list, rules.sees),
      call: answered(plain.call, rules, ({ name }) => Effect.fail(unknownTool(name)))
    }))
    return registry.mount(guardedSource, options)
  }
})

const prompts = (
  registry: Prompts,
  annotation: Annotation,
  auth: Auth["Service"],
  registered: Registered
): Prompts => ({
  register: (entry) => {
    registered()
    return registry.register(
      prompt(entry, annotation, auth, (plain, { check, sees }) => ({
        ...plain,
        get: (params) => check(plain.get(params)),
        complete: completers(plain.complete, check),
        visible: visible(plain.visible, sees)
      }))
    )
  },
  mount: (source, options) => {
    registered()
    const guardedSource = promptSource(source, annotation, auth, (plain, rules) => ({
      ...plain,
      list: listed(plain.list, rules.sees),
      get: answered(plain.get, rules, ({ name }) => Effect.fail(unknownPrompt(name)))
    }))
    return registry.mount(guardedSource, options)
  }
})

const resources = (
  registry: Resources,
  annotation: Annotation,
  auth: Auth["Service"],
  registered: Registered
): Resources => ({
  register: (entry) => {
    registered(annotation.hide ? undefined : (uri) => uri === entry.resource.uri)
    return registry.register(
      resource(entry, annotation, auth, (plain, { check, sees }) => ({
        ...plain,
        read: Effect.map(check(plain.read), unshared),
        visible: visible(plain.visible, sees)
      }))
    )
  },
  registerTemplate: (entry) => {
    registered(annotation.hide ? undefined : (uri) => entry.read(uri) !== undefined)
    return registry.registerTemplate(
      template(entry, annotation, auth, (plain, { check, sees }) => ({
        ...plain,
        read: offered(plain.read, (read) => Effect.map(check(read), unshared)),
        complete: completers(plain.complete, check),
        visible: visible(plain.visible, sees)
      }))
    )
  },
  mount: (source, options) => {
    const { prefix = "" } = options ?? {}
    registered((uri) => uri.startsWith(prefix) && source.read({ uri: uri.slice(prefix.length) }) !== undefined)
    const guardedSource = resourceSource(source, annotation, auth, (plain, rules) => ({
      ...plain,
      list: listed(plain.list, rules.sees),
      templates: listed(plain.templates, rules.sees),
      read: offered(
        answered(plain.read, rules, ({ uri }) => notFound(uri)),
        Effect.map(unshared)
      )
    }))
    return registry.mount(guardedSource, options)
  },
  changed: registry.changed
})

/** The context with registries that guard their entries instead of the plain ones. */
const wrap = (
  context: Context.Context<never>,
  annotation: Annotation,
  auth: Auth["Service"],
  registered: Registered
): Context.Context<never> => {
  let wrapped: Context.Context<never> = context
  const replace = <Id, Shape>(
    tag: Context.Key<Id, Shape>,
    make: (registry: Shape, annotation: Annotation, auth: Auth["Service"], registered: Registered) => Shape
  ) => {
    const registry = Context.getOption(context, tag)
    if (registry._tag === "Some")
      wrapped = Context.add(wrapped, tag, make(registry.value, annotation, auth, registered))
  }
  replace(ToolRegistry, tools)
  replace(PromptRegistry, prompts)
  replace(ResourceRegistry, resources)
  return wrapped
}

/** Whether this annotation guards subscriptions to a URI. Hidden entries need no rule: a subscription to an unknown URI fails anyway. */
type Covers = (uri: string) => boolean
type Registered = (covers?: Covers) => void

/** The URIs that a request subscribes to. */
const subscribed = (request: Request): ReadonlyArray<string> => {
  if (request.method === "resources/subscribe") return [request.params.uri]
  return request.method === "subscriptions/listen" ? (request.params.notifications.resourceSubscriptions ?? []) : []
}

/** A list that depends on its caller is cached privately, whatever the caching hints of the server say. */
const toCallerAlone = (result: Result): Result =>
  isEncodedResult(result) ? result : { ...result, cacheScope: "private" }

/** Options of `requires`. */
export interface RequiresOptions {
  readonly scopes: readonly [string, ...ReadonlyArray<string>]
  /**
   * Whether entries are hidden from callers that lack a scope: not listed, and refused like an unknown name, without a challenge. Lists
   * are then cached privately. Default false: entries are listed, and a request for one is answered with 403 and the scopes.
   */
  readonly hide?: boolean | undefined
}

type Scopes = readonly [string, ...ReadonlyArray<string>]

const annotationOf = (given: Scopes | readonly [RequiresOptions]): Annotation => {
  const [first, ...rest] = given
  return typeof first === "string"
    ? { scopes: [first, ...rest.filter((scope) => typeof scope === "string")], hide: false }
    : { scopes: first.scopes, hide: first.hide === true }
}

/**
 * Lets only callers with all of these scopes use what the layer registers. The scopes add to those of `Auth.layer`.
 *
 * Dies if the layer registers nothing itself: then it was built outside this annotation and would be unguarded.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const Empty = Tool.make("empty_bin", { description: "Deletes what is in the bin" })
 * const emptyBin = Tools.layer(Empty, () => Effect.succeed("The bin is empty"))
 *
 * export const refused = emptyBin.pipe(Auth.requires("files:write"))
 * export const hidden = emptyBin.pipe(Auth.requires({ scopes: ["files:write"], hide: true }))
 * ```
 */
export const requires =
  (...given: Scopes | readonly [RequiresOptions]) =>
  <E, R>(features: Layer.Layer<never, E, R>): Layer.Layer<never, E, R | Auth | MiddlewareRegistry> =>
    Layer.fromBuildMemo((memoMap, scope) =>
      Effect.gen(function* () {
        const annotation = annotationOf(given)
        const { hide, scopes } = annotation
        const context = yield* Effect.context<R>()
        const auth = yield* Auth
        const covers: Array<Covers> = []
        let count = 0
        const wrapped = wrap(context, annotation, auth, (covered) => {
          count++
          if (covered !== undefined) covers.push(covered)
        })
        yield* Effect.updateContext(Layer.buildWithMemoMap(features, memoMap, scope), (ambient: Context.Context<R>) =>
          Context.merge(ambient, wrapped)
        )
        if (count === 0) {
          return yield* Effect.die(
            new Error(
              `requires(${scopes.map((scope) => JSON.stringify(scope)).join(", ")}): the layer registers nothing by itself`
            )
          )
        }
        // Middleware costs time of every request.
        if (covers.length === 0 && !hide) return Context.empty()
        const { register } = yield* MiddlewareRegistry
        const demanded = admitted(auth, scopes)
        const sees = admits(auth, scopes)
        const refused = (uri: string) =>
          hide
            ? Effect.flatMap(Principal, (principal) => (sees(principal) ? Effect.void : notFound(uri)))
            : Effect.asVoid(demanded)
        yield* Effect.provideService(
          register((request, next) => {
            if (hide && MethodInfo.ofRequest(request.method)?.paginated === true) return Effect.map(next, toCallerAlone)
            const uri = subscribed(request).find((uri) => covers.some((covered) => covered(uri)))
            return uri === undefined ? next : Effect.andThen(refused(uri), next)
          }),
          Scope.Scope,
          scope
        )
        return Context.empty()
      })
    )
