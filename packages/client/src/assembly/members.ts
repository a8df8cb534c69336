/** The members of a client that take a step or two: streams of one result, options in the place of a stream, members that load theirs. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { McpClient } from "../Client.ts"
import type { ClientError, NotLoaded } from "../ClientError.ts"
import * as Calls from "../features/Calls.ts"
import * as Changes from "../features/Changes.ts"
import type { ExtensionEntrance } from "../features/ExtensionEntrance.ts"
import type { ServerLists } from "../features/ServerLists.ts"
import type { Hub } from "../internal/Hub.ts"
import { withParts } from "../internal/Late.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import type { TaskMembers } from "../tasks/TaskHandle.ts"
import { type ClientParts, limitsOf } from "./ClientParts.ts"
import { rareParts } from "./loadRareParts.ts"

type Service = McpClient["Service"]

type Members<K extends keyof Service> = Pick<Service, K>

export const callMembers = ({
  callTool,
  callToolByName
}: Calls.Calls): Members<"callTool" | "callToolByName" | "callToolStream" | "callToolByNameStream"> => ({
  callTool,
  callToolByName,
  callToolStream: (tool, input, options = {}) =>
    Calls.stream((withProgress) => callTool(tool, input, withProgress), options),
  callToolByNameStream: (name, args, options = {}) =>
    Calls.stream((withProgress) => callToolByName(name, args, withProgress), options)
})

export const taskMembers = (
  { options, scope }: ClientParts,
  calls: Calls.Calls,
  connection: ReconnectingConnection,
  extensions: ExtensionEntrance
): TaskMembers => {
  const limits = limitsOf(options)
  const members = Effect.flatMap(extensions.all, ({ exchange }) =>
    withParts(rareParts, ({ taskCalls }) => Effect.succeed(taskCalls({ calls, connection, exchange, limits, scope })))
  )
  return {
    start: (tool, input, options) => Effect.flatMap(members, ({ start }) => start(tool, input, options)),
    startByName: (name, args, options) =>
      Effect.flatMap(members, ({ startByName }) => startByName(name, args, options)),
    task: (tool, id, options) => Effect.flatMap(members, ({ task }) => task(tool, id, options)),
    taskById: (id, options) => Effect.flatMap(members, ({ taskById }) => taskById(id, options)),
    listTasks: Stream.unwrap(Effect.map(members, ({ listTasks }) => listTasks))
  }
}

export const listMembers = (
  listed: Effect.Effect<ServerLists, NotLoaded>
): Members<"listTools" | "listResources" | "listResourceTemplates" | "listPrompts"> => {
  const list = <A>(streamOf: (lists: ServerLists) => Stream.Stream<A, ClientError>): Stream.Stream<A, ClientError> =>
    Stream.unwrap(Effect.map(listed, streamOf))
  return {
    listTools: list(({ listTools }) => listTools),
    listResources: list(({ listResources }) => listResources),
    listResourceTemplates: list(({ listResourceTemplates }) => listResourceTemplates),
    listPrompts: list(({ listPrompts }) => listPrompts)
  }
}

export const readMembers = (
  { request }: ReconnectingConnection,
  retrying: Calls.Options["retrying"]
): Members<
  | "readResource"
  | "readResourceText"
  | "getPromptByName"
  | "getPrompt"
  | "complete"
  | "subscribeResource"
  | "unsubscribeResource"
> => {
  const readResource: Service["readResource"] = (uri, options) =>
    retrying(() => request("resources/read", { uri }, options))
  const getPromptByName: Service["getPromptByName"] = (name, args = {}, options) =>
    retrying(() => request("prompts/get", { name, arguments: args }, options))
  return {
    readResource,
    readResourceText: (uri, options) =>
      Effect.map(readResource(uri, options), ({ contents }) =>
        contents.flatMap((content) => ("text" in content ? [content.text] : [])).join("\n")
      ),
    getPromptByName,
    getPrompt: ({ encode, name }, args, options) =>
      Effect.mapError(encode(args), ({ message }) =>
        McpError.invalidParams(`The arguments do not fit the prompt: ${message}`)
      ).pipe(Effect.flatMap((encoded) => getPromptByName(name, encoded, options))),
    complete: (params, options) =>
      Effect.map(request("completion/complete", params, options), ({ completion }) => completion),
    subscribeResource: (uri) => Effect.asVoid(request("resources/subscribe", { uri })),
    unsubscribeResource: (uri) => Effect.asVoid(request("resources/unsubscribe", { uri }))
  }
}

export const streamMembers = (
  { dropped, host, hubs, options, policy }: ClientParts,
  conversation: ReconnectingConnection
): Members<
  | "resourceUpdates"
  | "logs"
  | "toolChanges"
  | "resourceChanges"
  | "promptChanges"
  | "changesReady"
  | "elicitationsCompleted"
> => {
  const changesOf = (hub: Hub<void>) => Changes.stream({ conversation, hub, policy, dropped })
  return {
    resourceUpdates: hubs.updates.stream(256),
    logs: hubs.logs.stream(options.logBuffer ?? 256),
    toolChanges: changesOf(hubs.tools),
    resourceChanges: changesOf(hubs.resources),
    promptChanges: changesOf(hubs.prompts),
    // The streams share the subscription, which goes on for them.
    changesReady: Effect.asVoid(Effect.scoped(conversation.subscribeLists)),
    elicitationsCompleted: host.urls.completions
  }
}
