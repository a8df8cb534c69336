/** The test authorization server's errors: a code from RFC 6749 or a related RFC, with a status. */
import * as Data from "effect/Data"
import * as HttpServerResponse from "effect/http/HttpServerResponse"

export class OAuthRefusal extends Data.TaggedError("OAuthRefusal")<{
  readonly error: string
  readonly description: string
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
}> {
  get response(): HttpServerResponse.HttpServerResponse {
    return HttpServerResponse.jsonUnsafe(
      { error: this.error, error_description: this.description },
      { status: this.status ?? 400, headers: { "cache-control": "no-store", ...this.headers } }
    )
  }
}

export const invalidRequest = (description: string) => new OAuthRefusal({ error: "invalid_request", description })
export const invalidGrant = (description: string) => new OAuthRefusal({ error: "invalid_grant", description })
export const invalidClient = (description: string) =>
  new OAuthRefusal({
    error: "invalid_client",
    description,
    status: 401,
    headers: { "www-authenticate": 'Basic realm="authorization server"' }
  })
