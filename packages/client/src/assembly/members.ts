/** Simple client members: streams of a single result, and options in place of a stream. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { listKinds } from "@effect-mcp/protocol/MethodInfo"
import * as Effect from "effect/Effect"
import type { McpClient } from "../Client.ts"
import * as Calls from "../features/Calls.ts"
import * as Changes from "../features/Changes.ts"
import { changeMember, type ChangeMembers } from "../features/ListMembers.ts"
import type { Hub } from "../internal/Hub.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import type { ClientParts } from "./ClientParts.ts"

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
        McpError.invalidParams(`Invalid prompt arguments: ${message}`)
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
): Members<keyof ChangeMembers | "resourceUpdates" | "logs" | "changesReady" | "elicitationsCompleted"> => {
  const changesOf = (hub: Hub<void>) => Changes.stream({ conversation, hub, policy, dropped })
  return {
    resourceUpdates: hubs.updates.stream(256),
    logs: hubs.logs.stream(options.logBuffer ?? 256),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- built with one entry per kind
    ...(Object.fromEntries(
      listKinds.map((kind) => [changeMember(kind), changesOf(hubs.changes[kind])])
    ) as ChangeMembers),
    // The streams share this subscription, which continues for them.
    changesReady: Effect.asVoid(Effect.scoped(conversation.subscribeLists)),
    elicitationsCompleted: host.urls.completions
  }
}
