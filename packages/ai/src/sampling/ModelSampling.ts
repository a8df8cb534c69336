/**
 * `Sampling` of a client by a `LanguageModel`: servers that ask for a message get one of the program's own model.
 *
 * Tools that a server sends are offered to the model and never run here: the server gets the model's calls (spec 2025-11-25: client/sampling,
 * tool use). `Consent` of the client still asks the user before each message.
 */
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

/** A model of the program. */
export interface ModelChoice {
  /** As the server reads it in the result. */
  readonly name: string
  /**
   * Runs a generation with this model. `params` has what `LanguageModel` has no option for: `maxTokens`, `temperature` and
   * `stopSequences` are set by the provider's own configuration.
   */
  readonly use: <A, E, R>(
    generate: Effect.Effect<A, E, R | LanguageModel.LanguageModel>,
    params: CreateMessageParams
  ) => Effect.Effect<A, E, R | LanguageModel.LanguageModel>
}

export interface Options {
  /** The name of the model, as the server reads it. Default: that of the response, else "unknown". */
  readonly name?: string | undefined
  /** Models to choose from: the first one that the server's hints name, else the first of the list. Default: the one of the layer. */
  readonly models?: ReadonlyArray<ModelChoice> | undefined
  /** Whether a server may send tools for the model. Default true. */
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

/** The tools of the request, whose calls the server runs. */
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
  // Revisions before 2025-11-25 have one block.
  const [only = { type: "text" as const, text: "" }] = content
  return content.length < 2 ? only : content
}

const modelOf = ({ content }: Reply): string | undefined =>
  content.find((part) => part.type === "response-metadata")?.modelId

const failed = ({ reason }: AiError.AiError): Effect.Effect<never, McpError.McpError> =>
  // What a provider says may name its account: it is for the log of this program.
  Effect.andThen(
    Effect.logWarning("The model gave no message", reason),
    Effect.fail(McpError.internalError(`The model gave no message: ${reason._tag}`))
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
  const response = yield* Effect.catch(choice === undefined ? generate : choice.use(generate, params), failed)
  const { finishReason } = response
  return {
    role: "assistant" as const,
    content: contentOf(response),
    model: choice?.name ?? options.name ?? modelOf(response) ?? "unknown",
    stopReason: stopReasons[finishReason] ?? finishReason
  }
})

/**
 * A client's `Sampling` that asks the `LanguageModel` of the program.
 *
 * `maxTokens`, `temperature` and `stopSequences` of the request have no option in `LanguageModel`: bound the tokens in the provider's
 * configuration, by `models`. An error of the model is -32603 with its kind; its details are logged.
 *
 * @example
 * ```ts
 * import { ModelSampling } from "@effect-mcp/ai"
 * import { McpClient } from "@effect-mcp/client"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * // Needs a LanguageModel, such as that of a provider's package.
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([ModelSampling.layer({ name: "my-model" }), FetchHttpClient.layer])
 * )
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Sampling.Sampling, never, LanguageModel.LanguageModel> =>
  Sampling.layer((params) => createMessage(params, options), { tools: options.tools ?? true })
