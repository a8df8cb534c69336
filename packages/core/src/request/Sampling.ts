/**
 * Asks the client's model for messages (spec: client/sampling). Both sides use the same service: the client implements it, and a server's
 * handlers use a proxy.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { effectOf } from "../internal/callback.ts"
import type { AskError, AskOptions, ClientInput } from "./ClientInput.ts"
import { check } from "./samplingMessages.ts"

export { check } from "./samplingMessages.ts"

/** Errors a sampling request may fail with. */
export type SamplingError = AskError | McpError.McpError

/** The client's model. */
export class Sampling extends Context.Service<
  Sampling,
  {
    /** True if requests may use tools, and if they may include context from servers. */
    readonly capabilities: { readonly tools: boolean; readonly context: boolean }
    readonly createMessage: (
      params: CreateMessageParams,
      options?: AskOptions
    ) => Effect.Effect<CreateMessageResult, SamplingError>
  }
>()("@effect-mcp/core/Sampling") {}

/** Provides the client's model. `createMessage` should fail with `rejected()` (-1) if the user declines. */
export const layer = <E extends McpError.McpError, R>(
  createMessage: (params: CreateMessageParams) => Effect.Effect<CreateMessageResult, E, R>,
  capabilities: { readonly tools?: boolean; readonly context?: boolean } = {}
): Layer.Layer<Sampling, never, R> =>
  Layer.effect(
    Sampling,
    Effect.map(Effect.context<R>(), (services) => ({
      capabilities: { tools: capabilities.tools === true, context: capabilities.context === true },
      createMessage: (params) =>
        Effect.provideContext(
          effectOf("The function of Sampling.layer", () => createMessage(params)),
          services
        )
    }))
  )

/**
 * Asks the client's model for one message. Fails with `CapabilityMissing` if the client doesn't support sampling, and with `Declined` if
 * the user declines.
 *
 * @example
 * ```ts
 * import { Sampling } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const summarize = (text: string) =>
 *   Sampling.createMessage({
 *     messages: [{ role: "user", content: { type: "text", text: `Summarize: ${text}` } }],
 *     maxTokens: 200
 *   }).pipe(Effect.map(({ content }) => content))
 * ```
 */
export const createMessage = (
  params: CreateMessageParams,
  options?: AskOptions
): Effect.Effect<CreateMessageResult, SamplingError, Sampling> =>
  Effect.flatMap(Sampling, (sampling) => sampling.createMessage(params, options))

/**
 * Returns a message's text: all of its text blocks, joined by newlines. Returns an empty string if it has no text blocks.
 *
 * @example
 * ```ts
 * import { Sampling } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const translate = (text: string) =>
 *   Sampling.createMessage({
 *     messages: [{ role: "user", content: { type: "text", text: `Translate to English: ${text}` } }],
 *     maxTokens: 200
 *   }).pipe(Effect.map(Sampling.text))
 * ```
 */
export const text = ({ content }: Pick<CreateMessageResult, "content">): string =>
  [content]
    .flat()
    .flatMap((block) => (block.type === "text" ? [block.text] : []))
    .join("\n")

/** Creates the error a client fails with if the user declines: code -1, as in the specification's example. */
export const rejected = (message = "The user rejected the sampling request"): McpError.McpError =>
  new McpError.McpError({ code: McpError.UserRejected, message })

/**
 * Picks a model based on a server's hints: tries the hints in order and returns the first model whose name contains the hint, ignoring
 * case. Returns `undefined` if no hint matches; choose by the priorities in that case.
 */
export const hinted = (
  models: ReadonlyArray<string>,
  preferences: CreateMessageParams["modelPreferences"]
): string | undefined => {
  for (const { name } of preferences?.hints ?? []) {
    const model =
      name === undefined ? undefined : models.find((model) => model.toLowerCase().includes(name.toLowerCase()))
    if (model !== undefined) return model
  }
  return undefined
}

/** Creates the `Sampling` service for a server's handlers. It forwards requests to the client. */
export const proxy = (
  input: ClientInput["Service"],
  capabilities: Sampling["Service"]["capabilities"]
): Sampling["Service"] => ({
  capabilities,
  createMessage: (params, options) =>
    Effect.andThen(check(params.messages), input.ask("sampling/createMessage", params, options))
})
