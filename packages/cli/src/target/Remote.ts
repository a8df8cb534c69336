/** Connects to a server over HTTP with the runtime's `fetch`, and logs in if the server requires it. */
import * as Http from "@effect-mcp/client/Http"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logins from "./Logins.ts"

/** Opens a connection. See `Logins` for `tell`. */
export const open = Effect.fnUntraced(function* (options: Http.Options & Pick<Logins.Options, "tell">) {
  // Built once per connection, because a login in progress must outlive the request that started it.
  const context = yield* Effect.mapError(
    Layer.build(Logins.layer({ tell: options.tell, server: options.url })),
    (cause) => new TransportError({ reason: "Open", message: cause.message, cause })
  )
  return yield* Effect.provideContext(Http.open(options), context)
})
