/**
 * A `LanguageModel` for OpenAI's chat completions API, which many providers and local servers support: text, streams, tools, images and
 * structured output.
 *
 * Fails with an `AiError` whose reason tells the program what to do: `RateLimitError` with the time to wait, `AuthenticationError`,
 * `NetworkError`, `InvalidResponseError` and others. Nothing is retried.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Chunk, Completion, InvalidArguments, partsOf, StreamParts } from "./answer.ts"
import { bodyOf } from "./request.ts"

export interface Options {
  /** Name of the model. */
  readonly model: string
  /** Sent as a bearer token. Default: no token, as for most servers on this machine. */
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Address of the API, without `/chat/completions`. Default `https://api.openai.com/v1`. */
  readonly url?: string | undefined
  /** Fields to add to each request, such as `temperature`. They override all other fields. Default none. */
  readonly body?: JsonObject | undefined
  /** Maximum size of a response in bytes. Default 16 MiB. */
  readonly maxBytes?: number | undefined
}

type Method = "generateText" | "streamText"

const failure = (method: Method, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "ChatCompletions", method, reason })

const invalid = (method: Method, description: string): AiError.AiError =>
  failure(method, new AiError.InvalidResponseError({ description }))

/** Converts a failed exchange. The cause is dropped, because it may contain the request with its key. */
const networkFailure = (method: Method, { message, reason }: HttpClientError): AiError.AiError =>
  failure(
    method,
    new AiError.NetworkError({
      reason: reason._tag === "EncodeError" || reason._tag === "InvalidUrlError" ? reason._tag : "TransportError",
      method: reason.request.method,
      url: reason.request.url,
      description: message
    })
  )

/** Maximum length of a provider's text in an error. */
const maxDescription = 500

/** Returns the provider's description of an error, if the text is JSON with an error. */
const errorIn = (text: string): { readonly message?: unknown; readonly code?: unknown } => {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {}
  } catch {
    return {}
  }
}

const excerptOf = (text: unknown): string | undefined =>
  typeof text === "string" && text !== "" ? text.slice(0, maxDescription) : undefined

const retryAfterOf = (header: string | undefined): Duration.Duration | undefined => {
  const seconds = Number(header)
  return header !== undefined && header.trim() !== "" && Number.isFinite(seconds) && seconds >= 0
    ? Duration.seconds(seconds)
    : undefined
}

const statusFailure = (
  method: Method,
  { headers, status }: Pick<HttpClientResponse.HttpClientResponse, "headers" | "status">,
  text: string
): AiError.AiError => {
  const { code, message } = errorIn(text)
  const description = excerptOf(message) ?? excerptOf(text)
  if (status === 429 && code === "insufficient_quota") return failure(method, new AiError.QuotaExhaustedError({}))
  if (status === 429) {
    return failure(method, new AiError.RateLimitError({ retryAfter: retryAfterOf(headers["retry-after"]) }))
  }
  return failure(method, AiError.reasonFromHttpStatus({ status, description }))
}

const decodeCompletion = Schema.decodeUnknownEffect(Schema.fromJsonString(Completion))
const decodeChunk = Schema.decodeUnknownEffect(Schema.fromJsonString(Chunk))

const parts = <A>(method: Method, make: () => A): Effect.Effect<A, AiError.AiError> =>
  Effect.try({
    try: make,
    catch: (cause) =>
      invalid(
        method,
        cause instanceof InvalidArguments ? cause.message : `Unexpected response from the model: ${String(cause)}`
      )
  })

