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
import * as Detached from "../request/Detached.ts"
import * as Extensions from "./ExtensionRegistry.ts"
import * as Middleware from "./MiddlewareRegistry.ts"
import * as Prompts from "./PromptRegistry.ts"
import * as Resources from "./ResourceRegistry.ts"
import * as Tools from "./ToolRegistry.ts"

/** What feature layers may require of a server, beside the user's own services. */
export type Registries =
  | ToolRegistry
  | ResourceRegistry
  | PromptRegistry
  | ExtensionRegistry
  | Middleware.MiddlewareRegistry

export interface Features {
  readonly tools: Tools.ToolSet
  readonly resources: Resources.ResourceSet
  readonly prompts: Prompts.PromptSet
  readonly extensions: Extensions.ExtensionSet
  readonly middleware: Middleware.MiddlewareSet
}

/**
 * Builds a features layer in the scope. `R` is what its handlers need beside the registries and the request's own services.
 * `limits` are those of tools without their own.
 */
export const build = Effect.fnUntraced(function* <E, R>(
  layer: Layer.Layer<never, E, R>,
  limits?: CallLimits
): Effect.fn.Return<Features, E, Exclude<R, Registries | RequestServices> | Scope.Scope> {
  const scope = yield* Scope.Scope
  const tools = yield* Tools.make(limits)
  const resources = yield* Resources.make
  const prompts = yield* Prompts.make
  const extensions = yield* Extensions.make
  const middleware = yield* Middleware.make
  const services = yield* Effect.context<Exclude<R, Registries | RequestServices>>()
  const registries = Context.mergeAll(
    tools.context,
    resources.context,
    prompts.context,
    extensions.context,
    middleware.context
  )
  const work = yield* Scope.make()
  const workEnds = Scope.addFinalizerExit(scope, (exit) => Scope.close(work, exit))
  // Where the layer fails.
  yield* workEnds
  // `R` is the union of both sides by the signature; the compiler cannot see that through the Exclude.
  const context = Context.mergeAll(
    services,
    registries,
    Detached.within(work)
  ) as Context.Context<never> as Context.Context<R>
  yield* Effect.provideContext(Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope), context)
  // Before the layers of the features.
  yield* workEnds
  return {
    tools: tools.tools,
    resources: resources.resources,
    prompts: prompts.prompts,
    extensions: extensions.extensions,
    middleware: middleware.middleware
  }
})

interface Declared {
  /** Offers lists that are still empty: for servers whose features come and go while they run. */
  readonly dynamic: boolean
  readonly experimental: ServerCapabilities["experimental"]
  readonly extensions: ServerCapabilities["extensions"]
}

/** The capabilities that follow from what is registered (spec: basic/lifecycle, capability negotiation). */
export const capabilities = (features: Features, declared: Declared): ServerCapabilities => {
  const { tools, resources, prompts } = features
  const { dynamic, experimental, extensions } = declared
  const completes = dynamic || resources.hasCompleters() || prompts.hasCompleters()
  return {
    logging: {},
    ...(dynamic || !tools.isEmpty() ? { tools: { listChanged: true } } : undefined),
    ...(dynamic || !resources.isEmpty()
      ? { resources: { listChanged: true, ...(dynamic || resources.watchable() ? { subscribe: true } : undefined) } }
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
