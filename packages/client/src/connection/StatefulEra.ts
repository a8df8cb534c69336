/** Requests of a session (2024-11-05 to 2025-11-25): the server remembers the revision, subscriptions and the log level. */
import type { Peer } from "@effect-mcp/core/Peer"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type CallOptions, type Defaults, type Requests, requestOptions } from "../CallOptions.ts"
import type { Negotiated } from "./Negotiation.ts"
import type { Era } from "./Era.ts"
import { prepare, encodeFailed } from "./prepare.ts"

export const make = (peer: Peer, negotiated: Negotiated, defaults: Defaults, scope: Scope.Scope): Era => {
  const request = <M extends keyof Requests>(method: M, params: Requests[M]["params"], options: CallOptions = {}) =>
    // Steps are saved where the declaration and the encoded params are known at once.
    Effect.flatMapEager(prepare(negotiated, method), ({ coders, malformed }) => {
      const { meta } = options
      const withMeta = meta === undefined ? params : { ...params, _meta: { ...params?._meta, ...meta } }
      return Effect.flatMapEager(Effect.mapErrorEager(coders.params.encode(withMeta), encodeFailed), (wire) =>
        Effect.flatMap(
          peer.request(method, isJsonObject(wire) ? wire : undefined, requestOptions(method, options, defaults)),
          (answer) => Effect.mapErrorEager(coders.result.decode(answer), (message) => malformed(message, answer))
        )
      )
    })
  return {
    request,
    subscribeResource: (uri) =>
      Effect.as(
        Effect.acquireRelease(
          request("resources/subscribe", { uri }),
          () =>
            // Closing the scope does not wait for the answer; the request itself is sent in order.
            Effect.forkIn(Effect.ignore(request("resources/unsubscribe", { uri })), scope, { startImmediately: true }),
          { interruptible: true }
        ),
        Effect.never
      ),
    subscribeLists: Effect.succeed(Effect.never),
    setLogLevel: (level) => Effect.asVoid(request("logging/setLevel", { level })),
    ping: (options) => Effect.asVoid(request("ping", undefined, options))
  }
}
