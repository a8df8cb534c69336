/**
 * A server's features: the registries that feature layers register with, and the resulting capabilities.
 *
 * Each server builds its features with a new memo map, so two servers with the same features value have separate
 * registrations.
 */
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import type { PromptRegistry } from "@effect-mcp/core/Prompts"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { notFound, type ResourceRegistry } from "@effect-mcp/core/Resources"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { type Item, type ListKind, listKinds, type ListName } from "@effect-mcp/protocol/MethodInfo"
import type { HandledRequest } from "@effect-mcp/core/internal/handlers"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type * as Limits from "../Limits.ts"
import * as DetachedScope from "../request/DetachedScope.ts"
import * as Extensions from "./ExtensionRegistry.ts"
import * as Middleware from "./MiddlewareRegistry.ts"
import type { MiddlewareRegistry } from "./MiddlewareRegistry.ts"
import { type Mode, type NotPortable, Portability } from "./Portability.ts"
import * as Prompts from "./PromptRegistry.ts"
import type { Changing } from "./Registry.ts"
import * as Resources from "./ResourceRegistry.ts"
import { Spill } from "./Spill.ts"
import { SpillRegistry } from "./SpillStore.ts"
import * as Tools from "./ToolRegistry.ts"

/** The services that feature layers register with. */
export type Registries =
  | ToolRegistry
  | ResourceRegistry
  | PromptRegistry
  | ExtensionRegistry
  | MiddlewareRegistry
  | SpillRegistry

/** A list that clients read page by page. */
export interface OfferedList<A> {
  /** Every item that the caller may see. */
  readonly items: (request: HandledRequest) => Effect.Effect<ReadonlyArray<A>, McpError, QueryServices>
  /** The items for a contract, if they differ: the registered items, without templates' members. */
  readonly registered?: Effect.Effect<ReadonlyArray<A>, McpError, QueryServices>
  /** True if the list may depend on the caller. */
  readonly isRestricted: () => boolean
}

/** Every protocol list. A missing list is a type error. */
type OfferedLists = { readonly [N in ListName]: OfferedList<Item<N>> }

/** A set of features behind a capability. */
type OfferedSet = Changing & { readonly isEmpty: () => boolean }

/** A server's features. A capability with lists but without a set is a type error. */
export interface Features extends Readonly<Record<ListKind, OfferedSet>> {
  /** Every list, as returned by `tools/list` and the other list methods. */
  readonly lists: OfferedLists
  readonly tools: Tools.ToolSet
  readonly resources: Resources.ResourceSet
  readonly prompts: Prompts.PromptSet
  readonly extensions: Extensions.ExtensionSet
  readonly middleware: Middleware.MiddlewareSet
  /** Calls the listener after every change to a list, until the scope closes. */
  readonly onChange: (kind: ListKind, listener: () => void) => Effect.Effect<void, never, Scope.Scope>
}

/** Forwards registry changes to listeners that can be added and removed. */
const listening = (registries: { readonly [Kind in ListKind]: Changing }): Features["onChange"] => {
  const listeners = new Set<{ readonly kind: ListKind; readonly listener: () => void }>()
  for (const kind of listKinds) {
    registries[kind].listen(() => {
      for (const one of listeners) if (one.kind === kind) one.listener()
    })
  }
  return (kind, listener) => {
    const one = { kind, listener }
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(one)),
        () => Effect.sync(() => listeners.delete(one))
      )
    )
  }
}

/** How a server's features behave. */
export interface Options {
  readonly limits?: Limits.Options | undefined
  /** True if the server also declares lists that are still empty. */
  readonly dynamic?: boolean | undefined
  /** How to treat tools that some host cannot use. Default `project`. */
  readonly portability?: Exclude<Mode, "strict"> | undefined
}

/**
 * Creates new registries: the features, and the services that layers register with. Resource watchers run in the scope.
 */
export const make = Effect.fnUntraced(function* (
  options: Omit<Options, "portability"> = {},
  portability?: Portability
): Effect.fn.Return<
  { readonly features: Features; readonly registries: Context.Context<Registries> },
  never,
  Scope.Scope
> {
  const { dynamic = false, limits: { spill, tool } = {} } = options
  const kept = spill === false ? undefined : yield* makeSpill(spill === true ? {} : spill)
  const { resources: offered, ...ofResources } = yield* Resources.make
  const declared = spill !== undefined && spill !== false
  const resources = kept === undefined ? offered : withSpill(offered, kept, declared)
  const hasResources = () => dynamic || !resources.isEmpty()
  const around = { hasResources, spill: () => (hasResources() ? kept : undefined) }
  const { tools, ...ofTools } = yield* Tools.make(tool, around, portability)
  const { prompts, ...ofPrompts } = yield* Prompts.make
  const { extensions, ...ofExtensions } = yield* Extensions.make
  const { middleware, ...ofMiddleware } = yield* Middleware.make
  const onChange = listening({ prompts, resources, tools })
  const lists: OfferedLists = {
    tools: { items: tools.list, isRestricted: tools.isRestricted },
    prompts: { items: () => prompts.list, isRestricted: prompts.isRestricted },
    resources: {
      items: () => resources.list,
      registered: resources.registered,
      isRestricted: () => resources.isRestricted("resources")
    },
    resourceTemplates: { items: () => resources.templates, isRestricted: () => resources.isRestricted("templates") }
  }
  return {
    features: { tools, resources, prompts, lists, extensions, middleware, onChange },
    registries: Context.mergeAll(
      ofTools.context,
      ofResources.context,
      ofPrompts.context,
      ofExtensions.context,
      ofMiddleware.context,
      Context.make(SpillRegistry, { register: (store) => kept?.register(store) ?? Effect.void })
    )
  }
})

