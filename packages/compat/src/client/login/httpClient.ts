/** A transport's HTTP client. Reports a failed login as a rejected request, because failures of `fetch` are retried. */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import { LoginFailure } from "./LoginFailure.ts"

const refused = (error: HttpClientError.HttpClientError): HttpClientError.HttpClientError => {
  const { cause, request } = error.reason
  if (!(cause instanceof LoginFailure)) return error
  const response = HttpClientResponse.fromWeb(request, cause.response)
  const reason = new HttpClientError.StatusCodeError({ request, response, cause, description: cause.message })
  return new HttpClientError.HttpClientError({ reason })
}

/** Provides the HTTP client that sends with this `fetch`. */
export const layer = (fetch: typeof globalThis.fetch): Layer.Layer<HttpClient.HttpClient> =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) =>
      HttpClient.transformResponse(client, (response) =>
        Effect.provideService(Effect.mapError(response, refused), FetchHttpClient.Fetch, fetch)
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))
