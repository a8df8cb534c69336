/**
 * The refusals of authorization: status 401, which asks for credentials, and 403, for credentials that are not enough
 * (spec: basic/authorization; RFC 6750 section 3.1; RFC 9728 section 5.1).
 *
 * Each refuses one request: the connection and other requests live on. An error holds no token and no query of a URL.
 */
import * as Challenge from "@effect-mcp/protocol/Challenge"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { HttpClientError } from "effect/http/HttpClientError"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { type Denied, Forbidden, Unauthorized } from "../../ClientError.ts"
import { placeOf } from "./Endpoint.ts"
import type { HttpResponse } from "./HttpSender.ts"

/** A response, and the request that it is for. */
export interface Answered {
  /** The method of the request, or `GET` for a stream. */
  readonly method: string
  readonly url: URL
  readonly response: HttpResponse
  readonly body: string
}

export const isDenied = (status: number): boolean => status === 401 || status === 403

/** The message in a body: that of JSON-RPC, the description of OAuth, or the text itself. */
const words = (body: string): string => {
  const json = Option.getOrUndefined(
    Result.getSuccess(
      Result.try({
        try: (): unknown => JSON.parse(body),
        catch: () => undefined
      })
    )
  )
  if (!isJsonObject(json)) return /^\s*</.test(body) ? "" : body.trim()
  const { error, error_description: description, message } = json
  if (isJsonObject(error) && typeof error.message === "string") return error.message
  return [description, message, error].find((text) => typeof text === "string") ?? ""
}

const advice = (status: number, scopes: ReadonlyArray<string>): string => {
  if (status === 401) {
    return "Give a token in the option `headers`, or connect by `layerHttp` with an HttpClient that logs in (OAuth.layer of @effect-mcp/auth)."
  }
  return scopes.length === 0
    ? "Check that this user may do this, and that the server accepts requests from here (its allowed hosts and origins)."
    : "Log in again and ask for these scopes."
}

/** `cause`: the failure of an HTTP client that logs in, whose message is used then. */
export const make = (
  { body, method, response, url }: Answered,
  cause?: { readonly error: HttpClientError; readonly message: string }
): Unauthorized | Forbidden => {
  const { status } = response
  const demand = Challenge.demand(response.headers["www-authenticate"])
  const scopes = (demand.scopes ?? []).map((scope) => excerpt(scope))
  const resourceMetadata = demand.resourceMetadata && excerpt(demand.resourceMetadata, 2000)
  const code = demand.error && excerpt(demand.error)
  const place = placeOf(url)
  const said = [code, excerpt(words(body))].filter((text) => text !== undefined && text !== "").join(", ")
  const refusal = [
    `${place} ${status === 401 ? "wants authorization for" : "does not allow"} ${method}`,
    ` (status ${status}${said === "" ? "" : `: ${said}`}).`,
    scopes.length === 0 ? "" : ` It needs the scopes ${scopes.join(" ")}.`,
    resourceMetadata === undefined ? "" : ` Its authorization is described at ${resourceMetadata}.`
  ].join("")
  const details: Denied = {
    message: cause === undefined ? `${refusal} ${advice(status, scopes)}` : cause.message,
    refusal,
    method,
    url: place,
    scopes,
    resourceMetadata,
    code,
    ...(cause === undefined ? undefined : { cause: cause.error })
  }
  return status === 401 ? new Unauthorized(details) : new Forbidden(details)
}
