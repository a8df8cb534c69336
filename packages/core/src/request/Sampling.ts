/**
 * Questions to the client's model (spec: client/sampling). One tag on both sides: the client implements it, a server's handler holds a
 * proxy.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CreateMessageParams, CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AskError, AskOptions, ClientInput } from "./ClientInput.ts"
import { check } from "./samplingMessages.ts"

export { check } from "./samplingMessages.ts"

/** Why there is no message. */
export type SamplingError = AskError | McpError.McpError

/** The client's model. */
export class Sampling extends Context.Service<
  Sampling,
  {
    /** Whether requests may have tools, and include context of servers. */
    readonly capabilities: { readonly tools: boolean; readonly context: boolean }
    readonly createMessage: (
      params: CreateMessageParams,
      options?: AskOptions
    ) => Effect.Effect<CreateMessageResult, SamplingError>
  }
>()("@effect-mcp/core/Sampling") {}

/** The client's own model. `createMessage` fails with `rejected()` (-1) when the user refuses. */
export const layer = <E extends McpError.McpError, R>(
  createMessage: (params: CreateMessageParams) => Effect.Effect<CreateMessageResult, E, R>,
  capabilities: { readonly tools?: boolean; readonly context?: boolean } = {}
): Layer.Layer<Sampling, never, R> =>
  Layer.effect(
    Sampling,
    Effect.map(Effect.context<R>(), (services) => ({
      capabilities: { tools: capabilities.tools === true, context: capabilities.context === true },
      createMessage: (params) => Effect.provideContext(createMessage(params), services)
    }))
  )

/**
 * Asks the client's model for one message. Fails with `CapabilityMissing` where the client declared no sampling, and with `Declined`
 * where the user refused.
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

/** The error of a client whose user refused: code -1, as in the specification's example. */
export const rejected = (message = "The user rejected the sampling request"): McpError.McpError =>
  new McpError.McpError({ code: McpError.UserRejected, message })

/**
 * The model that a server's hints name: the first hint that is part of a name, without regard to case. Undefined when no hint matches: then
 * only the priorities remain.
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

/** The `Sampling` of a server's handler: it asks the client. */
export const proxy = (
  input: ClientInput["Service"],
  capabilities: Sampling["Service"]["capabilities"]
): Sampling["Service"] => ({
  capabilities,
  createMessage: (params, options) =>
    Effect.andThen(check(params.messages), input.ask("sampling/createMessage", params, options))
})
