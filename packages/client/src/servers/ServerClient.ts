/**
 * Requests of one of several servers: like `Client`, but they fail with `Unavailable` while the server is not connected.
 *
 * A request that fails as if the server were gone makes the supervisor check it. Members of `Client` that are missing here are available
 * through `client`.
 */
import type { Prompt } from "@effect-mcp/core/Prompt"
import type { Tool } from "@effect-mcp/core/Tool"
import type { ToolFailure } from "@effect-mcp/core/Tools"
import type { GetPromptResult } from "@effect-mcp/protocol/model/Prompt"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Client } from "../Client.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { CallEvent } from "../features/Calls.ts"
import type { Unavailable } from "./ServerState.ts"
import type { Supervised } from "./Supervisor.ts"

/** Errors of a request to one of several servers. */
export type ServerRequestError = ClientError | Unavailable

/** A member of `Client` that can also fail with `Unavailable`. */
type OrUnavailable<M> =
  M extends Effect.Effect<infer A, infer E>
    ? Effect.Effect<A, E | Unavailable>
    : M extends Stream.Stream<infer A, infer E>
      ? Stream.Stream<A, E | Unavailable>
      : M extends (...args: infer Args) => infer R
        ? (...args: Args) => OrUnavailable<R>
        : never

type Shared = Pick<
  Client,
  | "callToolByName"
  | "callToolByNameStream"
  | "listTools"
  | "listResources"
  | "listResourceTemplates"
  | "listPrompts"
  | "readResource"
  | "readResourceText"
  | "watchResource"
  | "getPromptByName"
  | "complete"
>

/** Members that are not generic, with the types and docstrings of `Client`. */
type Derived = { [Member in keyof Shared]: OrUnavailable<Shared[Member]> }

/** The same members as `Client`. Generic members are declared again, because a derived type would lose their type parameters. */
export interface ServerClient extends Derived {
  /** The client itself, once the server is connected. */
  readonly client: Effect.Effect<Client, Unavailable>
  /** Like `Client.callTool`. */
  readonly callTool: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Effect.Effect<O, F | ToolFailure | ServerRequestError>
  /** Like `Client.callToolStream`. */
  readonly callToolStream: <I, O, F, H>(
    tool: Tool<I, O, F, H>,
    input: NoInfer<I>,
    options?: CallOptions
  ) => Stream.Stream<CallEvent<O>, F | ToolFailure | ServerRequestError>
  /** Like `Client.getPrompt`. */
  readonly getPrompt: <A>(
    prompt: Prompt<A>,
    args: A,
    options?: CallOptions
  ) => Effect.Effect<GetPromptResult, ServerRequestError>
}

/** True if requests to a server that is gone can fail with this error. */
const seemsGone = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "Closed" || error._tag === "Timeout")

export const make = ({ client, suspect }: Pick<Supervised, "client" | "suspect">): ServerClient => {
  const look = (error: unknown) => Effect.sync(() => void (seemsGone(error) && suspect()))
  const use = <A, E>(run: (client: Client) => Effect.Effect<A, E>): Effect.Effect<A, E | Unavailable> =>
    Effect.tapError(Effect.flatMap(client, run), look)
  const read = <A, E>(run: (client: Client) => Stream.Stream<A, E>): Stream.Stream<A, E | Unavailable> =>
    Stream.tapError(Stream.unwrap(Effect.map(client, run)), look)
  return {
    client,
    callTool: (tool, input, options) => use((client) => client.callTool(tool, input, options)),
    callToolStream: (tool, input, options) => read((client) => client.callToolStream(tool, input, options)),
    callToolByName: (name, args, options) => use((client) => client.callToolByName(name, args, options)),
    callToolByNameStream: (name, args, options) => read((client) => client.callToolByNameStream(name, args, options)),
    listTools: read((client) => client.listTools),
    listResources: read((client) => client.listResources),
    listResourceTemplates: read((client) => client.listResourceTemplates),
    listPrompts: read((client) => client.listPrompts),
    readResource: (uri, options) => use((client) => client.readResource(uri, options)),
    readResourceText: (uri, options) => use((client) => client.readResourceText(uri, options)),
    watchResource: (uri) => read((client) => client.watchResource(uri)),
    getPrompt: (prompt, args, options) => use((client) => client.getPrompt(prompt, args, options)),
    getPromptByName: (name, args, options) => use((client) => client.getPromptByName(name, args, options)),
    complete: (params, options) => use((client) => client.complete(params, options))
  }
}
