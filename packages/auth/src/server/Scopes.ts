/**
 * Scopes of tools, resources and prompts: `Tools.layer(...).pipe(Scopes.requires("files:write"))`.
 *
 * An annotation of layers, so the contract of a tool stays what both sides share and says nothing of one server's policy. What is
 * registered below it is not run, read, completed or subscribed to for a caller who lacks a scope; it is still listed (`visible` hides).
 */
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import type { Completer } from "@effect-mcp/core/Completions"
import type { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestContext } from "@effect-mcp/core/RequestContext"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { MiddlewareRegistry, type Request } from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { admitted, Auth } from "./Caller.ts"

type Check = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | McpError, R | Principal | RequestContext>

/** Entries that are guarded already: of nested annotations one check remains, and one challenge names the scopes of all. */
const guarded = <Entry extends object>() => {
  const known = new WeakMap<Entry, { readonly plain: Entry; readonly scopes: ReadonlyArray<string> }>()
  return (
    entry: Entry,
    scopes: ReadonlyArray<string>,
    auth: Auth["Service"],
    guard: (entry: Entry, check: Check) => Entry
  ) => {
    const before = known.get(entry)
    const plain = before?.plain ?? entry
    const all = [...(before?.scopes ?? []), ...scopes]
    const demanded = admitted(auth, all)
    const result = guard(plain, (effect) => Effect.andThen(demanded, effect))
    known.set(result, { plain, scopes: all })
    return result
  }
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

/** A function that may have nothing to offer. */
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

/** Registries that guard what is registered with them, in the place of those they wrap. */
const wrap = (
  context: Context.Context<never>,
  scopes: ReadonlyArray<string>,
  auth: Auth["Service"],
  registered: (covers?: Covers) => void
) => {
  let wrapped: Context.Context<never> = context
  const replace = <Id, Shape>(tag: Context.Key<Id, Shape>, make: (registry: Shape) => Shape) => {
    const registry = Context.getOption(context, tag)
    if (registry._tag === "Some") wrapped = Context.add(wrapped, tag, make(registry.value))
  }
  replace(ToolRegistry, (tools) => ({
    register: (entry) => {
      registered()
      return tools.register(
        tool(entry, scopes, auth, (plain, check) => ({ ...plain, call: (params) => check(plain.call(params)) }))
      )
    },
    mount: (source, options) => {
      registered()
      const guardedSource = toolSource(source, scopes, auth, (plain, check) => ({
        ...plain,
        call: offered(plain.call, check)
      }))
      return tools.mount(guardedSource, options)
    }
  }))
  replace(PromptRegistry, (prompts) => ({
    register: (entry) => {
      registered()
      return prompts.register(
        prompt(entry, scopes, auth, (plain, check) => ({
          ...plain,
          get: (params) => check(plain.get(params)),
          complete: completers(plain.complete, check)
        }))
      )
    },
    mount: (source, options) => {
      registered()
      const guardedSource = promptSource(source, scopes, auth, (plain, check) => ({
        ...plain,
        get: offered(plain.get, check)
      }))
      return prompts.mount(guardedSource, options)
    }
  }))
  replace(ResourceRegistry, (resources) => ({
    register: (entry) => {
      registered((uri) => uri === entry.resource.uri)
      return resources.register(
        resource(entry, scopes, auth, (plain, check) => ({ ...plain, read: check(plain.read) }))
      )
    },
    registerTemplate: (entry) => {
      registered((uri) => entry.read(uri) !== undefined)
      return resources.registerTemplate(
        template(entry, scopes, auth, (plain, check) => ({
          ...plain,
          read: offered(plain.read, check),
          complete: completers(plain.complete, check)
        }))
      )
    },
    mount: (source) => {
      registered((uri) => source.read({ uri }) !== undefined)
      return resources.mount(
        resourceSource(source, scopes, auth, (plain, check) => ({ ...plain, read: offered(plain.read, check) }))
      )
    },
    changed: resources.changed
  }))
  return wrapped
}

/** Whether a URI is of what was registered. */
type Covers = (uri: string) => boolean

/** What a request subscribes to. */
const subscribed = (request: Request): ReadonlyArray<string> => {
  if (request.method === "resources/subscribe") return [request.params.uri]
  return request.method === "subscriptions/listen" ? (request.params.notifications.resourceSubscriptions ?? []) : []
}

/**
 * Lets only callers with all of these scopes use what the layer registers. Dies if the layer registers nothing by itself: it was
 * built before, beside this annotation, and would go unguarded.
 */
export const requires =
  (...scopes: readonly [string, ...ReadonlyArray<string>]) =>
  <E, R>(features: Layer.Layer<never, E, R>): Layer.Layer<never, E, R | Auth | MiddlewareRegistry> =>
    Layer.fromBuildMemo((memoMap, scope) =>
      Effect.gen(function* () {
        const context = yield* Effect.context<R>()
        const auth = yield* Auth
        const covers: Array<Covers> = []
        let count = 0
        const wrapped = wrap(context, scopes, auth, (covered) => {
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
        // Middleware costs every request something.
        if (covers.length === 0) return Context.empty()
        const { register } = yield* MiddlewareRegistry
        const demanded = admitted(auth, scopes)
        yield* Effect.provideService(
          register((request, next) =>
            subscribed(request).some((uri) => covers.some((covered) => covered(uri)))
              ? Effect.andThen(demanded, next)
              : next
          ),
          Scope.Scope,
          scope
        )
        return Context.empty()
      })
    )