/** Creates the model. Requires an `HttpClient`, which you can extend with retries and time limits. */
export const make = ({
  apiKey,
  body: more = {},
  maxBytes = 16 * 1024 * 1024,
  model,
  url = "https://api.openai.com/v1"
}: Options): Effect.Effect<LanguageModel.LanguageModel, never, HttpClient.HttpClient> =>
  Effect.flatMap(HttpClient.HttpClient, (client) => {
    /** Streams the answer's text, up to the size limit. */
    const textOf = (method: Method, response: HttpClientResponse.HttpClientResponse) => {
      let bytes = 0
      return response.stream.pipe(
        Stream.mapError((error) => networkFailure(method, error)),
        Stream.mapEffect((piece) => {
          bytes += piece.length
          return bytes > maxBytes
            ? Effect.fail(invalid(method, `The model's response is larger than ${maxBytes} bytes`))
            : Effect.succeed(piece)
        }),
        Stream.decodeText
      )
    }

    const execute = Effect.fnUntraced(function* (
      method: Method,
      options: LanguageModel.ProviderOptions,
      extra: JsonObject
    ) {
      const body = yield* bodyOf(options, model, { ...extra, ...more })
      const plain = HttpClientRequest.post(`${url.replace(/\/+$/, "")}/chat/completions`).pipe(
        HttpClientRequest.bodyJsonUnsafe(body)
      )
      const request = apiKey === undefined ? plain : HttpClientRequest.bearerToken(plain, apiKey)
      const response = yield* Effect.mapError(client.execute(request), (error) => networkFailure(method, error))
      if (response.status >= 200 && response.status < 300) return response
      const text = yield* Effect.orElseSucceed(Stream.mkString(textOf(method, response)), () => "")
      return yield* statusFailure(method, response, text)
    })

    const generateText = Effect.fnUntraced(function* (options: LanguageModel.ProviderOptions) {
      const response = yield* execute("generateText", options, {})
      const text = yield* Stream.mkString(textOf("generateText", response))
      const completion = yield* Effect.mapError(decodeCompletion(text), ({ message }) =>
        invalid("generateText", `The response is not a chat completion: ${message.slice(0, maxDescription)}`)
      )
      return yield* parts("generateText", () => partsOf(completion))
    })

    const streamText = (options: LanguageModel.ProviderOptions) =>
      Stream.unwrap(
        Effect.map(
          execute("streamText", options, { stream: true, stream_options: { include_usage: true } }),
          (response) => events(textOf("streamText", response))
        )
      )

    return LanguageModel.make({ generateText, streamText, codecTransformer: toCodecOpenAI })
  })

/** Decodes the events of a stream. Each event is one line of JSON. */
const events = (
  text: Stream.Stream<string, AiError.AiError>
): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
  Stream.suspend(() => {
    const answer = new StreamParts()
    let isDone = false
    const end = Effect.suspend(() =>
      isDone
        ? Effect.succeed([])
        : Effect.flatMap(
            parts("streamText", () => answer.end()),
            (rest) => {
              isDone = true
              return rest === undefined
                ? Effect.fail(invalid("streamText", "The stream ended before the response was complete"))
                : Effect.succeed(rest)
            }
          )
    )
    const chunk = (data: string) =>
      Effect.flatMap(
        Effect.mapError(decodeChunk(data), ({ message }) => {
          const unfit = `The stream has an event that is not a chat completion chunk: ${message.slice(0, maxDescription)}`
          return invalid("streamText", excerptOf(errorIn(data).message) ?? unfit)
        }),
        (decoded) => parts("streamText", () => answer.chunk(decoded))
      )
    return text.pipe(
      Stream.splitLines,
      Stream.filter((line) => line.startsWith("data:") && !isDone),
      Stream.mapEffect((line) => {
        const data = line.slice("data:".length).trim()
        return data === "[DONE]" ? end : chunk(data)
      }),
      // Some servers close the stream without a final event.
      Stream.concat(Stream.fromEffect(end)),
      Stream.flatMap((parts) => Stream.fromIterable(parts))
    )
  })

/**
 * Provides the model.
 *
 * @example
 * ```ts
 * import { ChatCompletions } from "@effect-mcp/ai"
 * import { Config, Effect, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const model = Layer.unwrap(
 *   Effect.map(Config.Redacted("OPENAI_API_KEY"), (apiKey) => ChatCompletions.layer({ model: "gpt-5", apiKey }))
 * ).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layer = (options: Options): Layer.Layer<LanguageModel.LanguageModel, never, HttpClient.HttpClient> =>
  Layer.effect(LanguageModel.LanguageModel, make(options))
