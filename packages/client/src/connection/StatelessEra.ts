/**
 * Requests of the stateless era (2026-07-28): each declares its client, its revision and the client's capabilities.
 *
 * Owns the answers to questions, which arrive as results, the notifications of `subscriptions/listen`, and the cache of results.
 */
import type { Peer, RequestOptions } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import type { RetryPolicy } from "./Backoff.ts"
import { CapabilityMissing, type ClientError, Closed, type InvalidResult } from "../ClientError.ts"
import { type CallOptions, type Defaults, requestOptions } from "../CallOptions.ts"
import type { InUse } from "../extension/InUse.ts"
import type { OtherResult } from "../extension/OtherResult.ts"
import * as Declaration from "./Declaration.ts"
import type { Refused } from "../answering/ServerRequests.ts"
import * as InputRounds from "./InputRounds.ts"
import type { Negotiated } from "./Negotiation.ts"
import { ResponseCache } from "./ResponseCache.ts"
import type { EraRequests } from "./Era.ts"
import { Listening, type ListenSubscription } from "./Listening.ts"
import { decode, encodeFailed, missingFor, notify, prepare } from "./prepare.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  readonly declared: Declaration.Declared
  /** Answers a question of the server; params and result are those of the revision. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError | Refused>
  readonly maxRounds: number
  /** Results that are cached at most. */
  readonly cacheSize: number
  readonly cacheBytes: number
  /** The extensions that both sides declared. */
  readonly inUse: InUse | undefined
  /** When a round that did not reach the server is sent again; without a policy it is not. */
  readonly policy: RetryPolicy | undefined
}

export interface Stateless extends EraRequests {
  /** Handles a notification before any other part of the client; `true` for one that no other part needs. */
  readonly received: (notification: JsonRpc.Notification) => boolean
}

interface State extends Options {
  readonly cache: ResponseCache
  readonly listening: Listening
  /** What every request declares in its `_meta`. */
  meta: JsonObject
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Stateless, McpError.McpError, Scope.Scope> {
  const { cacheBytes, cacheSize, defaults, peer } = options
  const meta = yield* declare(options)
  const listening = new Listening(peer, () => state.meta, defaults.timeout)
  const state: State = { ...options, cache: new ResponseCache(cacheSize, cacheBytes), listening, meta }
  return {
    request: (method, params, callOptions) => cached(state, method, params, callOptions),
    subscribeResource: (uri, updated) => subscribeResource(state, uri, updated),
    subscribeLists: yield* listSubscription(state),
    setLogLevel: (level) =>
      Effect.andThen(
        checkDeclared(state, "logging/setLevel"),
        Effect.map(declare(options, level), (declared) => {
          state.meta = declared
        })
      ),
    ping: (callOptions) => Effect.asVoid(request(state, "server/discover", {}, callOptions)),
    decode: (method, wire) => decode(state.negotiated, method, wire),
    send: (method, params, sendOptions) =>
      Effect.map(send(state, method, params, sendOptions, sendOptions.answered), ({ wire }) =>
        sendOptions.followed ? (state.inUse?.otherResult(wire, method, params, sendOptions) ?? wire) : wire
      ),
    notify: (method, params) => notify(peer, method, Meta.withMeta(params ?? {}, state.meta)),
    answer: (method, inputRequests) =>
      InputRounds.answers(method, inputRequests, { answer: options.answer, isOwn: isOwn(options.inUse) }),
    listen: (filter, received) => listening.listen(filter, received),
    received: (notification) => {
      forgetStale(state.cache, notification)
      return listening.received(notification)
    }
  }
})

const declare = ({ declared, negotiated: { revision } }: Options, logLevel?: LoggingLevel) =>
  Declaration.entries(revision.version, { ...declared, logLevel })

/** Whether a question is not of the revision: an extension or middleware answers it, or it is refused. */
const isOwn =
  (inUse: InUse | undefined) =>
  (question: string): boolean =>
    inUse?.question(question) !== undefined || !Object.hasOwn(MethodInfo.serverRequests, question)

