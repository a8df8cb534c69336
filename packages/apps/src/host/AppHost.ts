/**
 * Shows views for a server's tools in a program with a user, such as a desktop application, a web page or a test.
 *
 * The host reads a view's page from the server, and talks to it over a wire: `postMessage` through a sandbox, Electron's IPC, or a socket.
 * A view can call its server's tools, and ask the host for links, messages, context and files.
 *
 * The client's `Consent` policy decides about tool calls, and the policy in the host's context about links, messages and files. A host
 * without a policy denies them. The policy recognizes a view's action by its field `view`. Context for the model needs no consent: it goes
 * directly to the host's `updateModelContext`. Views can't send context if the host lacks this handler.
 */
import { ClientExtension, Consent, McpClient } from "@effect-mcp/client"
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { isFor, mimeType, UiExtension } from "../contract/UiExtension.ts"
import { defaultLimits, type ViewLimits } from "./Bounds.ts"
import type { Options } from "./Handlers.ts"
import { read, type ViewResource, type ViewUnavailable } from "./ViewResource.ts"
import { open, type ViewOpening, type ViewSession } from "./ViewSession.ts"

export type { ViewLimits } from "./Bounds.ts"
export type { Options, PassedMessage, SavedFile } from "./Handlers.ts"
export type { LogMessage, ModelContext, Size } from "./Messages.ts"
export { type ViewResource, ViewUnavailable } from "./ViewResource.ts"
export type { ViewOpening, ViewSession, ViewWire } from "./ViewSession.ts"

/** A host for one server's views. */
export interface ViewHost {
  /** The server's tools for the model: all tools except those that only views may call. */
  readonly modelTools: Effect.Effect<ReadonlyArray<Tool>, ClientError>
  /** Reads a tool's view, or the view at a `ui://` URI. */
  readonly read: (view: Tool | string) => Effect.Effect<ViewResource, ViewUnavailable | ClientError>
  /** Opens a view that ends with the scope. */
  readonly open: (opening: ViewOpening) => Effect.Effect<ViewSession, never, Scope.Scope>
}

/** The view host for the client in the context. */
export class AppHost extends Context.Service<AppHost, ViewHost>()("@effect-mcp/apps/AppHost") {}

/** Declares to servers that this program shows views. Provide it to the client. */
export const declaration: Layer.Layer<never> = Layer.orDie(
  ClientExtension.layer(UiExtension, { settings: { mimeTypes: [mimeType] } })
)

/** Returns the policy in the context. Without one, a host denies everything, unlike a client, because views act on their own. */
const policyOf = Effect.map(Effect.context<never>(), (context): Consent.Policy =>
  context.mapUnsafe.has(Consent.Consent.key)
    ? Context.get(context, Consent.Consent)
    : { ...Consent.allow, ask: () => Effect.succeed(false) }
)

/** Creates a host for a client. `Consent` is read from the context; without it, links, messages and files are denied. */
export const make = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  options: Options = {}
): Effect.fn.Return<ViewHost, never, Scope.Scope> {
  const limits: ViewLimits = { ...defaultLimits, ...options.limits }
  const consent = yield* policyOf
  let known: ReadonlyArray<Tool> | undefined
  let changes = 0
  const tools: Effect.Effect<ReadonlyArray<Tool>, ClientError> = Effect.suspend(() => {
    if (known !== undefined) return Effect.succeed(known)
    const before = changes
    return Effect.map(Stream.runCollect(client.listTools), (tools) => {
      // Don't cache a list that changed in the meantime: a tool may no longer be for views.
      if (before === changes) known = tools
      return tools
    })
  })
  const forget = Effect.sync(() => {
    changes++
    known = undefined
  })
  yield* Effect.forkScoped(
    Stream.runForEach(client.toolChanges, () => forget),
    { startImmediately: true }
  )
  return {
    modelTools: Effect.map(tools, (tools) => tools.filter((tool) => isFor("model", tool))),
    read: (view) => read(client, view, { maxLength: limits.htmlLength, allowLocal: options.allowLocal }),
    open: (opening) => open({ client, consent, limits, options, tools }, opening)
  }
})

/**
 * Creates a host for the client in the context. Also provide `declaration` to that client, because some servers offer views only to clients
 * that declare the extension. Provide `Consent` to both: a host without a policy denies links, messages and files.
 *
 * @example
 * ```ts
 * import * as AppHost from "@effect-mcp/apps/AppHost"
 * import { Consent, McpClient } from "@effect-mcp/client"
 * import { NodeServices } from "@effect/platform-node"
 * import { Console, Effect, Layer } from "effect"
 *
 * // Views may call tools that only read.
 * const consent = Consent.layer({
 *   ask: (action) => Effect.succeed(action._tag === "CallTool" && action.annotations?.readOnlyHint === true)
 * })
 *
 * const client = McpClient.layerStdio({ command: "my-server" }).pipe(
 *   Layer.provide([AppHost.declaration, consent, NodeServices.layer])
 * )
 *
 * export const host = AppHost.layer({ sendMessage: (content) => Console.log(content) }).pipe(
 *   Layer.provide(consent),
 *   Layer.provideMerge(client)
 * )
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<AppHost, never, McpClient.McpClient> =>
  Layer.effect(
    AppHost,
    Effect.flatMap(McpClient.McpClient, (client) => make(client, options))
  )
