/** A server behind HTTP, reached by this runtime's own `fetch`; where it demands a login, with one. */
import * as Http from "@effect-mcp/client/Http"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logins from "./Logins.ts"

/** `tell`: see `Logins`. */
export const open = Effect.fnUntraced(function* (options: Http.Options & Pick<Logins.Options, "tell">) {
  // Lives as long as the connection: a login that is under way does not end with the request that began it.
  const context = yield* Effect.mapError(
    Layer.build(Logins.layer({ tell: options.tell, server: options.url })),
    (cause) => new TransportError({ reason: "Open", message: cause.message, cause })
  )
  return yield* Effect.provideContext(Http.open(options), context)
})