const makeSpill = (options: Limits.SpillOptions = {}): Effect.Effect<Spill, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const run = Effect.runForkWith(yield* Effect.context<never>())
    return new Spill(options, yield* Clock.Clock, (effect) => Fiber.runIn(run(effect), scope))
  })

/**
 * Adds the kept results to the resources that clients can read. They are not listed. `declared` means that resources
 * are always declared, as they are if a store is registered.
 */
const withSpill = (offered: Resources.ResourceSet, spill: Spill, declared: boolean): Resources.ResourceSet => ({
  ...offered,
  isEmpty: () => !declared && !spill.hasStore && offered.isEmpty(),
  read: (params) => {
    const { uri } = params
    return spill.claims(uri) ? spill.read(uri, () => offered.read(params) ?? notFound(uri)) : offered.read(params)
  }
})

/**
 * Builds a features layer in the scope. `R` is what its handlers require besides the registries and a request's
 * services.
 */
export const build = <E, R>(
  layer: Layer.Layer<never, E, R>,
  options: Options = {}
): Effect.Effect<Features, E, Exclude<R, Registries | RequestServices> | Scope.Scope> =>
  buildWith(layer, options, new Portability(options.portability))

/** Like `build`, but fails if some host cannot use a tool. */
export const buildStrict = Effect.fnUntraced(function* <E, R>(
  layer: Layer.Layer<never, E, R>,
  options: Omit<Options, "portability"> = {}
): Effect.fn.Return<Features, E | NotPortable, Exclude<R, Registries | RequestServices> | Scope.Scope> {
  const portability = new Portability("strict")
  const features = yield* buildWith(layer, options, portability)
  yield* portability.built
  return features
})

const buildWith = Effect.fnUntraced(function* <E, R>(
  layer: Layer.Layer<never, E, R>,
  options: Omit<Options, "portability">,
  portability: Portability
): Effect.fn.Return<Features, E, Exclude<R, Registries | RequestServices> | Scope.Scope> {
  const scope = yield* Scope.Scope
  const { features, registries } = yield* make(options, portability)
  const services = yield* Effect.context<Exclude<R, Registries | RequestServices>>()
  const work = yield* Scope.make()
  const workEnds = Scope.addFinalizerExit(scope, (exit) => Scope.close(work, exit))
  // Registered here so that it also runs if the layer fails.
  yield* workEnds
  // The signature makes `R` the union of both sides. The compiler cannot see this through the Exclude.
  const context = Context.mergeAll(
    services,
    registries,
    DetachedScope.within(work)
  ) as Context.Context<never> as Context.Context<R>
  yield* Effect.provideContext(Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope), context)
  if (!portability.isSettled) yield* portability.settle
  // Registered last, so that it runs before the feature layers' finalizers.
  yield* workEnds
  return features
})

interface Declared {
  /** Offers lists that are still empty, for servers whose features are added and removed while they run. */
  readonly dynamic: boolean
  readonly experimental: ServerCapabilities["experimental"]
  readonly extensions: ServerCapabilities["extensions"]
}

/** Derives the capabilities from the registered features (spec: basic/lifecycle, capability negotiation). */
export const capabilities = (features: Features, declared: Declared): ServerCapabilities => {
  const { prompts, resources } = features
  const { dynamic, experimental, extensions } = declared
  const lists: Pick<ServerCapabilities, ListKind> = Object.fromEntries(
    listKinds.filter((kind) => dynamic || !features[kind].isEmpty()).map((kind) => [kind, { listChanged: true }])
  )
  const completes = dynamic || resources.hasCompleters() || prompts.hasCompleters()
  return {
    logging: {},
    ...lists,
    ...(lists.resources && (dynamic || resources.watchable())
      ? { resources: { ...lists.resources, subscribe: true } }
      : undefined),
    ...(completes ? { completions: {} } : undefined),
    ...(experimental === undefined ? undefined : { experimental }),
    ...(extensions === undefined ? undefined : { extensions })
  }
}

/**
 * Removes the capabilities that need a session: no subscriptions, no log level, no notifications outside a response's
 * stream.
 */
export const withoutSession = ({ logging: _logging, ...declared }: ServerCapabilities): ServerCapabilities => ({
  ...declared,
  ...Object.fromEntries(listKinds.filter((kind) => declared[kind] !== undefined).map((kind) => [kind, {}]))
})
