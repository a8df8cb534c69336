/**
 * Implements a client's `Sampling` with a `LanguageModel`, so servers that request a message receive one from the program's own model.
 *
 * If the server sends tools, the model may call them, but they never run here. The calls are returned to the server instead (spec
 * 2025-11-25: client/sampling, tool use). The client's `Consent` still applies to every message.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CreateMessageParams, CreateMessageResult, SamplingContent } from "@effect-mcp/protocol/model/Sampling"
import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { promptOf } from "./prompt.ts"

/** A model the program can use. */
export interface ModelChoice {
  /** Model name to report to the server. */
  readonly name: string
  /**
   * Runs a generation with this model. `LanguageModel` has no options for `maxTokens`, `temperature` and `stopSequences`, so read them from
   * `params` and set them in the provider's own configuration.
   */
  readonly use: <A, E, R>(
    generate: Effect.Effect<A, E, R | LanguageModel.LanguageModel>,
    params: CreateMessageParams
  ) => Effect.Effect<A, E, R | LanguageModel.LanguageModel>
}

export interface Options {
  /** Model name to report to the server. Default: the name in the provider's response, or "unknown". */
  readonly name?: string | undefined
  /**
   * Models to choose from. Uses the first one that matches the server's hints, or else the first in the list. Default: the layer's
   * `LanguageModel`.
   */
  readonly models?: ReadonlyArray<ModelChoice> | undefined
  /** Whether to let the model call tools the server sends. Default true. */
  readonly tools?: boolean | undefined
}

const stopReasons: { readonly [reason in Response.FinishReason]?: string } = {
  stop: "endTurn",
  length: "maxTokens",
  "tool-calls": "toolUse"
}

const chosen = ({ models = [] }: Options, { modelPreferences }: CreateMessageParams): ModelChoice | undefined => {
  const names = models.map(({ name }) => name)
  const hinted = Sampling.hinted(names, modelPreferences)
  return models.find(({ name }) => name === hinted) ?? models[0]
}

/** Returns the request's tools. The server runs their calls. */
const toolkitOf = ({ tools = [] }: CreateMessageParams) => {
  const offered = tools.map(({ description = "", inputSchema, name }) =>
    AiTool.dynamic(name, { description, parameters: { ...inputSchema }, success: Schema.Unknown }).annotate(
      AiTool.Strict,
      false
    )
  )
  return Toolkit.make(...offered)
}

type Reply = LanguageModel.GenerateTextResponse<Toolkit.Tools<ReturnType<typeof toolkitOf>>, "encoded">

const contentOf = ({ content: parts }: Reply): CreateMessageResult["content"] => {
  const content: Array<SamplingContent> = []
  for (const part of parts) {
    if (part.type === "text" && part.text !== "") content.push({ type: "text", text: part.text })
    if (part.type === "tool-call") {
      const { id, name, params } = part
      content.push({ type: "tool_use", id, name, input: isJsonObject(params) ? params : {} })
    }
  }
  // Revisions before 2025-11-25 allow only one block.
  const [only = { type: "text" as const, text: "" }] = content
  return content.length < 2 ? only : content
}

const modelOf = ({ content }: Reply): string | undefined =>
  content.find((part) => part.type === "response-metadata")?.modelId

const failed = ({ reason }: AiError.AiError): Effect.Effect<never, McpError.McpError> =>
  // A provider's message may name its account, so it only goes to this program's log.
  Effect.andThen(
    Effect.logWarning("The model returned no message", reason),
    Effect.fail(McpError.internalError(`The model returned no message: ${reason._tag}`))
  )

const createMessage = Effect.fnUntraced(function* (params: CreateMessageParams, options: Options) {
  const choice = chosen(options, params)
  const toolkit = toolkitOf(params)
  const generate = LanguageModel.generateText({
    prompt: promptOf(params),
    toolkit: yield* Effect.provideContext(toolkit, yield* toolkit.toHandlers({})),
    toolChoice: params.toolChoice?.mode ?? "auto",
    disableToolCallResolution: true
  })
  const used =
    choice === undefined
      ? generate
      : effectOf(`The use function of the model ${choice.name}`, () => choice.use(generate, params))
  const response = yield* Effect.catch(used, failed)
  const { finishReason } = response
  return {
    role: "assistant" as const,
    content: contentOf(response),
    model: choice?.name ?? options.name ?? modelOf(response) ?? "unknown",
    stopReason: stopReasons[finishReason] ?? finishReason
  }
})

/**
 * Provides a `Sampling` service for the client that calls the program's `LanguageModel`.
 *
 * `LanguageModel` has no options for a request's `maxTokens`, `temperature` and `stopSequences`. To limit tokens, configure the provider
 * through `models`. If the model fails, the server receives error -32603 with the kind of failure; the details are only logged.
 *
 * @example
 * ```ts
 * import { ModelSampling } from "@effect-mcp/ai"
 * import { McpClient } from "@effect-mcp/client"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * // Needs a LanguageModel, such as one from a provider's package.
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([ModelSampling.layer({ name: "my-model" }), FetchHttpClient.layer])
 * )
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Sampling.Sampling, never, LanguageModel.LanguageModel> =>
  Sampling.layer((params) => createMessage(params, options), { tools: options.tools ?? true })
