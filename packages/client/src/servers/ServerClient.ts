/**
 * Requests to one server in a table. Like `Client`, but requests fail with `Unavailable` while the server is not connected.
 *
 * If a request's failure suggests that the server is gone, the supervisor checks on it. `Client` members that are missing here are
 * available through `client`.
 */
import type { Prompt } from "@effect-mcp/core/Prompt"
import type { Tool } from "@effect-mcp/core/Tool"
import type { ToolFailure } from "@effect-mcp/core/Tools"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { GetPromptResult } from "@effect-mcp/protocol/model/Prompt"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import type { Client } from "../Client.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { CallEvent } from "../features/Calls.ts"
import { listMember, type ListMembers, listOf } from "../features/ListMembers.ts"
import type { Unavailable } from "./ServerState.ts"
import type { Supervised } from "./Supervisor.ts"

/** Errors a request to one server in a table can fail with. */
export type ServerRequestError = ClientError | Unavailable

/** A `Client` member that can also fail with `Unavailable`. */
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
  | keyof ListMembers
  | "callToolByName"
  | "callToolByNameStream"
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
  /** The underlying client, once the server is connected. */
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each reads its own member of the client
  const lists = Object.fromEntries(
    Struct.keys(MethodInfo.lists).map((name) => [listMember(name), read((client) => listOf(client, name))])
  ) as Pick<Derived, keyof ListMembers>
  return {
    client,
    callTool: (tool, input, options) => use((client) => client.callTool(tool, input, options)),
    callToolStream: (tool, input, options) => read((client) => client.callToolStream(tool, input, options)),
    callToolByName: (name, args, options) => use((client) => client.callToolByName(name, args, options)),
    callToolByNameStream: (name, args, options) => read((client) => client.callToolByNameStream(name, args, options)),
    ...lists,
    readResource: (uri, options) => use((client) => client.readResource(uri, options)),
    readResourceText: (uri, options) => use((client) => client.readResourceText(uri, options)),
    watchResource: (uri) => read((client) => client.watchResource(uri)),
    getPrompt: (prompt, args, options) => use((client) => client.getPrompt(prompt, args, options)),
    getPromptByName: (name, args, options) => use((client) => client.getPromptByName(name, args, options)),
    complete: (params, options) => use((client) => client.complete(params, options))
  }
}
