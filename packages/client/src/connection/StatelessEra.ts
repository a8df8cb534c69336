/**
 * Requests that say everything themselves (2026-07-28): who asks, in which revision, and what may be asked back.
 *
 * Questions of the server come as results and are answered here; its news comes on `subscriptions/listen`; what it allows to be kept
 * is kept.
 */
import type { Peer, RequestOptions } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import type { Policy } from "./Backoff.ts"
import { CapabilityMissing, type ClientError, Closed } from "../ClientError.ts"
import { type CallOptions, type Defaults, type Requests, requestOptions } from "../CallOptions.ts"
import * as Declaration from "./Declaration.ts"
import type { Refused } from "../answering/ServerRequests.ts"
import * as InputRounds from "./InputRounds.ts"
import type { Negotiated } from "./Negotiation.ts"
import { ResponseCache } from "./ResponseCache.ts"
import type { Era } from "./Era.ts"
import { Listening, type Subscription } from "./Listening.ts"
import { encodeFailed, missingFor, prepare } from "./prepare.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  readonly declared: Declaration.Declared
  /** Answers a question of the server's, on the wire's own terms. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError | Refused>
  readonly maxRounds: number
  /** Answers kept at most. */
  readonly cacheSize: number
  readonly cacheBytes: number
  /** How often and when a round that did not reach the server is sent again; without one it is not. */
  readonly policy: Policy | undefined
}

export interface Stateless extends Era {
  /** What the server says without being asked, before anybody else sees it; `true` when that was all there is to it. */
  readonly received: (notification: JsonRpc.Notification) => boolean
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Stateless, McpError.McpError, Scope.Scope> {
  const { answer, declared, defaults, maxRounds, negotiated, peer, policy } = options
  const { revision, serverCapabilities } = negotiated
  const cache = new ResponseCache(options.cacheSize, options.cacheBytes)
  const declare = (logLevel?: LoggingLevel) => Declaration.entries(revision.version, { ...declared, logLevel })
  let meta = yield* declare()
  const listening = new Listening(peer, () => meta, defaults.timeout)

  const request = <M extends keyof Requests>(method: M, params: Requests[M]["params"], callOptions: CallOptions = {}) =>
    // What is known at once takes no step.
    Effect.flatMapEager(prepare(negotiated, method), ({ coders, malformed }) =>
      Effect.flatMapEager(Effect.mapErrorEager(coders.params.encode(params), encodeFailed), (encoded) => {
        const wire = isJsonObject(encoded) ? encoded : {}
        const options = increasing(requestOptions(method, callOptions, defaults))
        const entries = callOptions.meta === undefined ? meta : { ...callOptions.meta, ...meta }
        let rounds = 0
        const final = InputRounds.run(method, Meta.withMeta(wire, entries), {
          maxRounds,
          maxTotal: callOptions.maxTotal ?? defaults.maxTotal,
          answer,
          send: (complete) => {
            const sent = peer.request(method, complete, options)
            // What the server has not seen is only this round of it.
            return rounds++ === 0 ? sent : InputRounds.retryRound(sent, peer.awaitClosed, policy)
          }
        })
        return Effect.flatMap(final, ({ retried, wire }) =>
          Effect.mapBothEager(coders.result.decode(wire), {
            onFailure: (message) => malformed(message, wire),
            onSuccess: (result) => ({ result, retried })
          })
        )
      })
    )

  /** The same, from what is still fresh. What a caller adds to `_meta` may change the answer: that is never kept. */
  const cached = <M extends keyof Requests>(method: M, params: Requests[M]["params"], callOptions?: CallOptions) => {
    if (MethodInfo.ofRequest(method)?.cacheable !== true || callOptions?.meta !== undefined) {
      return Effect.map(request(method, params, callOptions), ({ result }) => result)
    }
    const asked = Effect.suspend(() => request(method, params, callOptions))
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const known = cache.get(method, params, now)
      // Only a result of this method was kept under this key.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
      if (known !== undefined && callOptions?.fresh !== true) return Effect.succeed(known as Requests[M]["result"])
      const generation = cache.generation(method)
      return Effect.flatMap(Effect.tapError(asked, discard(method, params)), ({ result, retried }) =>
        Effect.map(Clock.currentTimeMillis, (received) => {
          if (!retried && isJsonObject(result)) cache.put(method, params, result, generation, received)
          return result
        })
      )
    })
  }
  /** A cursor that is refused: the pages before it are not of the list as it is now. */
  const discard = (method: string, params: unknown) => (error: ClientError) =>
    Effect.sync(() => {
      const isPage = isJsonObject(params) && params["cursor"] !== undefined
      if (isPage && error._tag === "McpError") cache.forget(method)
    })
  /** Refused before anything is sent, as every request is. */
  const declaredFor = (method: string): Effect.Effect<void, CapabilityMissing> => {
    const capability = missingFor(method, negotiated)
    return capability === undefined
      ? Effect.void
      : Effect.fail(new CapabilityMissing({ capability, message: `The server did not declare ${capability}` }))
  }

  const lists = {
    ...(serverCapabilities.tools?.listChanged === true ? { toolsListChanged: true } : undefined),
    ...(serverCapabilities.prompts?.listChanged === true ? { promptsListChanged: true } : undefined),
    ...(serverCapabilities.resources?.listChanged === true ? { resourcesListChanged: true } : undefined)
  }
  const announcements: RcRef.RcRef<Subscription, ClientError> = yield* RcRef.make({
    acquire: Effect.tap(listening.listen(lists), ({ ended }) =>
      // Whoever asks after its end gets another, though some may still hold this one.
      Effect.forkScoped(
        Effect.flatMap(ended, () => RcRef.invalidate(announcements)),
        { startImmediately: true }
      )
    )
  })

  return {
    request: cached,
    subscribeResource: (uri, updated) =>
      Effect.andThen(
        declaredFor("resources/subscribe"),
        Effect.flatMap(listening.listen({ resourceSubscriptions: [uri] }, updated), ({ ended, granted }) =>
          granted.resourceSubscriptions?.includes(uri) === true
            ? Effect.succeed(ended)
            : Effect.fail(
                new CapabilityMissing({
                  capability: "resources.subscribe",
                  message: `The server tells of no updates of ${uri}`
                })
              )
        )
      ),
    subscribeLists:
      Object.keys(lists).length === 0
        ? Effect.succeed(Effect.never)
        : RcRef.get(announcements).pipe(
            Effect.map(({ ended }) => ended),
            // It interrupts those who come too late.
            Effect.catchCauseIf(Cause.hasInterruptsOnly, () =>
              Effect.fail(new Closed({ message: "The connection is closed" }))
            )
          ),
    setLogLevel: (level) =>
      Effect.andThen(
        declaredFor("logging/setLevel"),
        Effect.map(declare(level), (wire) => {
          meta = wire
        })
      ),
    ping: (callOptions) => Effect.asVoid(request("server/discover", {}, callOptions)),
    received: (notification) => {
      // All that was read is forgotten when a resource is updated: the URI of the update may be a part of what was read.
      const stale = MethodInfo.ofServerNotification(notification.method)?.stale
      if (stale !== undefined) cache.forget(...stale)
      return listening.received(notification)
    }
  }
})

/** Progress that only grows: a handler that is run again for the next round reports again what it has reported before. */
const increasing = (options: RequestOptions): RequestOptions => {
  const { onProgress } = options
  if (onProgress === undefined) return options
  let last = -Infinity
  return {
    ...options,
    onProgress: (event) => {
      if (!(event.progress > last)) return
      last = event.progress
      onProgress(event)
    }
  }
}
