/** The chat completions model with a scripted HTTP client and answers in the format of OpenAI's API. */
import { ChatCompletions } from "@effect-mcp/ai"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { type AiError, LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"

/** A shortened answer of the API to a question about the weather. */
const recorded = {
  id: "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
  object: "chat.completion",
  created: 1_741_570_283,
  model: "gpt-4o-2024-08-06",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        refusal: null,
        annotations: [],
        tool_calls: [
          { id: "call_62136354", type: "function", function: { name: "forecast", arguments: `{"city":"Rome"}` } }
        ]
      },
      logprobs: null,
      finish_reason: "tool_calls"
    }
  ],
  usage: {
    prompt_tokens: 82,
    completion_tokens: 17,
    total_tokens: 99,
    prompt_tokens_details: { cached_tokens: 10, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 5, audio_tokens: 0 }
  },
  service_tier: "default",
  system_fingerprint: "fp_fc9f1d7035"
}

const said = (content: string, finish_reason = "stop") => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason }]
})

const delta = (delta: object, finish_reason: string | null = null) => ({
  id: "1",
  model: "m",
  choices: [{ index: 0, delta, finish_reason }]
})
const sse = (...events: ReadonlyArray<object | string>) =>
  events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("")

/** An HTTP client that records requests and returns scripted answers. */
const provider = (...answers: ReadonlyArray<Response | object>) => {
  const requests: Array<{ readonly url: string; readonly key: string | undefined; readonly body: any }> = []
  const layer = Layer.succeed(
    HttpClient.HttpClient,
    HttpClient.make((request, url) =>
      Effect.sync(() => {
        const { body } = request
        const text = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : "{}"
        requests.push({ url: url.href, key: request.headers["authorization"], body: JSON.parse(text) })
        const answer = answers[Math.min(requests.length, answers.length) - 1]
        return HttpClientResponse.fromWeb(request, answer instanceof Response ? answer : Response.json(answer))
      })
    )
  )
  const model = (options: Partial<ChatCompletions.Options> = {}) =>
    Layer.provide(ChatCompletions.layer({ model: "gpt-4o", apiKey: Redacted.make("secret-key"), ...options }), layer)
  return { model, requests }
}

const Weather = Toolkit.make(
  Tool.make("forecast", {
    description: "The weather of tomorrow",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite })
  }),
  Tool.make("other", { description: "Another tool" })
)
const WeatherLive = Weather.toLayer({
  forecast: () => Effect.succeed({ celsius: 24 }),
  other: () => Effect.void
})

const reasonOf = (error: unknown) => (error as AiError.AiError).reason

