/**
 * What a server offers: the registries that feature layers registered with, and the capabilities that follow from them.
 *
 * Each server builds its features with a memo map of its own: two servers of one features value have registrations of their own.
 */
import { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import type { CallLimits, ToolRegistry } from "@effect-mcp/core/Tools"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as DetachedScope from "../request/DetachedScope.ts"
import type { ListKind } from "../session/ChangeNotifier.ts"
import { MiddlewareRegistry } from "./MiddlewareService.ts"
import type { OtherFeatures, OtherRegistries } from "./OtherFeatures.ts"
import type { Changing } from "./Registry.ts"
import * as Tools from "./ToolRegistry.ts"

/** What feature layers may require of a server, beside the user's own services. */
export type Registries = ToolRegistry | OtherRegistries

/** The features of a server. */
export class Features {
  readonly tools: Tools.ToolSet
  private readonly load: Effect.Effect<OtherFeatures>
  private readonly listeners: { readonly [Kind in ListKind]: Set<() => void> } = {
    prompts: new Set(),
    resources: new Set(),
    tools: new Set()
  }
  private made: OtherFeatures | undefined

  constructor(tools: Tools.ToolSet, load: Effect.Effect<OtherFeatures>) {
    this.tools = tools
    this.load = load
    this.tell("tools", tools)
  }

  /** Resources, prompts, extensions and middleware; undefined until a layer registers the first of them. */
  get others(): OtherFeatures | undefined {
    return this.made
  }

  /** The same, made now if no layer has registered any. */
  readonly open: Effect.Effect<OtherFeatures> = Effect.suspend(() =>
    this.made === undefined ? Effect.map(this.load, (others) => this.opened(others)) : Effect.succeed(this.made)
  )

  /** Of two layers that load at once the first one's registries count. */
  private opened(others: OtherFeatures): OtherFeatures {
    if (this.made !== undefined) return this.made
    this.tell("prompts", others.prompts)
    this.tell("resources", others.resources)
    return (this.made = others)
  }

  private tell(kind: ListKind, features: Changing): void {
    features.listen(() => {
      for (const listener of this.listeners[kind]) listener()
    })
  }

  /** Calls the listener with every change of a list, until the scope closes. */
  onChange(kind: ListKind, listener: () => void): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.listeners[kind].add(listener)),
        () => Effect.sync(() => this.listeners[kind].delete(listener))
      )
    )
  }

  /** The services that layers register with: the first that is used loads what is behind all of them. */
  get registries(): Context.Context<OtherRegistries> {
    const within =
      <Id extends OtherRegistries, Registry>(tag: Context.Key<Id, Registry>) =>
      <A, R>(use: (registry: Registry) => Effect.Effect<A, never, R>): Effect.Effect<A, never, R> =>
        Effect.flatMap(this.open, ({ context }) => use(Context.get(context, tag)))
    const resources = within(ResourceRegistry)
    const prompts = within(PromptRegistry)
    const extensions = within(ExtensionRegistry)
    const middleware = within(MiddlewareRegistry)
    return Context.make(ResourceRegistry, {
      register: (entry) => resources((registry) => registry.register(entry)),
      registerTemplate: (entry) => resources((registry) => registry.registerTemplate(entry)),
      mount: (source, options) => resources((registry) => registry.mount(source, options)),
      changed: resources((registry) => registry.changed)
    }).pipe(
      Context.add(PromptRegistry, {
        register: (entry) => prompts((registry) => registry.register(entry)),
        mount: (source, options) => prompts((registry) => registry.mount(source, options))
      }),
      Context.add(ExtensionRegistry, {
        register: (entry) => extensions((registry) => registry.register(entry))
      }),
      Context.add(MiddlewareRegistry, {
        register: (one, place) => middleware((registry) => registry.register(one, place)),
        inTask: (request, handle) =>
          this.made === undefined
            ? handle(request, true)
            : Context.get(this.made.context, MiddlewareRegistry).inTask(request, handle),
        registerInbound: (hook) => middleware((registry) => registry.registerInbound(hook))
      })
    )
  }
}

/** What makes the features that not every server has. */
export interface LoadedFeatures extends Tools.Mounting {
  readonly otherFeatures: Effect.Effect<OtherFeatures, never, Scope.Scope>
}

/**
 * Builds a features layer in the scope. `R` is what its handlers need beside the registries and the request's own services.
 * `load` gives what is not of every server; `limits` are those of tools without their own.
 */
export const build = Effect.fnUntraced(function* <E, R>(
  layer: Layer.Layer<never, E, R>,
  load: Effect.Effect<LoadedFeatures>,
  limits?: CallLimits
): Effect.fn.Return<Features, E, Exclude<R, Registries | RequestServices> | Scope.Scope> {
  const scope = yield* Scope.Scope
  const tools = yield* Tools.make(load, limits)
  const others = Effect.flatMap(load, ({ otherFeatures }) => Scope.provide(otherFeatures, scope))
  const features = new Features(tools.tools, others)
  const services = yield* Effect.context<Exclude<R, Registries | RequestServices>>()
  const work = yield* Scope.make()
  const workEnds = Scope.addFinalizerExit(scope, (exit) => Scope.close(work, exit))
  // Where the layer fails.
  yield* workEnds
  // `R` is the union of both sides by the signature; the compiler cannot see that through the Exclude.
  const context = Context.mergeAll(
    services,
    tools.context,
    features.registries,
    DetachedScope.within(work)
  ) as Context.Context<never> as Context.Context<R>
  yield* Effect.provideContext(Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope), context)
  // Before the layers of the features.
  yield* workEnds
  return features
})

interface Declared {
  /** Offers lists that are still empty: for servers whose features come and go while they run. */
  readonly dynamic: boolean
  readonly experimental: ServerCapabilities["experimental"]
  readonly extensions: ServerCapabilities["extensions"]
}

/** The capabilities that follow from what is registered (spec: basic/lifecycle, capability negotiation). */
export const capabilities = (features: Features, declared: Declared): ServerCapabilities => {
  const { others, tools } = features
  const { dynamic, experimental, extensions } = declared
  const { prompts, resources } = others ?? {}
  const completes = dynamic || resources?.hasCompleters() === true || prompts?.hasCompleters() === true
  return {
    logging: {},
    ...(dynamic || !tools.isEmpty() ? { tools: { listChanged: true } } : undefined),
    ...(dynamic || resources?.isEmpty() === false
      ? {
          resources: {
            listChanged: true,
            ...(dynamic || resources?.watchable() === true ? { subscribe: true } : undefined)
          }
        }
      : undefined),
    ...(dynamic || prompts?.isEmpty() === false ? { prompts: { listChanged: true } } : undefined),
    ...(completes ? { completions: {} } : undefined),
    ...(experimental === undefined ? undefined : { experimental }),
    ...(extensions === undefined ? undefined : { extensions })
  }
}

const unchanging = ({ listChanged: _listChanged, ...rest }: { readonly listChanged?: boolean }) => rest

/** What an endpoint without sessions can declare: no subscriptions, no log level, no notifications outside the stream of an answer. */
export const withoutSession = ({
  logging: _logging,
  prompts,
  resources,
  tools,
  ...rest
}: ServerCapabilities): ServerCapabilities => ({
  ...rest,
  ...(prompts && { prompts: unchanging(prompts) }),
  ...(resources && { resources: {} }),
  ...(tools && { tools: unchanging(tools) })
})
