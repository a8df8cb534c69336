/**
 * What a server offers beside tools: resources, prompts, extensions and middleware, and the methods that they add.
 *
 * One module that is loaded when a layer registers the first of them: many servers have tools alone.
 */
import * as Completions from "@effect-mcp/core/Completions"
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { Principal } from "@effect-mcp/core/Principal"
import type { PromptRegistry } from "@effect-mcp/core/Prompts"
import type { QueryServices } from "@effect-mcp/core/RequestContext"
import { notFound, type ResourceRegistry } from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Extensions from "./ExtensionRegistry.ts"
import * as Middleware from "./MiddlewareRegistry.ts"
import type { MiddlewareRegistry } from "./MiddlewareService.ts"
import {
  type BaseMethod,
  empty,
  inSession,
  type MethodHandler,
  type MethodOptions,
  type MethodRows,
  pageOf,
  type StatelessMethod
} from "./methodRows.ts"
import * as Prompts from "./PromptRegistry.ts"
import * as Resources from "./ResourceRegistry.ts"
import * as Subscriptions from "./Subscriptions.ts"

/** What their layers register with. */
export type OtherRegistries = ResourceRegistry | PromptRegistry | ExtensionRegistry | MiddlewareRegistry

export interface OtherFeatures {
  readonly resources: Resources.ResourceSet
  readonly prompts: Prompts.PromptSet
  readonly extensions: Extensions.ExtensionSet
  readonly middleware: Middleware.MiddlewareSet
  readonly context: Context.Context<OtherRegistries>
  readonly methods: (options: MethodOptions) => OtherMethods
  /** Answers `completion/complete`. */
  readonly complete: MethodHandler<"completion/complete">
}

/** The methods of MCP beside those of every server and those of the stateless era: a new one is missing here first. */
export type OtherMethods = MethodRows<
  Exclude<keyof ClientRequests, BaseMethod | StatelessMethod | "initialize" | "ping">
>

/** New registries. Watchers of resources live in the scope. */
export const make: Effect.Effect<OtherFeatures, never, Scope.Scope> = Effect.gen(function* () {
  const { resources, ...ofResources } = yield* Resources.make
  const { prompts, ...ofPrompts } = yield* Prompts.make
  const { extensions, ...ofExtensions } = yield* Extensions.make
  const { middleware, ...ofMiddleware } = yield* Middleware.make
  const context = Context.mergeAll(ofResources.context, ofPrompts.context, ofExtensions.context, ofMiddleware.context)
  return {
    resources,
    prompts,
    extensions,
    middleware,
    context,
    methods: (options) => methodsOf(resources, prompts, options),
    complete: (params) => complete(resources, prompts, params)
  }
})

const methodsOf = (
  resources: Resources.ResourceSet,
  prompts: Prompts.PromptSet,
  { limits, pageSize }: MethodOptions
): OtherMethods => ({
  "prompts/list": {
    handle: (params) =>
      pageOf(
        prompts.list,
        ({ name }) => name,
        params,
        pageSize,
        (prompts) => ({ prompts })
      ),
    cacheHint: "prompts",
    variesByCaller: () => prompts.isRestricted()
  },
  "prompts/get": { handle: (params) => prompts.get(params) ?? Effect.fail(Prompts.unknownPrompt(params.name)) },
  "resources/list": {
    handle: (params) =>
      pageOf(
        resources.list,
        ({ uri }) => uri,
        params,
        pageSize,
        (resources) => ({ resources })
      ),
    cacheHint: "resources",
    variesByCaller: () => resources.isRestricted("resources")
  },
  "resources/templates/list": {
    handle: (params) =>
      pageOf(
        resources.templates,
        ({ uriTemplate }) => uriTemplate,
        params,
        pageSize,
        (resourceTemplates) => ({ resourceTemplates })
      ),
    cacheHint: "resourceTemplates",
    variesByCaller: () => resources.isRestricted("templates")
  },
  "resources/read": { handle: (params) => resources.read(params) ?? notFound(params.uri) },
  "resources/subscribe": {
    handle: ({ uri }, request) =>
      inSession(request, (session) =>
        Effect.andThen(session.change(Subscriptions.subscribe(resources, limits, session, uri)), empty)
      )
  },
  "resources/unsubscribe": {
    handle: ({ uri }, request) =>
      inSession(request, (session) =>
        Effect.andThen(session.change(Subscriptions.unsubscribe(limits, session, uri)), empty)
      )
  }
})

const complete = (
  resources: Resources.ResourceSet,
  prompts: Prompts.PromptSet,
  { ref, argument, context }: CompleteParams
): Effect.Effect<CompleteResult, McpError.McpError, QueryServices> =>
  Effect.flatMap(Principal, (principal) => {
    const completer =
      ref.type === "ref/prompt"
        ? prompts.completer(ref.name, argument.name, principal)
        : resources.completer(ref.uri, argument.name, principal)
    if (completer instanceof McpError.McpError) return Effect.fail(completer)
    if (completer === undefined) return Effect.succeed(Completions.resultOf([]))
    return Effect.map(completer(argument.value, context?.arguments ?? {}), Completions.resultOf)
  })