/** How long the cancel of a result that came too late may take. */
const abandonTimeout = "5 seconds"

/** Undoes what a request that was cancelled has begun, where its result comes after all. */
const abandoned =
  ({ inUse, meta, peer }: State, method: string): RequestOptions["late"] =>
  (wire) => {
    const other = inUse?.otherResult(wire, method, undefined, {})
    const undo = other?.handler.abandon?.(other.result)
    if (undo === undefined) return undefined
    return Effect.ignore(peer.request(undo.method, Meta.withMeta(undo.params, meta), { timeout: abandonTimeout }))
  }

/** Sends a request round by round; params and result are those of the wire. `mayAsk`: whether its questions are answered. */
const send = (state: State, method: string, params: JsonObject, callOptions: CallOptions, mayAsk: boolean) => {
  const { answer, defaults, inUse, maxRounds, meta, peer, policy } = state
  const given = increasing(requestOptions(method, callOptions, defaults))
  const options = inUse === undefined ? given : { ...given, late: abandoned(state, method) }
  const entries = callOptions.meta === undefined ? meta : { ...callOptions.meta, ...meta }
  let rounds = 0
  const run = (params: JsonObject) =>
    InputRounds.run(method, Meta.withMeta(params, entries), {
      mayAsk,
      maxRounds,
      maxTotal: callOptions.maxTotal ?? defaults.maxTotal,
      answer,
      isOwn: isOwn(inUse),
      send: (complete) => {
        const sent = peer.request(method, complete, options)
        // A later round is not the whole request: only its own loss is repaired here.
        return rounds++ === 0 ? sent : InputRounds.retryRound(sent, peer.awaitClosed, policy)
      }
    })
  const changed = inUse?.changed(method, params)
  return changed === undefined ? run(params) : Effect.flatMap(changed, run)
}

interface Received<A> {
  readonly result: A
  /** Whether the result must not be cached. */
  readonly retried: boolean
}

const request = <M extends keyof ClientRequests>(
  state: State,
  method: M,
  params: ClientRequests[M]["params"],
  callOptions: CallOptions = {}
) =>
  // Steps are saved where the declaration and the encoded params are known at once.
  Effect.flatMapEager(prepare(state.negotiated, method), ({ coders, malformed }) =>
    Effect.flatMapEager(Effect.mapErrorEager(coders.params.encode(params), encodeFailed), (encoded) => {
      const sent = isJsonObject(encoded) ? encoded : {}
      // Questions as the result of a method that must not ask are an invalid result, which its codec refuses.
      const final = send(state, method, sent, callOptions, MethodInfo.ofRequest(method)?.mayAsk === true)
      return Effect.flatMap(
        final,
        ({ retried, wire }): Effect.Effect<Received<ClientRequests[M]["result"] | OtherResult>, InvalidResult> => {
          const other = state.inUse?.otherResult(wire, method, sent, callOptions)
          if (other !== undefined) return Effect.succeed({ result: other, retried: true })
          return Effect.mapBothEager(coders.result.decode(wire), {
            onFailure: (message) => malformed(message, wire),
            onSuccess: (result) => ({ result, retried })
          })
        }
      )
    })
  )

/** The request, or its cached result while that is fresh. A result with a caller's own `_meta` is not cached: it may depend on it. */
const cached = <M extends keyof ClientRequests>(
  state: State,
  method: M,
  params: ClientRequests[M]["params"],
  callOptions?: CallOptions
): Effect.Effect<ClientRequests[M]["result"] | OtherResult, ClientError> => {
  const { cache } = state
  if (MethodInfo.ofRequest(method)?.cacheable !== true || callOptions?.meta !== undefined) {
    return Effect.map(request(state, method, params, callOptions), ({ result }) => result)
  }
  const sending = Effect.suspend(() => request(state, method, params, callOptions))
  return Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const known = cache.get(method, params, now)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only a result of this method was kept under this key
    if (known !== undefined && callOptions?.fresh !== true) return Effect.succeed(known as ClientRequests[M]["result"])
    const generation = cache.generation(method)
    return Effect.flatMap(Effect.tapError(sending, discard(cache, method, params)), ({ result, retried }) =>
      Effect.map(Clock.currentTimeMillis, (received) => {
        if (!retried && isJsonObject(result)) cache.put(method, params, result, generation, received)
        return result
      })
    )
  })
}

