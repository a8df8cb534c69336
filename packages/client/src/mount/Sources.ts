/**
 * The features of a client's server, in the shape that a server's own registries have: to be mounted into another server.
 *
 * Progress, cancellation and questions reach the caller. The client declares the services that it was built with (`layerCallers`: all
 * of them); a question that the caller did not declare is refused. Names of several servers: see `ToolRegistry.mount`.
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
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { CallEvent } from "../features/Calls.ts"
import type { McpClient } from "../Client.ts"
import type { ClientError } from "../ClientError.ts"
import * as Callers from "../answering/Callers.ts"
import * as Declaration from "../connection/Declaration.ts"

type Service = McpClient["Service"]

/** `Elicitation`, `Sampling` and `Roots` for a client that only carries the requests of callers. */
export const layerCallers = Callers.layer

const toMcpError = (error: ClientError): McpError.McpError =>
  error instanceof McpError.McpError ? error : McpError.internalError(error.message)

const passed = <A, R>(effect: Effect.Effect<A, ClientError, R>): Effect.Effect<A, McpError.McpError, R> =>
  Effect.mapError(effect, toMcpError)

/** A server without the feature has an empty list of it. */
const listed = <A>(stream: Stream.Stream<A, ClientError>): Effect.Effect<ReadonlyArray<A>, McpError.McpError> =>
  passed(Effect.catchTag(Stream.runCollect(stream), "CapabilityMissing", () => Effect.succeed([])))

/** What a request says beside its params. The token, and what the caller declared, are the caller's: this side has its own. */
const optionsOf = ({ _meta }: { readonly _meta?: { readonly [key: string]: unknown } }): CallOptions => {
  if (_meta === undefined) return {}
  const { progressToken: _token, ...meta } = _meta
  return { meta: Declaration.without(meta) }
}

/** Carries a request for its caller: what the server asks meanwhile is put to the caller. */
const carried = <A, R>(
  client: Service,
  params: { readonly _meta?: { readonly [key: string]: unknown } },
  run: (options: CallOptions) => Effect.Effect<A, ClientError, R>
): Effect.Effect<A, McpError.McpError, ClientInput | RequestContext | R> =>
  Effect.flatMap(Effect.all([ClientInput, RequestContext]), ([input, { outbound }]) =>
    passed(
      client.callers.carry({ input, connection: outbound.connection }, (onSend) =>
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
        onNone: () => Effect.fail(McpError.internalError("The server gave no result")),
        onSome: Effect.succeed
      })
    )
  )

/** The oldest revision has no way to declare suggestions. */
const completes = ({ revision, serverCapabilities }: Service): boolean =>
  serverCapabilities.completions !== undefined || !revision.rules.completionsDeclared

/** The server's suggestions for one argument. */
const completer =
  (client: Service, ref: Reference, name: string): Completer =>
  (value, others) =>
    Effect.map(
      passed(client.complete({ ref, argument: { name, value }, context: { arguments: others } })),
      ({ total, values, ...more }) => ({ ...more, values, ...(total === undefined ? undefined : { total }) })
    )

export const tools = (client: Service): ToolSource => ({
  list: listed(client.listTools),
  call: (params) =>
    Effect.flatMap(Progress, (progress) =>
      carried(client, params, (options): Effect.Effect<CallToolResult, ClientError> =>
        progress.wanted
          ? relayed(client.callToolByNameStream(params.name, params.arguments, options), progress)
          : client.callToolByName(params.name, params.arguments, options)
      )
    ),
  changes: client.toolChanges
})

export const resources = (client: Service): ResourceSource => ({
  list: listed(client.listResources),
  templates: listed(client.listResourceTemplates),
  read: (params) => carried(client, params, (options) => client.readResource(params.uri, options)),
  // The first event only says that the subscription stands. A subscription that fails ends: there is nothing to announce.
  watch: (uri) =>
    client.serverCapabilities.resources?.subscribe === true
      ? Stream.catchCause(Stream.drop(client.watchResource(uri), 1), () => Stream.empty)
      : undefined,
  ...(completes(client) && {
    completerOf: (uri: string, variable: string) => completer(client, { type: "ref/resource", uri }, variable)
  }),
  changes: client.resourceChanges
})

export const prompts = (client: Service): PromptSource => ({
  list: listed(client.listPrompts),
  get: (params) => carried(client, params, (options) => client.getPromptByName(params.name, params.arguments, options)),
  ...(completes(client) && {
    completerOf: (name: string, argument: string) => completer(client, { type: "ref/prompt", name }, argument)
  }),
  changes: client.promptChanges
})

export const completions = (client: Service): Completions["Service"] => ({
  complete: (params) => passed(Effect.map(client.complete(params), (completion) => ({ completion })))
})
