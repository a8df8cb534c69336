/** A model that speaks the chat completions of OpenAI, as many providers and local servers do. */
import { Config, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { AiError, LanguageModel, Prompt, type Response, Tool } from "effect/ai"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      message: Schema.Struct({
        content: Schema.optionalKey(Schema.NullOr(Schema.String)),
        tool_calls: Schema.optionalKey(
          Schema.Array(
            Schema.Struct({
              id: Schema.String,
              function: Schema.Struct({ name: Schema.String, arguments: Schema.fromJsonString(Schema.Json) })
            })
          )
        )
      })
    })
  )
})

/** The texts and calls of a message; what else it has, such as files, this example leaves out. */
const messagesOf = (message: Prompt.Message): ReadonlyArray<object> => {
  if (message.role === "system") return [{ role: "system", content: message.content }]
  if (message.role === "tool") {
    return message.content.flatMap((part) =>
      part.type === "tool-result"
        ? [{ role: "tool", tool_call_id: part.id, content: Prompt.toolModelOutputToText(part.modelOutput ?? []) }]
        : []
    )
  }
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
  const calls = message.content.flatMap((part) =>
    part.type === "tool-call"
      ? [{ id: part.id, type: "function", function: { name: part.name, arguments: JSON.stringify(part.params) } }]
      : []
  )
  return [{ role: message.role, content: texts.join("\n"), ...(calls.length === 0 ? {} : { tool_calls: calls }) }]
}

const failed = (cause: { readonly message: string }) =>
  AiError.make({
    module: "provider",
    method: "generateText",
    reason: new AiError.InternalProviderError({ description: cause.message })
  })

/** The model `AGENT_MODEL`, with `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for another provider. */
export const Provider = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.gen(function* () {
    const key = yield* Config.Redacted("OPENAI_API_KEY")
    const url = yield* Config.String("OPENAI_BASE_URL").pipe(Config.withDefault("https://api.openai.com/v1"))
    const model = yield* Config.String("AGENT_MODEL")
    const client = HttpClient.filterStatusOk(yield* HttpClient.HttpClient)
    const generateText = Effect.fnUntraced(function* ({ prompt, tools }: LanguageModel.ProviderOptions) {
      const functions = tools.map((tool) => ({
        type: "function",
        function: {
          name: tool.name,
          description: Tool.getDescription(tool),
          parameters: Tool.getJsonSchema(tool)
        }
      }))
      const request = HttpClientRequest.post(`${url}/chat/completions`).pipe(
        HttpClientRequest.bearerToken(Redacted.value(key)),
        HttpClientRequest.bodyJsonUnsafe({ model, messages: prompt.content.flatMap(messagesOf), tools: functions })
      )
      const response = yield* client.execute(request)
      const { choices } = yield* HttpClientResponse.schemaBodyJson(Completion)(response)
      const { content, tool_calls: calls = [] } = choices[0].message
      const parts: Array<Response.PartEncoded> = calls.map(({ function: { arguments: params, name }, id }) => ({
        type: "tool-call",
        id,
        name,
        params
      }))
      if (typeof content === "string" && content !== "") parts.unshift({ type: "text", text: content })
      return parts
    }, Effect.mapError(failed))
    return yield* LanguageModel.make({ generateText, streamText: () => Stream.empty })
  })
).pipe(Layer.provide(FetchHttpClient.layer))
