/** Sends requests with the `HttpClient` in the context, which may add credentials and retries. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import type { RequestToServer, HttpSender } from "./HttpSender.ts"

/**
 * Prepares the context in which requests are sent: `fetch` must not follow redirects itself, and trace context goes into messages, not
 * headers.
 */
const prepare = memoize((context: Context.Context<never>): Context.Context<never> => {
  const init = Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit))
  return context.pipe(
    Context.add(FetchHttpClient.RequestInit, { ...init, redirect: "manual" }),
    Context.add(HttpClient.TracerDisabledWhen, () => true)
  )
})

/** Most of a transport's requests have the same URL. */
const toUrl = memoize((url: URL) => HttpClientRequest.get(url))

const requestOf = ({ body: text, headers, method, url }: RequestToServer): HttpClientRequest.HttpClientRequest => {
  const { hash, url: base, urlParams } = toUrl(url)
  const body = text === undefined ? HttpBody.empty : HttpBody.text(text, headers["content-type"])
  const length = body._tag === "Empty" ? undefined : { "content-length": `${body.contentLength}` }
  // All names are in lower case, and the record is not shared.
  const all = Headers.fromRecordUnsafe({ ...headers, ...length })
  return HttpClientRequest.makeWith(method, base, urlParams, hash, all, body)
}

export const make =
  (http: HttpClient.HttpClient): HttpSender =>
  (request) =>
    Effect.updateContext(http.execute(requestOf(request)), prepare)
