/**
 * One end of a conversation, as an actor, with what makes spans where the program has a tracer. Servers and clients of this library load
 * that when they need it, so they use `Router` itself.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Transport } from "../transport/Transport.ts"
import * as Router from "./Router.ts"
import * as Spans from "./Spans.ts"
import * as Tracing from "./Tracing.ts"
import type { Options, Peer, PeerHandlers } from "./types.ts"

export {
  answer,
  Closed,
  type Exchange,
  type Handlers,
  type InFlight,
  type InFlightState,
  makeWithoutTransport,
  type Observer,
  type OpenRequest,
  type Options,
  type Peer,
  type PeerWithoutTransport,
  type ReceivedEnd,
  type ReceivedRequest,
  type RequestError,
  type RequestOptions,
  response,
  type SentEnd,
  type SentRequest,
  Timeout,
  type Watcher
} from "./Router.ts"

/**
 * Starts the reader in the scope. Handlers run with the services of the calling fiber (clock, tracer, loggers).
 *
 * @example
 * ```ts
 * import { Memory, Peer } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const handlers: Peer.Handlers = {
 *   request: ({ request }) => Effect.succeed({ method: request.method }),
 *   notification: () => {}
 * }
 *
 * const program = Effect.gen(function* () {
 *   const [left, right] = yield* Memory.pair()
 *   yield* Peer.make(left, handlers)
 *   const peer = yield* Peer.make(right, handlers)
 *   console.log(JSON.stringify(yield* peer.request("any/method", {}, { timeout: "1 second" }))) // => {"method":"any/method"}
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const make = (
  transport: Transport,
  handlers: PeerHandlers,
  options?: Options
): Effect.Effect<Peer, never, Scope.Scope> => {
  Tracing.use(Spans)
  return Router.make(transport, handlers, options)
}
