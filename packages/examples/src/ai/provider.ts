/** A model from any provider with OpenAI's chat completions API. */
import { ChatCompletions } from "@effect-mcp/ai"
import { Config, Effect, Layer } from "effect"
import { FetchHttpClient } from "effect/http"

/**
 * The model `AGENT_MODEL`, with `OPENAI_API_KEY`, and `OPENAI_BASE_URL` for
 * another provider.
 */
export const Provider = Layer.unwrap(
  Effect.gen(function* () {
    const apiKey = yield* Config.Redacted("OPENAI_API_KEY")
    const url = yield* Config.String("OPENAI_BASE_URL").pipe(
      Config.withDefault("https://api.openai.com/v1")
    )
    const model = yield* Config.String("AGENT_MODEL")
    return ChatCompletions.layer({ model, apiKey, url })
  })
).pipe(Layer.provide(FetchHttpClient.layer))
