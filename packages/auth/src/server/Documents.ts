/**
 * Fetches JSON documents from authorization servers: metadata, keys and introspection responses.
 *
 * Defines the errors. The URLs come from the operator's configuration or from a configured issuer's metadata, so they are trusted.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { serverMetadataUrls } from "../shared/MetadataDiscovery.ts"
import * as TrustedUrl from "../shared/TrustedUrl.ts"
import * as Fetch from "../shared/Fetch.ts"
import { parseUrl } from "../shared/url.ts"
import { shown, VerifierUnavailable } from "./TokenVerifier.ts"

const remedy = "Check that the authorization server is running and that its URL is configured correctly."

/** Sends a request and accepts any response status. `json` is `undefined` if the body is not a JSON object. */
export const send = (
  step: string,
  http: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<{ readonly status: number; readonly json: JsonObject | undefined }, VerifierUnavailable> =>
  Effect.matchEffect(Fetch.send(http, "server-metadata", request), {
    onFailure: ({ found, problem }) =>
      Effect.fail(
        new VerifierUnavailable({
          step,
          url: request.url,
          expected: "a response",
          found: shown(found ?? problem),
          remedy
        })
      ),
    onSuccess: ({ json, status }) => Effect.succeed({ status, json: isJsonObject(json) ? json : undefined })
  })

/** Fetches an issuer's metadata, which must name exactly this issuer (RFC 8414 section 3.3). */
export const metadata = Effect.fnUntraced(function* (
  http: HttpClient.HttpClient,
  issuer: string
): Effect.fn.Return<JsonObject, VerifierUnavailable> {
  const step = "Cannot read the authorization server's metadata"
  const fail = (url: string, expected: string, found: string) =>
    new VerifierUnavailable({ step, url, expected, found, remedy })
  if (!URL.canParse(issuer)) return yield* fail(shown(issuer), "the URL of an issuer", "none")
  const urls = serverMetadataUrls(new URL(issuer))
  for (const url of urls) {
    const { json, status } = yield* send(step, http, HttpClientRequest.get(url))
    if (status !== 200 || json === undefined) continue
    if (json.issuer !== issuer) return yield* fail(url.href, `issuer ${shown(issuer)}`, shown(json.issuer))
    return json
  }
  return yield* fail(issuer, `metadata at ${urls.map(({ href }) => href).join(" or ")}`, "none")
})

/** Returns an endpoint URL from the metadata. Fails unless it uses HTTPS, is on the loopback interface, or shares the issuer's origin. */
export const endpoint = (
  step: string,
  issuer: string,
  metadata: JsonObject,
  name: string
): Effect.Effect<string, VerifierUnavailable> => {
  const found = metadata[name]
  const url = typeof found === "string" ? parseUrl(found) : undefined
  return url !== undefined && (TrustedUrl.isSecure(url) || url.origin === parseUrl(issuer)?.origin)
    ? Effect.succeed(url.href)
    : Effect.fail(
        new VerifierUnavailable({
          step,
          url: issuer,
          expected: `an https URL as ${name} in the metadata`,
          found: shown(found),
          remedy: "Correct the metadata, or configure the URL yourself."
        })
      )
}
