/**
 * The callers of an MCP endpoint are the users of the application around it:
 * middleware of its router says which.
 */
import { Auth } from "@effect-mcp/auth"
import { Principal } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"

/** The application's sessions. */
export class Sessions extends Context.Service<
  Sessions,
  { readonly userOf: (cookie: string) => Effect.Effect<string | undefined> }
>()("example/Sessions") {}

const refused = HttpServerResponse.empty({
  status: 401,
  headers: { "www-authenticate": "Cookie" }
})

const signedIn = HttpRouter.middleware<{ provides: Principal.Principal }>()(
  Effect.map(
    Sessions,
    ({ userOf }) =>
      (route) =>
        Effect.gen(function* () {
          const { cookies } = yield* HttpServerRequest.HttpServerRequest
          const subject = yield* userOf(cookies["session"] ?? "")
          if (subject === undefined) return refused
          return yield* Effect.provideService(route, Principal.Principal, {
            subject,
            scopes: ["use"],
            claims: {}
          })
        })
  )
)

/**
 * A route of the application. `Auth.caller` and `Auth.demand` work as behind
 * `Auth.protect`.
 */
export const endpoint = McpServer.layerHttp({ path: "/mcp" }).pipe(
  Layer.provide(signedIn.layer)
)

export const auth = Auth.layerPrincipal()
