/** The body of a request for chat completions. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"

/** Prefix of media types that a model can see. */
const images = "image/"

const unsupported = (description: string): AiError.AiError =>
  AiError.make({
    module: "ChatCompletions",
    method: "request",
    reason: new AiError.InvalidUserInputError({ description })
  })

/** Converts a part of a message. Fails if chat completions can't express it. */
const contentOf = (part: Prompt.TextPart | Prompt.FilePart): Effect.Effect<object, AiError.AiError> => {
  if (part.type === "text") return Effect.succeed({ type: "text", text: part.text })
  const { data, mediaType } = part
  if (!mediaType.startsWith(images)) {
    return Effect.fail(unsupported(`Chat completions only support images, not files of type ${mediaType}`))
  }
  const base64 = typeof data === "string" ? data : data instanceof URL ? undefined : Base64.encode(data)
  const url =
    data instanceof URL ? data.href : base64?.startsWith("data:") ? base64 : `data:${mediaType};base64,${base64}`
  return Effect.succeed({ type: "image_url", image_url: { url } })
}

const userMessage = (message: Prompt.UserMessage): Effect.Effect<object, AiError.AiError> =>
  message.content.every((part) => part.type === "text")
    ? Effect.succeed({ role: "user", content: message.content.map((part) => part.text).join("\n") })
    : Effect.map(Effect.forEach(message.content, contentOf), (content) => ({ role: "user", content }))

/** Converts an assistant's texts and calls. Its reasoning and files are not sent back. */
const assistantMessage = ({ content }: Prompt.AssistantMessage): object => {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const calls = content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ id: part.id, type: "function", function: { name: part.name, arguments: JSON.stringify(part.params) } }]
      : []
  )
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join("\n"),
    ...(calls.length === 0 ? undefined : { tool_calls: calls })
  }
}

const toolMessages = ({ content }: Prompt.ToolMessage): ReadonlyArray<object> =>
  content.flatMap((part) =>
    part.type === "tool-result"
      ? [
          {
            role: "tool",
            tool_call_id: part.id,
            content:
              part.modelOutput === undefined
                ? (JSON.stringify(part.result) ?? "")
                : Prompt.toolModelOutputToText(part.modelOutput)
          }
        ]
      : []
  )

const messagesOf = (message: Prompt.Message): Effect.Effect<ReadonlyArray<object>, AiError.AiError> => {
  switch (message.role) {
    case "system":
      return Effect.succeed([{ role: "system", content: message.content }])
    case "user":
      return Effect.map(userMessage(message), (one) => [one])
    case "assistant":
      return Effect.succeed([assistantMessage(message)])
    default:
      return Effect.succeed(toolMessages(message))
  }
}

const toolsOf = ({ toolChoice, tools }: LanguageModel.ProviderOptions): object => {
  const only = typeof toolChoice === "object" && "oneOf" in toolChoice ? new Set<string>(toolChoice.oneOf) : undefined
  const offered = tools.filter(({ name }) => only === undefined || only.has(name))
  if (offered.length === 0) return {}
  const choice =
    typeof toolChoice === "string"
      ? toolChoice
      : "tool" in toolChoice
        ? { type: "function", function: { name: toolChoice.tool } }
        : (toolChoice.mode ?? "auto")
  return {
    tools: offered.map((tool) => ({
      type: "function",
      function: {
        name: tool.name,
        description: Tool.getDescription(tool) ?? "",
        parameters: Tool.getJsonSchema(tool)
      }
    })),
    tool_choice: choice
  }
}

const formatOf = ({ responseFormat: format }: LanguageModel.ProviderOptions): Effect.Effect<object, AiError.AiError> =>
  format.type === "text"
    ? Effect.succeed({})
    : Effect.try({
        try: () => ({
          response_format: {
            type: "json_schema",
            json_schema: {
              name: format.objectName,
              strict: true,
              schema: Tool.getJsonSchemaFromSchema(format.schema, { transformer: toCodecOpenAI })
            }
          }
        }),
        catch: (cause) =>
          AiError.make({
            module: "ChatCompletions",
            method: "request",
            reason: new AiError.UnsupportedSchemaError({
              description: cause instanceof Error ? cause.message : String(cause)
            })
          })
      })

/** Returns the body. `more` overrides everything else. */
export const bodyOf = Effect.fnUntraced(function* (
  options: LanguageModel.ProviderOptions,
  model: string,
  more: JsonObject
): Effect.fn.Return<JsonObject, AiError.AiError> {
  const messages = yield* Effect.forEach(options.prompt.content, messagesOf)
  const format = yield* formatOf(options)
  return { model, messages: messages.flat(), ...toolsOf(options), ...format, ...more }
})
