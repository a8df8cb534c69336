/**
 * Exposes a connected server's features in a form another server can mount.
 *
 * Progress, cancellation and questions reach the caller. The client declares the services it was built with (`layerCallers` declares all of
 * them), and rejects questions the caller didn't declare. See `ToolRegistry.mount` for how names from several servers are combined.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Completer, Completions } from "@effect-mcp/core/Completions"
import { Progress } from "@effect-mcp/core/Progress"
import type { PromptSource } from "@effect-mcp/core/Prompts"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import type { ResourceSource } from "@effect-mcp/core/Resources"
import type { ToolSource } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Reference } from "@effect-mcp/protocol/model/Completion"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { CallEvent } from "../features/Calls.ts"
import type { McpClient } from "../Client.ts"
import type { ClientError } from "../ClientError.ts"
import * as Declaration from "../connection/Declaration.ts"

export { layerCallers } from "../answering/layerCallers.ts"

type Service = McpClient["Service"]

const toMcpError = (error: ClientError): McpError.McpError =>
  error instanceof McpError.McpError ? error : McpError.internalError(error.message)

const withMcpError = <A, R>(effect: Effect.Effect<A, ClientError, R>): Effect.Effect<A, McpError.McpError, R> =>
  Effect.mapError(effect, toMcpError)

/** Collects all items, or none if the server does not declare the feature. */
const listed = <A>(stream: Stream.Stream<A, ClientError>): Effect.Effect<ReadonlyArray<A>, McpError.McpError> =>
  withMcpError(Effect.catchTag(Stream.runCollect(stream), "CapabilityMissing", () => Effect.succeed([])))

/** Copies `_meta` without the progress token and declarations, which the forwarded request has itself. */
const optionsOf = ({ _meta }: { readonly _meta?: { readonly [key: string]: unknown } }): CallOptions => {
  if (_meta === undefined) return {}
  const { progressToken: _token, ...meta } = _meta
  return { meta: Declaration.without(meta) }
}

/** Forwards a request for its caller, who receives the server's questions. */
const forwarded = <A, R>(
  client: Service,
  params: { readonly _meta?: { readonly [key: string]: unknown } },
  run: (options: CallOptions) => Effect.Effect<A, ClientError, R>
): Effect.Effect<A, McpError.McpError, ClientInput | RequestContext | R> =>
  Effect.flatMap(Effect.all([ClientInput, RequestContext]), ([input, { outbound }]) =>
    withMcpError(
      client.forwarded.forward({ input, connection: outbound.connection }, (onSend) =>
        run({ ...optionsOf(params), onSend })
      )
    )
  )

const relayed = <A>(events: Stream.Stream<CallEvent<A>, ClientError>, progress: Progress["Service"]) =>
  Stream.runFoldEffect(
    events,
    (): Option.Option<A> => Option.none(),
    (last, event) =>
      event._tag === "Result"
        ? Effect.succeed(Option.some(event.value))
        : Effect.as(progress.report(event.progress, event), last)
  ).pipe(
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.fail(McpError.internalError("The server returned no result")),
        onSome: Effect.succeed
      })
    )
  )

/** True if the server may complete arguments. The oldest revision has no capability for it. */
const completes = ({ revision, serverCapabilities }: Service): boolean =>
  serverCapabilities.completions !== undefined || !revision.rules.completionsDeclared

/** Requests suggestions for one argument. */
const completer =
  (client: Service, ref: Reference, name: string): Completer =>
  (value, others) =>
    Effect.map(
      withMcpError(client.complete({ ref, argument: { name, value }, context: { arguments: others } })),
      ({ total, values, ...more }) => ({ ...more, values, ...(total === undefined ? undefined : { total }) })
    )

/**
 * Returns a connected server's tools, ready to be mounted into another server. A failed call fails with the server's own `McpError`, or
 * with -32603.
 *
 * @example
 * ```ts
 * import { McpClient, Sources } from "@effect-mcp/client"
 * import { Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer } from "effect"
 *
 * const upstream = McpClient.layerHttp({ url: "http://127.0.0.1:3000/mcp" }).pipe(Layer.provide(Sources.layerCallers))
 *
 * const features = Layer.effectDiscard(
 *   Effect.gen(function* () {
 *     const registry = yield* Tools.ToolRegistry
 *     yield* registry.mount(Sources.tools(yield* McpClient.McpClient), { prefix: "weather." })
 *   })
 * ).pipe(Layer.provide(upstream))
 *
 * export const server = McpServer.layer({ name: "gateway", version: "1.0.0", features })
 * ```
 */
export const tools = (client: Service): ToolSource => ({
  list: listed(client.listTools),
  call: (params) =>
    Effect.flatMap(Progress, (progress) =>
      forwarded(client, params, (options): Effect.Effect<CallToolResult, ClientError> =>
        progress.wanted
          ? relayed(client.callToolByNameStream(params.name, params.arguments, options), progress)
          : client.callToolByName(params.name, params.arguments, options)
      )
    ),
  changes: client.toolChanges
})

/** Returns a connected server's resources and resource templates, ready to be mounted into another server. */
export const resources = (client: Service): ResourceSource => ({
  list: listed(client.listResources),
  templates: listed(client.listResourceTemplates),
  read: (params) => forwarded(client, params, (options) => client.readResource(params.uri, options)),
  // The first event only reports the subscription. A failed subscription emits no updates.
  watch: (uri) =>
    client.serverCapabilities.resources?.subscribe === true
      ? Stream.catchCause(Stream.drop(client.watchResource(uri), 1), () => Stream.empty)
      : undefined,
  matches: UriTemplate.matches,
  ...(completes(client) && {
    completerOf: (uri: string, variable: string) => completer(client, { type: "ref/resource", uri }, variable)
  }),
  changes: client.resourceChanges
})

/** Returns a connected server's prompts, ready to be mounted into another server. */
export const prompts = (client: Service): PromptSource => ({
  list: listed(client.listPrompts),
  get: (params) =>
    forwarded(client, params, (options) => client.getPromptByName(params.name, params.arguments, options)),
  ...(completes(client) && {
    completerOf: (name: string, argument: string) => completer(client, { type: "ref/prompt", name }, argument)
  }),
  changes: client.promptChanges
})

/** Returns a connected server's completions as a `Completions` service. */
export const completions = (client: Service): Completions["Service"] => ({
  complete: (params) => withMcpError(Effect.map(client.complete(params), (completion) => ({ completion })))
})
