/**
 * Requests that say everything themselves (2026-07-28): who asks, in which revision, and what may be asked back.
 *
 * Questions of the server come as results and are answered here; its news comes on `subscriptions/listen`; what it allows to be kept
 * is kept.
 */
import type { Peer, RequestOptions } from "@effect-mcp/core/Peer"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { declaration } from "@effect-mcp/protocol/revision/v2026_07_28"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import { CapabilityMissing } from "../ClientError.ts"
import { type CallOptions, type Defaults, type Requests, requestOptions } from "../Connection.ts"
import * as Declaration from "../Declaration.ts"
import * as InputRounds from "../InputRounds.ts"
import type { Negotiated } from "../Negotiation.ts"
import { ResponseCache } from "../ResponseCache.ts"
import type { Era } from "./Era.ts"
import { Listening } from "./Listening.ts"
import { prepare } from "./prepare.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  readonly declared: Declaration.Declared
  /** Answers a question of the server's, on the wire's own terms. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError>
  readonly maxRounds: number
  /** Answers kept at most. */
  readonly cacheSize: number
}

export interface Stateless extends Era {
  /** What the server says without being asked, before anybody else sees it; `true` when that was all there is to it. */
  readonly received: (notification: JsonRpc.Notification) => boolean
}

const coder = Codecs.coder(declaration)

/** The results that carry caching hints. */
const cacheable: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read"
])

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Stateless, McpError.McpError, Scope.Scope> {
  const { answer, declared, defaults, maxRounds, negotiated, peer } = options
  const { revision, serverCapabilities } = negotiated
  const cache = new ResponseCache(options.cacheSize)
  /** The declaration as it is sent: this revision drops what only others have. */
  const declare = (logLevel?: LoggingLevel): Effect.Effect<JsonObject, McpError.McpError> =>
    coder.encode(Declaration.entries(revision.version, { ...declared, logLevel })).pipe(
      Effect.mapError((message) => McpError.invalidParams(`Cannot be declared: ${message}`)),
      Effect.map((wire) => (isJsonObject(wire) ? wire : {}))
    )
  let meta = yield* declare()
  const listening = new Listening(peer, () => meta, defaults.timeout)

  const request = <M extends keyof Requests>(method: M, params: Requests[M]["params"], callOptions: CallOptions = {}) =>
    Effect.flatMap(prepare(negotiated, method), ({ coders, malformed }) =>
      coders.params.encode(params).pipe(
        Effect.mapError((message) => McpError.invalidParams(`Cannot be said to this server: ${message}`)),
        Effect.flatMap((encoded) => {
          const wire = isJsonObject(encoded) ? encoded : {}
          const options = increasing(requestOptions(method, callOptions, defaults))
          return InputRounds.run(method, Meta.withMeta(wire, { ...callOptions.meta, ...meta }), {
            maxRounds,
            answer,
            send: (complete) => peer.request(method, complete, options)
          })
        }),
        Effect.flatMap(({ retried, wire }) =>
          Effect.map(Effect.mapError(coders.result.decode(wire), malformed), (result) => ({ result, retried }))
        )
      )
    )

  /** The same, from what is still fresh. */
  const cached = <M extends keyof Requests>(method: M, params: Requests[M]["params"], callOptions?: CallOptions) => {
    if (!cacheable.has(method)) return Effect.map(request(method, params, callOptions), ({ result }) => result)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const known = cache.get(method, params, now)
      // Only a result of this method was kept under this key.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
      if (known !== undefined) return Effect.succeed(known as Requests[M]["result"])
      return Effect.flatMap(request(method, params, callOptions), ({ result, retried }) =>
        Effect.map(Clock.currentTimeMillis, (received) => {
          if (!retried && isJsonObject(result)) cache.put(method, params, result, received)
          return result
        })
      )
    })
  }

  const lists = {
    ...(serverCapabilities.tools?.listChanged === true ? { toolsListChanged: true } : undefined),
    ...(serverCapabilities.prompts?.listChanged === true ? { promptsListChanged: true } : undefined),
    ...(serverCapabilities.resources?.listChanged === true ? { resourcesListChanged: true } : undefined)
  }
  const announcements = yield* RcRef.make({ acquire: listening.listen(lists) })

  const forget = ({ method, params }: JsonRpc.Notification): void => {
    switch (method) {
      case "notifications/tools/list_changed":
        return cache.forget("tools/list")
      case "notifications/prompts/list_changed":
        return cache.forget("prompts/list")
      case "notifications/resources/list_changed":
        return cache.forget("resources/list", "resources/templates/list")
      case "notifications/resources/updated":
        // Its URI may be a part of what was read.
        return params === undefined ? undefined : cache.forget("resources/read")
    }
  }

  return {
    request: cached,
    watching: (uri) =>
      Effect.flatMap(listening.listen({ resourceSubscriptions: [uri] }), ({ ended, granted }) =>
        granted.resourceSubscriptions?.includes(uri) === true
          ? Effect.succeed(ended)
          : Effect.fail(
              new CapabilityMissing({
                capability: "resources.subscribe",
                message: `The server tells of no updates of ${uri}`
              })
            )
      ),
    announcing: Object.keys(lists).length === 0 ? Effect.void : Effect.asVoid(RcRef.get(announcements)),
    setLogLevel: (level) =>
      Effect.map(declare(level), (wire) => {
        meta = wire
      }),
    ping: Effect.asVoid(request("server/discover", {})),
    received: (notification) => {
      forget(notification)
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