/** A refused cursor means that the list has changed: its cached pages are dropped. */
const discard = (cache: ResponseCache, method: string, params: unknown) => (error: ClientError) =>
  Effect.sync(() => {
    const isPage = isJsonObject(params) && params["cursor"] !== undefined
    if (isPage && error._tag === "McpError") cache.forget(method)
  })

/** Fails, as every request does, where the server did not declare what the method needs. */
const checkDeclared = ({ negotiated }: State, method: keyof ClientRequests): Effect.Effect<void, CapabilityMissing> => {
  const capability = missingFor(method, negotiated)
  return capability === undefined
    ? Effect.void
    : Effect.fail(new CapabilityMissing({ capability, message: `The server did not declare ${capability}` }))
}

const subscribeResource = (state: State, uri: string, updated: (uri: string) => void) =>
  Effect.andThen(
    checkDeclared(state, "resources/subscribe"),
    Effect.flatMap(state.listening.listen({ resourceSubscriptions: [uri] }, updates(updated)), ({ ended, granted }) =>
      granted.resourceSubscriptions?.includes(uri) === true
        ? Effect.succeed(ended)
        : Effect.fail(
            new CapabilityMissing({
              capability: "resources.subscribe",
              message: `The server announces no updates of ${uri}`
            })
          )
    )
  )

/** Calls `updated` with the URI of each update. */
const updates =
  (updated: (uri: string) => void) =>
  ({ method, params }: JsonRpc.Notification): void => {
    if (method === "notifications/resources/updated" && typeof params?.uri === "string") updated(params.uri)
  }

/** One subscription to all lists whose changes the server announces, shared by all streams of changes. */
const listSubscription = Effect.fnUntraced(function* ({
  listening,
  negotiated: { serverCapabilities }
}: State): Effect.fn.Return<EraRequests["subscribeLists"], never, Scope.Scope> {
  const lists = {
    ...(serverCapabilities.tools?.listChanged === true ? { toolsListChanged: true } : undefined),
    ...(serverCapabilities.prompts?.listChanged === true ? { promptsListChanged: true } : undefined),
    ...(serverCapabilities.resources?.listChanged === true ? { resourcesListChanged: true } : undefined)
  }
  if (Object.keys(lists).length === 0) return Effect.succeed(Effect.never)
  const shared: RcRef.RcRef<ListenSubscription, ClientError> = yield* RcRef.make({
    acquire: Effect.tap(listening.listen(lists), ({ ended }) =>
      // A listener that comes after the end gets another subscription, though earlier ones still hold this one.
      Effect.forkScoped(
        Effect.flatMap(ended, () => RcRef.invalidate(shared)),
        { startImmediately: true }
      )
    )
  })
  return RcRef.get(shared).pipe(
    Effect.map(({ ended }) => ended),
    // A closed RcRef interrupts.
    Effect.catchCauseIf(Cause.hasInterruptsOnly, () => Effect.fail(new Closed({ message: "The connection is closed" })))
  )
})

/** Drops the cached results that a notification makes stale. An updated resource drops all reads: its URI may be a part of another. */
const forgetStale = (cache: ResponseCache, { method }: JsonRpc.Notification): void => {
  const stale = MethodInfo.ofServerNotification(method)?.stale
  if (stale !== undefined) cache.forget(...stale)
}

/** Drops progress that does not grow: a handler that runs again for the next round repeats its reports. */
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