describe("complete answers", () => {
  it.effect("A recorded tool call is decoded, with its usage, and its result is sent back", () =>
    Effect.gen(function* () {
      const { model, requests } = provider(recorded, said("24 degrees"))
      const toolkit = yield* Weather
      const question = Prompt.make([
        { role: "system", content: "Be brief" },
        { role: "user", content: [{ type: "text", text: "Rome?" }] }
      ])
      const called = yield* Effect.provide(LanguageModel.generateText({ prompt: question, toolkit }), model())
      assert.deepStrictEqual(
        called.toolCalls.map(({ id, name, params }) => [id, name, params]),
        [["call_62136354", "forecast", { city: "Rome" }]]
      )
      assert.strictEqual(called.finishReason, "tool-calls")
      assert.deepInclude(called.usage.inputTokens, { total: 82, uncached: 72, cacheRead: 10 })
      assert.deepInclude(called.usage.outputTokens, { total: 17, text: 12, reasoning: 5 })
      const prompt = Prompt.concat(question, Prompt.fromResponseParts(called.content))
      const { text } = yield* Effect.provide(LanguageModel.generateText({ prompt, toolkit }), model())
      assert.strictEqual(text, "24 degrees")
      const [first, second] = requests
      assert.strictEqual(first?.url, "https://api.openai.com/v1/chat/completions")
      assert.strictEqual(first?.key, "Bearer secret-key")
      assert.deepInclude(first?.body, {
        model: "gpt-4o",
        tool_choice: "auto",
        messages: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "Rome?" }
        ]
      })
      assert.deepStrictEqual(
        first?.body.tools.map((tool: any) => [tool.type, tool.function.name, tool.function.parameters.required]),
        [
          ["function", "forecast", ["city"]],
          ["function", "other", undefined]
        ]
      )
      assert.deepStrictEqual(second?.body.messages.slice(2), [
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_62136354", type: "function", function: { name: "forecast", arguments: `{"city":"Rome"}` } }
          ]
        },
        { role: "tool", tool_call_id: "call_62136354", content: `{"celsius":24}` }
      ])
    }).pipe(Effect.provide(WeatherLive))
  )

  it.effect.each([undefined, null, "stop"])("Tool calls run after the finish reason %s", (finish_reason) =>
    Effect.gen(function* () {
      const [choice] = recorded.choices
      const { model } = provider({ ...recorded, choices: [{ ...choice, finish_reason }] })
      const toolkit = yield* Weather
      const called = yield* Effect.provide(LanguageModel.generateText({ prompt: "Rome?", toolkit }), model())
      assert.deepStrictEqual(
        called.toolResults.map(({ result }) => result),
        [{ celsius: 24 }]
      )
    }).pipe(Effect.provide(WeatherLive))
  )

  it.effect("A model returns structured output in the requested schema", () =>
    Effect.gen(function* () {
      const { model, requests } = provider(said(`{"name":"Ada","age":36}`))
      const schema = Schema.Struct({ name: Schema.String, age: Schema.Finite })
      const { value } = yield* Effect.provide(
        LanguageModel.generateObject({ prompt: "Who?", schema, objectName: "person" }),
        model()
      )
      assert.deepStrictEqual(value, { name: "Ada", age: 36 })
      const { json_schema: format, type } = requests[0]?.body.response_format ?? assert.fail("no format")
      assert.deepStrictEqual([type, format.name, format.strict], ["json_schema", "person", true])
      assert.isFalse(format.schema.additionalProperties)
    })
  )

  it.effect.each([
    ["one tool", { tool: "forecast" }, ["forecast", "other"], { type: "function", function: { name: "forecast" } }],
    ["one of some tools", { mode: "required", oneOf: ["other"] }, ["other"], "required"],
    ["no tool", "none", ["forecast", "other"], "none"]
  ] as const)("A program may demand %s", ([, toolChoice, offered, choice]) =>
    Effect.gen(function* () {
      const { model, requests } = provider(said("ok"))
      const toolkit = yield* Weather
      yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit, toolChoice }), model())
      const [request] = requests
      assert.deepStrictEqual(
        (request?.body.tools ?? []).map((tool: any) => tool.function.name),
        toolChoice === "none" && request?.body.tools === undefined ? [] : offered
      )
      if (request?.body.tools !== undefined) assert.deepStrictEqual(request.body.tool_choice, choice)
    }).pipe(Effect.provide(WeatherLive))
  )

  it.effect("Images are sent as URLs, and other files are rejected", () =>
    Effect.gen(function* () {
      const { model, requests } = provider(said("A dot"))
      const ask = (part: Prompt.FilePart) =>
        Effect.provide(
          LanguageModel.generateText({
            prompt: Prompt.make([{ role: "user", content: [{ type: "text", text: "What?" }, part] }])
          }),
          model()
        )
      yield* ask(Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([1, 2, 3]) }))
      yield* ask(Prompt.filePart({ mediaType: "image/png", data: new URL("https://example.com/a.png") }))
      const urls = requests.map(({ body }) => body.messages[0].content[1].image_url.url)
      assert.deepStrictEqual(urls, ["data:image/png;base64,AQID", "https://example.com/a.png"])
      const error = yield* Effect.flip(ask(Prompt.filePart({ mediaType: "application/pdf", data: "AAAA" })))
      assert.strictEqual(reasonOf(error)._tag, "InvalidUserInputError")
      assert.lengthOf(requests, 2)
    })
  )

  it.effect("Sends no key by default, and adds the fields of `body`", () =>
    Effect.gen(function* () {
      const { model, requests } = provider(said("ok"))
      const options = { apiKey: undefined, url: "http://localhost:1234/v1/", body: { temperature: 0 } }
      yield* Effect.provide(LanguageModel.generateText({ prompt: "?" }), model(options))
      assert.deepInclude(requests[0], { url: "http://localhost:1234/v1/chat/completions", key: undefined })
      assert.strictEqual(requests[0]?.body.temperature, 0)
    })
  )
})

const broken = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers })

const failures: ReadonlyArray<readonly [string, Response | object, string, string]> = [
  ["a wrong key", broken(401, { error: { message: "Incorrect API key" } }), "AuthenticationError", "Incorrect API key"],
  ["a limit of rate", broken(429, {}, { "retry-after": "7" }), "RateLimitError", ""],
  ["an empty account", broken(429, { error: { code: "insufficient_quota" } }), "QuotaExhaustedError", ""],
  [
    "a broken request",
    broken(400, { error: { message: "Unknown parameter" } }),
    "InvalidRequestError",
    "Unknown parameter"
  ],
  ["a broken server", broken(503, "<html>"), "InternalProviderError", "<html>"],
  ["text that is not JSON", broken(200, "<html>"), "InvalidResponseError", "not a chat completion"],
  ["an answer without choices", { choices: [] }, "InvalidResponseError", "not a chat completion"],
  [
    "arguments that are not JSON",
    { choices: [{ message: { tool_calls: [{ id: "1", function: { name: "forecast", arguments: "{" } }] } }] },
    "InvalidResponseError",
    "forecast are not JSON"
  ],
  ["an answer that is too large", said("x".repeat(2000)), "InvalidResponseError", "larger than 1000 bytes"]
]

