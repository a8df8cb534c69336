/**
 * Requires scopes for tools, resources and prompts: `Tools.layer(...).pipe(Auth.requires("files:write"))`.
 *
 * It annotates layers, so that a tool's contract doesn't contain one server's policy. A caller that lacks a scope can't call, read,
 * complete or subscribe to the layer's entries. It still sees them in lists, unless `hide` is set.
 */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { notFound, ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Completer } from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestContext } from "@effect-mcp/core/RequestContext"
import { type McpError, unknownPrompt, unknownTool } from "@effect-mcp/protocol/McpError"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { MiddlewareRegistry, type Request, type Result } from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { admits, admitted, Auth } from "./Caller.ts"

type Check = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | McpError, R | Principal | RequestContext>

type Sees = (principal: Principal["Service"], uri?: string) => boolean

/** How an annotation protects an entry. */
interface Rules {
  readonly check: Check
  /** Returns true if the caller can see the entry, or `undefined` if every caller can. */
  readonly sees: Sees | undefined
}

interface Annotation {
  readonly scopes: ReadonlyArray<string>
  readonly hide: boolean
}

/** Guards entries. Merges nested annotations into one check, so that its challenge names all of their scopes. */
const guarded = <Entry extends object>() => {
  // Not a field of the entry: a copy that other code wraps must not lose its wrapper.
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

/** Shows an entry only to callers that both its own rule and the annotation admit. */
const visible = (own: Sees | undefined, sees: Sees | undefined): Sees | undefined =>
  own === undefined || sees === undefined
    ? (own ?? sees)
    : (principal, uri) => sees(principal, uri) && own(principal, uri)

/** Lists a mounted source. The list is empty if the caller isn't allowed to see the source. */
const listed = <A, E, R>(
  list: Effect.Effect<ReadonlyArray<A>, E, R>,
  sees: Sees | undefined
): Effect.Effect<ReadonlyArray<A>, E, R | Principal> =>
  sees === undefined ? list : Effect.flatMap(Principal, (principal) => (sees(principal) ? list : Effect.succeed([])))

/** Calls a mounted source. If the caller isn't allowed to see the source, fails as if the name were unknown. */
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

/** Maps the offer of a source or template, unless it does not know the request. */
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

/** Prevents shared caching, because a result that requires a scope must not reach other callers. */
const unshared = <A extends { readonly cacheScope?: "public" | "private" | undefined }>(result: A): A =>
  result.cacheScope === "public" ? { ...result, cacheScope: "private" } : result

const tools = (registry: Tools, annotation: Annotation, auth: Auth["Service"], registered: Registered): Tools => ({
  find: (name, principal) => registry.find(name, principal),
  call: (params) => registry.call(params),
  taskTools: () => registry.taskTools(),
  mayNeedTask: () => registry.mayNeedTask(),
  mayBeTask: (name) => registry.mayBeTask(name),
  annotate: (name, meta) => registry.annotate(name, meta),
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

/** Replaces a registry in the context with one that guards its entries. */
type Guard = (
  context: Context.Context<never>,
  annotation: Annotation,
  auth: Auth["Service"],
  registered: Registered
) => Context.Context<never>

const guard =
  <Id, Shape>(
    tag: Context.Key<Id, Shape>,
    make: (registry: Shape, annotation: Annotation, auth: Auth["Service"], registered: Registered) => Shape
  ): Guard =>
  (context, annotation, auth, registered) =>
    Option.match(Context.getOption(context, tag), {
      onNone: () => context,
      onSome: (registry) => Context.add(context, tag, make(registry, annotation, auth, registered))
    })

/** A guard for each capability that has lists. Leaving one out is a type error. */
const guards: Readonly<Record<MethodInfo.ListKind, Guard>> = {
  tools: guard(ToolRegistry, tools),
  prompts: guard(PromptRegistry, prompts),
  resources: guard(ResourceRegistry, resources)
}

const wrap: Guard = (context, ...how) =>
  MethodInfo.listKinds.reduce((wrapped, kind) => guards[kind](wrapped, ...how), context)

/**
 * Returns true if the annotation guards subscriptions to a URI. Hidden entries need no rule, because clients can't subscribe to unknown
 * URIs.
 */
type Covers = (uri: string) => boolean
type Registered = (covers?: Covers) => void

/** Returns the URIs that a request subscribes to. */
const subscribed = (request: Request): ReadonlyArray<string> => {
  if (request.method === "resources/subscribe") return [request.params.uri]
  return request.method === "subscriptions/listen" ? (request.params.notifications.resourceSubscriptions ?? []) : []
}

/** Makes a caller-dependent list privately cacheable, regardless of the server's caching hints. */
const toCallerAlone = (result: Result): Result =>
  isEncodedResult(result) ? result : { ...result, cacheScope: "private" }

/** Options for `requires`. */
export interface RequiresOptions {
  readonly scopes: readonly [string, ...ReadonlyArray<string>]
  /**
   * Whether to hide entries from callers that lack a scope. Hidden entries are not listed, requests for them fail as if the name were
   * unknown, and lists become privately cacheable. By default (false), entries are listed, and requests for them receive a 403 challenge.
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
 * Lets only callers with all of these scopes use a layer's tools, resources and prompts. Callers also need the scopes set in `Auth.layer`.
 *
 * Dies if the layer registers nothing itself, because entries registered elsewhere would not be guarded.
 *
 * @example
 * ```ts
 * import { Auth } from "@effect-mcp/auth"
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const Empty = Tool.make("empty_bin", { description: "Deletes everything in the bin" })
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
              `requires(${scopes.map((scope) => JSON.stringify(scope)).join(", ")}): this layer registers no features, so nothing would be protected. Apply requires to the layer that registers the features`
            )
          )
        }
        // Middleware slows down every request.
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
            if (hide && MethodInfo.ofRequest(request.method)?.list !== undefined) return Effect.map(next, toCallerAlone)
            const uri = subscribed(request).find((uri) => covers.some((covered) => covered(uri)))
            return uri === undefined ? next : Effect.andThen(refused(uri), next)
          }),
          Scope.Scope,
          scope
        )
        return Context.empty()
      })
    )
