/**
 * A client's server under the tags that a server's own features have: what is mounted into a gateway, or used in place of a registry.
 *
 * Progress and cancellation pass through. Questions do not: they reach the services that the client was built with, so a client that
 * several callers share must be built with such as answer for all of them.
 */
import type { Completions } from "@effect-mcp/core/Completions"
import { Progress } from "@effect-mcp/core/Progress"
import type { PromptSource } from "@effect-mcp/core/Prompts"
import type { ResourceSource } from "@effect-mcp/core/Resources"
import type { ToolSource } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CallOptions } from "./CallOptions.ts"
import type { CallEvent } from "./Calls.ts"
import type { McpClient } from "./Client.ts"
import type { ClientError } from "./ClientError.ts"
import * as Declaration from "./Declaration.ts"

type Service = McpClient["Service"]

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

export const tools = (client: Service): ToolSource => ({
  list: listed(client.tools),
  call: (params) =>
    Effect.flatMap(Progress, (progress) =>
      passed(
        progress.wanted
          ? relayed(client.callToolStream(params.name, params.arguments, optionsOf(params)), progress)
          : client.callTool(params.name, params.arguments, optionsOf(params))
      )
    ),
  changes: client.toolChanges
})

export const resources = (client: Service): ResourceSource => ({
  list: listed(client.resources),
  templates: listed(client.resourceTemplates),
  read: (params) => passed(client.read(params.uri, optionsOf(params))),
  // The first event only says that the subscription stands. A subscription that fails ends: there is nothing to announce.
  watch: (uri) =>
    client.serverCapabilities.resources?.subscribe === true
      ? Stream.catchCause(Stream.drop(client.watch(uri), 1), () => Stream.empty)
      : undefined,
  changes: client.resourceChanges
})

export const prompts = (client: Service): PromptSource => ({
  list: listed(client.prompts),
  get: (params) => passed(client.prompt(params.name, params.arguments, optionsOf(params))),
  changes: client.promptChanges
})

export const completions = (client: Service): Completions["Service"] => ({
  complete: (params) => passed(Effect.map(client.complete(params), (completion) => ({ completion })))
})
