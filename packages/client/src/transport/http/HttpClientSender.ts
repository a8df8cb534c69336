/** Requests over the `HttpClient` of the context, which may add credentials and retries. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Headers from "effect/http/Headers"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import type { RequestToServer, HttpSender } from "./HttpSender.ts"

/** By the context that it was made from: few contexts make many requests. */
const prepared = new WeakMap<Context.Context<never>, Context.Context<never>>()

/**
 * The context in which requests are sent: `fetch` must not follow redirects by itself, and traces continue in messages, not in headers.
 */
const prepare = (context: Context.Context<never>): Context.Context<never> => {
  const known = prepared.get(context)
  if (known !== undefined) return known
  const init = Option.getOrUndefined(Context.getOption(context, FetchHttpClient.RequestInit))
  const made = context.pipe(
    Context.add(FetchHttpClient.RequestInit, { ...init, redirect: "manual" }),
    Context.add(HttpClient.TracerDisabledWhen, () => true)
  )
  prepared.set(context, made)
  return made
}

/** URLs as requests have them: most requests of a transport have the same one. */
const parsed = new WeakMap<URL, HttpClientRequest.HttpClientRequest>()
const toUrl = (url: URL): HttpClientRequest.HttpClientRequest => {
  const request = parsed.get(url) ?? HttpClientRequest.get(url)
  parsed.set(url, request)
  return request
}

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
