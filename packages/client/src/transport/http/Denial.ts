/**
 * Authorization failures: status 401 for missing credentials, and 403 for insufficient ones (spec: basic/authorization; RFC 6750
 * section 3.1; RFC 9728 section 5.1).
 *
 * Each one rejects a single request; the connection and other requests continue. Errors never contain tokens or URL queries.
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

/** A response, and the request that it answers. */
export interface Answered {
  /** The request's method, or `GET` for a stream. */
  readonly method: string
  readonly url: URL
  readonly response: HttpResponse
  readonly body: string
}

export const isDenied = (status: number): boolean => status === 401 || status === 403

/** Returns the message in a body: from JSON-RPC, from OAuth's description, or the text itself. */
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
    return "Pass a token in the `headers` option, or connect with `layerHttp` and an HttpClient that logs in (OAuth.layer from @effect-mcp/auth)."
  }
  return scopes.length === 0
    ? "Check that this user has permission, and that the server accepts requests from here (its allowed hosts and origins)."
    : "Log in again and request these scopes."
}

/** `cause` is the failure of an HTTP client that logs in. Its message is used if there is one. */
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
    `${place} ${status === 401 ? "requires authorization for" : "does not allow"} ${method}`,
    ` (status ${status}${said === "" ? "" : `: ${said}`}).`,
    scopes.length === 0 ? "" : ` It requires the scopes ${scopes.join(" ")}.`,
    resourceMetadata !== undefined
      ? ` Its authorization metadata is at ${resourceMetadata}.`
      : status === 401
        ? " The response names no authorization metadata (RFC 9728)."
        : ""
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
