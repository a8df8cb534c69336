/**
 * What a server offers: the registries that feature layers registered with, and the capabilities that follow from them.
 *
 * Each server builds its features with a memo map of its own: two servers of one features value have registrations of their own.
 */
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import type { PromptRegistry } from "@effect-mcp/core/Prompts"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { ResourceRegistry } from "@effect-mcp/core/Resources"
import type { CallLimits, ToolRegistry } from "@effect-mcp/core/Tools"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as DetachedScope from "../request/DetachedScope.ts"
import type { ListKind } from "../session/ChangeNotifier.ts"
import * as Extensions from "./ExtensionRegistry.ts"
import * as Middleware from "./MiddlewareRegistry.ts"
import type { MiddlewareRegistry } from "./MiddlewareRegistry.ts"
import * as Prompts from "./PromptRegistry.ts"
import type { Changing } from "./Registry.ts"
import * as Resources from "./ResourceRegistry.ts"
import * as Tools from "./ToolRegistry.ts"

/** The services that feature layers register with. */
export type Registries = ToolRegistry | ResourceRegistry | PromptRegistry | ExtensionRegistry | MiddlewareRegistry

/** The features of a server. */
export interface Features {
  readonly tools: Tools.ToolSet
  readonly resources: Resources.ResourceSet
  readonly prompts: Prompts.PromptSet
  readonly extensions: Extensions.ExtensionSet
  readonly middleware: Middleware.MiddlewareSet
  /** Calls the listener with every change of a list, until the scope closes. */
  readonly onChange: (kind: ListKind, listener: () => void) => Effect.Effect<void, never, Scope.Scope>
}

/** Forwards the changes of the registries to listeners that come and go. */
const listening = (registries: { readonly [Kind in ListKind]: Changing }): Features["onChange"] => {
  const listeners: { readonly [Kind in ListKind]: Set<() => void> } = {
    prompts: new Set(),
    resources: new Set(),
    tools: new Set()
  }
  const forward = (kind: ListKind): void =>
    registries[kind].listen(() => {
      for (const listener of listeners[kind]) listener()
    })
  forward("prompts")
  forward("resources")
  forward("tools")
  return (kind, listener) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners[kind].add(listener)),
        () => Effect.sync(() => listeners[kind].delete(listener))
      )
    )
}

/** Makes new registries: the features, and the services that layers register with. Watchers of resources live in the scope. */
export const make = Effect.fnUntraced(function* (
  limits?: CallLimits
): Effect.fn.Return<
  { readonly features: Features; readonly registries: Context.Context<Registries> },
  never,
  Scope.Scope
> {
  const { tools, ...ofTools } = yield* Tools.make(limits)
  const { resources, ...ofResources } = yield* Resources.make
  const { prompts, ...ofPrompts } = yield* Prompts.make
  const { extensions, ...ofExtensions } = yield* Extensions.make
  const { middleware, ...ofMiddleware } = yield* Middleware.make
  const onChange = listening({ prompts, resources, tools })
  return {
    features: { tools, resources, prompts, extensions, middleware, onChange },
    registries: Context.mergeAll(
      ofTools.context,
      ofResources.context,
      ofPrompts.context,
      ofExtensions.context,
      ofMiddleware.context
    )
  }
})

/**
 * Builds a features layer in the scope. `R` is what its handlers need besides the registries and the services of a request. `limits`
 * apply to tools without limits of their own.
 */
export const build = Effect.fnUntraced(function* <E, R>(
  layer: Layer.Layer<never, E, R>,
  limits?: CallLimits
): Effect.fn.Return<Features, E, Exclude<R, Registries | RequestServices> | Scope.Scope> {
  const scope = yield* Scope.Scope
  const { features, registries } = yield* make(limits)
  const services = yield* Effect.context<Exclude<R, Registries | RequestServices>>()
  const work = yield* Scope.make()
  const workEnds = Scope.addFinalizerExit(scope, (exit) => Scope.close(work, exit))
  // Where the layer fails.
  yield* workEnds
  // `R` is the union of both sides by the signature; the compiler cannot see that through the Exclude.
  const context = Context.mergeAll(
    services,
    registries,
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
  const { prompts, resources, tools } = features
  const { dynamic, experimental, extensions } = declared
  const completes = dynamic || resources.hasCompleters() || prompts.hasCompleters()
  return {
    logging: {},
    ...(dynamic || !tools.isEmpty() ? { tools: { listChanged: true } } : undefined),
    ...(dynamic || !resources.isEmpty()
      ? {
          resources: {
            listChanged: true,
            ...(dynamic || resources.watchable() ? { subscribe: true } : undefined)
          }
        }
      : undefined),
    ...(dynamic || !prompts.isEmpty() ? { prompts: { listChanged: true } } : undefined),
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
