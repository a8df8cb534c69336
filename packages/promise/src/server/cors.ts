/**
 * Handles CORS outside of authentication, because preflight requests carry no token and pages must be able to read a 401 response.
 *
 * Doesn't decide which origins are allowed. That depends on `allowedOrigins` and the endpoint's rules.
 */
import { Cors, DnsRebinding } from "@effect-mcp/server/internal/origins"
import type { CorsOptions, FetchHandler, HttpOptions, Listener } from "./HttpOptions.ts"

/** Returns the headers to add to the response. */
type HeadersOf = (
  method: string,
  header: (name: string) => string | null | undefined
) => Readonly<Record<string, string>>

const headersOf = (cors: CorsOptions, options: HttpOptions): HeadersOf => {
  const { credentials = false, exposedHeaders = [], maxAge = 600_000 } = cors
  const isAllowed = credentials ? DnsRebinding.isListed : DnsRebinding.isAllowed
  return (method, header) => {
    const origin = header("origin") ?? ""
    const asked = header("access-control-request-headers")
    return {
      vary: asked ? "Origin, Access-Control-Request-Headers" : "Origin",
      ...(isAllowed(origin, options) && { "access-control-allow-origin": origin }),
      ...(credentials && { "access-control-allow-credentials": "true" }),
      ...(method !== "OPTIONS" && {
        "access-control-expose-headers": [...Cors.exposedHeaders, ...exposedHeaders].join(", ")
      }),
      ...(method === "OPTIONS" && {
        "access-control-allow-methods": Cors.allowedMethods.join(", "),
        "access-control-max-age": `${Math.floor(maxAge / 1000)}`,
        ...(asked && { "access-control-allow-headers": asked })
      })
    }
  }
}

/** Returns the function for the headers, or `undefined` if the option is off. */
const headersFor = ({ cors = false, ...options }: HttpOptions): HeadersOf | undefined =>
  cors === false ? undefined : headersOf(cors === true ? {} : cors, options)

/** Adds the headers to a listener's responses and answers preflight requests. */
export const corsListener = (options: HttpOptions, listener: Listener): Listener => {
  const headers = headersFor(options)
  if (headers === undefined) return listener
  return (request, response) => {
    // Middleware in front may have answered, for example after a timeout.
    if (response.headersSent || response.destroyed) return listener(request, response)
    const { method = "" } = request
    const added = headers(method, (name) => request.headers[name]?.toString())
    if (method === "OPTIONS") return void response.writeHead(204, added).end()
    for (const [name, value] of Object.entries(added)) response.setHeader(name, value)
    listener(request, response)
  }
}

/** Like `corsListener`, but for a `fetch` handler. */
export const corsFetch = (options: HttpOptions, handler: FetchHandler): FetchHandler => {
  const headers = headersFor(options)
  if (headers === undefined) return handler
  return async (request) => {
    const added = headers(request.method, (name) => request.headers.get(name))
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers: added })
    const response = await handler(request)
    for (const [name, value] of Object.entries(added)) response.headers.set(name, value)
    return response
  }
}