describe("provider failures", () => {
  it.effect.each(failures)("A model fails with a typed reason after %s", ([, answer, tag, words]) =>
    Effect.gen(function* () {
      const { model } = provider(answer)
      const error = yield* Effect.flip(
        Effect.provide(LanguageModel.generateText({ prompt: "?" }), model({ maxBytes: 1000 }))
      )
      assert.strictEqual(reasonOf(error)._tag, tag)
      assert.include(JSON.stringify(error), words)
      assert.notInclude(JSON.stringify(error), "secret-key")
      const reason = reasonOf(error)
      if (reason._tag === "RateLimitError")
        assert.strictEqual(Duration.toSeconds(reason.retryAfter ?? Duration.zero), 7)
    })
  )

  it.effect("A model fails with a network error if there is no connection", () =>
    Effect.gen(function* () {
      const layer = Layer.provide(
        ChatCompletions.layer({ model: "m", apiKey: Redacted.make("secret-key"), url: "http://127.0.0.1:1" }),
        Layer.succeed(
          HttpClient.HttpClient,
          HttpClient.make((request) => HttpClient.execute(request).pipe(Effect.provide(FetchHttpClient.layer)))
        )
      )
      const error = yield* Effect.flip(Effect.provide(LanguageModel.generateText({ prompt: "?" }), layer))
      assert.strictEqual(reasonOf(error)._tag, "NetworkError")
      assert.notInclude(JSON.stringify(error), "secret-key")
    })
  )
})

describe("streamed answers", () => {
  const stream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } })
  const collect = (answer: Response) =>
    Effect.gen(function* () {
      const { model, requests } = provider(answer)
      const toolkit = yield* Weather
      const parts = yield* Effect.exit(
        Stream.runCollect(LanguageModel.streamText({ prompt: "Rome?", toolkit, disableToolCallResolution: true })).pipe(
          Effect.provide(model())
        )
      )
      return { parts, requests }
    }).pipe(Effect.provide(WeatherLive))

  const usage = { id: "1", model: "m", choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }

  it.effect("Text arrives in pieces, with the usage at the end", () =>
    Effect.gen(function* () {
      const events = sse(
        delta({ role: "assistant", content: "" }),
        delta({ content: "24 " }),
        delta({ content: "°" }),
        delta({}, "stop"),
        usage,
        "[DONE]"
      )
      const { parts, requests } = yield* collect(stream(`: comment\n\n${events}`))
      assert(parts._tag === "Success")
      assert.deepStrictEqual(
        parts.value.map(({ type }) => type),
        ["response-metadata", "text-start", "text-delta", "text-delta", "text-end", "finish"]
      )
      const finish = parts.value.at(-1)
      assert(finish?.type === "finish")
      assert.strictEqual(finish.reason, "stop")
      assert.strictEqual(finish.usage.outputTokens.total, 4)
      assert.deepInclude(requests[0]?.body, { stream: true, stream_options: { include_usage: true } })
    })
  )

  it.effect("Two tool calls arrive in interleaved pieces", () =>
    Effect.gen(function* () {
      const piece = (index: number, given: string, name?: string) =>
        delta({
          tool_calls: [
            {
              index,
              ...(name === undefined ? {} : { id: `call_${index}`, type: "function" }),
              function: { name, arguments: given }
            }
          ]
        })
      const events = sse(
        piece(0, "", "forecast"),
        piece(1, "", "other"),
        piece(0, `{"ci`),
        piece(0, `ty":"Rome"}`),
        delta({}, "tool_calls"),
        "[DONE]"
      )
      const { parts } = yield* collect(stream(events))
      assert(parts._tag === "Success")
      const calls = parts.value.flatMap((part) =>
        part.type === "tool-call" ? [[part.id, part.name, part.params]] : []
      )
      assert.deepStrictEqual(calls, [
        ["call_0", "forecast", { city: "Rome" }],
        ["call_1", "other", {}]
      ])
    })
  )

  it.effect("A stream with a finish reason may lack the final event", () =>
    Effect.gen(function* () {
      const { parts } = yield* collect(stream(sse(delta({ content: "ok" }, "stop"))))
      assert.strictEqual(parts._tag, "Success")
    })
  )

  it.effect.each([
    ["is cut off", sse(delta({ content: "2" })), "before the response was complete"],
    ["holds an error", sse(delta({ content: "2" }), { error: { message: "Overloaded" } }), "Overloaded"],
    ["holds an event that is not JSON", sse("{"), "not a chat completion chunk"]
  ] as const)("A stream fails if it %s", ([, text, words]) =>
    Effect.gen(function* () {
      const { parts } = yield* collect(stream(text))
      assert(parts._tag === "Failure")
      assert.include(JSON.stringify(parts.cause), words)
    })
  )
})
