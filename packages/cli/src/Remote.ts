/** A server behind HTTP, reached by this runtime's own `fetch`. */
import * as Http from "@effect-mcp/client/connector/Http"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"

export const open = (options: Http.Options) => Effect.provide(Http.open(options), FetchHttpClient.layer)
