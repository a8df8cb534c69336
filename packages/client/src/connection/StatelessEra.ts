/**
 * Stateless requests (2026-07-28). Each declares its client, its revision and the client's capabilities.
 *
 * Questions arrive as results (`InputRounds`). Subscriptions and cached results are in `StatelessMemory`.
 */
import { textOf } from "@effect-mcp/core/internal/calling"
import type { Peer, RequestOptions } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RetryPolicy } from "./Backoff.ts"
import { CapabilityMissing, type ClientError, type InvalidResult } from "../ClientError.ts"
import { type CallOptions, type Defaults, requestOptions } from "../CallOptions.ts"
import type { InUse } from "../extension/InUse.ts"
import type { OtherResult } from "../extension/OtherResult.ts"
import * as Declaration from "./Declaration.ts"
import type { Refused } from "../answering/RefusedQuestion.ts"
import * as Elapsed from "../internal/Elapsed.ts"
import * as InputRounds from "./InputRounds.ts"
import type { Negotiated } from "./Negotiation.ts"
import type { EraRequests } from "./Era.ts"
import type { Dropped } from "./Salvage.ts"
import * as StatelessMemory from "./StatelessMemory.ts"
import { decode, encodeFailed, missingFor, notify, prepare } from "./prepare.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  readonly declared: Declaration.Declared
  /** Answers a question from the server. Params and result are in the revision's format. */
  readonly answer: (question: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError | Refused>
  readonly maxRounds: number | undefined
  /** Maximum number of cached results. */
  readonly cacheSize: number | undefined
  readonly cacheBytes: number | undefined
  /** Extensions that both sides declared. */
  readonly inUse: InUse | undefined
  /** When to resend a round that did not reach the server. Without a policy it is not resent. */
  readonly policy: RetryPolicy | undefined
  readonly dropped: Dropped
}

export interface Stateless extends EraRequests {
  /** Handles a notification before any other part of the client. Returns `true` if no other part needs it. */
  readonly received: (notification: JsonRpc.Notification) => boolean
}

interface State extends Options {
  /** The declaration in every request's `_meta`. */
  meta: JsonObject
  readonly memory: StatelessMemory.StatelessMemory
}

export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Stateless, McpError.McpError, Scope.Scope> {
  const { cacheBytes, cacheSize, defaults, negotiated, peer } = options
  const memory = yield* StatelessMemory.make({
    peer,
    negotiated,
    meta: () => state.meta,
    timeout: defaults.timeout,
    cacheSize,
    cacheBytes
  })
  const state: State = { ...options, meta: yield* declare(options), memory }
  return {
    request: (method, params, callOptions) => cached(state, method, params, callOptions),
    subscribeResource: (uri, updated) =>
      Effect.andThen(checkDeclared(state, "resources/subscribe"), memory.subscribeResource(uri, updated)),
    subscribeLists: memory.subscribeLists,
    setLogLevel: (level) =>
      Effect.andThen(
        checkDeclared(state, "logging/setLevel"),
        Effect.map(declare(options, level), (declared) => {
          state.meta = declared
        })
      ),
    ping: (callOptions) => Effect.asVoid(request(state, "server/discover", {}, callOptions)),
    decode: (method, wire) => decode(state.negotiated, method, wire, state.dropped),
    send: (method, params, sendOptions) =>
      Effect.map(send(state, method, params, sendOptions, sendOptions.answered), ({ wire }) =>
        sendOptions.followed ? (state.inUse?.otherResult(wire, method, params, sendOptions) ?? wire) : wire
      ),
    notify: (method, params) => notify(peer, method, Meta.withMeta(params ?? {}, state.meta)),
    answer: (method, inputRequests) =>
      InputRounds.answers(method, inputRequests, { answer: options.answer, isOwn: isOwn(options.inUse) }),
    listen: memory.listen,
    received: memory.received
  }
})

const declare = ({ declared, negotiated: { revision } }: Options, logLevel?: LoggingLevel) =>
  Declaration.entries(revision.version, { ...declared, logLevel })

/** True if a question is not defined by the revision: an extension or middleware answers it, or it is rejected. */
const isOwn =
  (inUse: InUse | undefined) =>
  (question: string): boolean =>
    inUse?.question(question) !== undefined || !Object.hasOwn(MethodInfo.serverRequests, question)

/** Time limit for undoing a result that arrived too late. */
const abandonTimeout = "5 seconds"

/** Undoes a cancelled request's effects if its result arrives after all. */
const abandoned =
  ({ inUse, meta, peer }: State, method: string): RequestOptions["late"] =>
  (wire) =>
    // Not in the reader, because `abandon` is the program's own function.
    Effect.suspend(() => {
      const other = inUse?.otherResult(wire, method, undefined, {})
      const undo = other?.handler.abandon?.(other.result)
      if (undo === undefined) return Effect.void
      return Effect.ignore(peer.request(undo.method, Meta.withMeta(undo.params, meta), { timeout: abandonTimeout }))
    }).pipe(Effect.catchCause((cause) => Effect.logWarning(`Failed to undo a late result: ${textOf(cause)}`)))

/** Sends a request round by round, with params and result in wire format. `mayAsk` says whether its questions are answered. */
const send = (state: State, method: string, params: JsonObject, callOptions: CallOptions, mayAsk: boolean) => {
  const { answer, defaults, inUse, maxRounds, meta, peer, policy } = state
  const given = increasing(requestOptions(method, callOptions, defaults))
  const options = inUse === undefined ? given : { ...given, late: abandoned(state, method) }
  const entries = callOptions.meta === undefined ? meta : { ...callOptions.meta, ...meta }
  const maxTotal = callOptions.maxTotal ?? defaults.maxTotal
  const run = (params: JsonObject) => {
    const complete = Meta.withMeta(params, entries)
    return Effect.clockWith((clock) => {
      const started = Elapsed.unsafe(clock)
      return Effect.flatMap(peer.request(method, complete, options), (wire) => {
        if (!mayAsk || !ResultType.isInputRequired(wire)) return Effect.succeed({ wire, retried: false })
        return InputRounds.answerRounds(method, complete, wire, {
          maxRounds,
          left: Duration.toMillis(maxTotal) - (Elapsed.unsafe(clock) - started),
          answer,
          isOwn: isOwn(inUse),
          // A later round is not the whole request, so only that round is resent here.
          send: (params) => InputRounds.retryRound(peer.request(method, params, options), peer.awaitClosed, policy)
        })
      })
    })
  }
  const changed = inUse?.changed(method, params)
  return changed === undefined ? run(params) : Effect.flatMap(changed, run)
}

const request = <M extends keyof ClientRequests>(
  state: State,
  method: M,
  params: ClientRequests[M]["params"],
  callOptions: CallOptions = {}
) =>
  // Skips steps if the declaration and the encoded params are already known.
  Effect.flatMapEager(prepare(state.negotiated, method, state.dropped), ({ coders, read }) =>
    Effect.flatMapEager(Effect.mapErrorEager(coders.params.encode(params), encodeFailed), (encoded) => {
      const sent = isJsonObject(encoded) ? encoded : {}
      // If a method that must not ask returns questions, its codec rejects them as an invalid result.
      const final = send(state, method, sent, callOptions, MethodInfo.ofRequest(method)?.mayAsk === true)
      return Effect.flatMap(
        final,
        ({
          retried,
          wire
        }): Effect.Effect<StatelessMemory.Received<ClientRequests[M]["result"] | OtherResult>, InvalidResult> => {
          const other = state.inUse?.otherResult(wire, method, sent, callOptions)
          if (other !== undefined) return Effect.succeed({ result: other, retried: true })
          return Effect.mapEager(read(wire), (result) => ({ result, retried }))
        }
      )
    })
  )

/**
 * Returns the cached result of a request while it is fresh, or sends the request. A result with the caller's own `_meta` is not cached,
 * because it may depend on it.
 */
const cached = <M extends keyof ClientRequests>(
  state: State,
  method: M,
  params: ClientRequests[M]["params"],
  callOptions?: CallOptions
): Effect.Effect<ClientRequests[M]["result"] | OtherResult, ClientError> => {
  if (MethodInfo.ofRequest(method)?.cacheable !== true || callOptions?.meta !== undefined) {
    return Effect.map(request(state, method, params, callOptions), ({ result }) => result)
  }
  return state.memory.cached(method, params, callOptions?.fresh, () => request(state, method, params, callOptions))
}

/** Fails, like every request, if the server did not declare the capability that the method needs. */
const checkDeclared = ({ negotiated }: State, method: keyof ClientRequests): Effect.Effect<void, CapabilityMissing> => {
  const capability = missingFor(method, negotiated)
  return capability === undefined
    ? Effect.void
    : Effect.fail(new CapabilityMissing({ capability, message: `The server does not support ${capability}` }))
}

/** Drops progress that does not increase, because a handler that runs again for the next round repeats its reports. */
const increasing = (options: RequestOptions): RequestOptions => {
  const { onProgress } = options
  if (onProgress === undefined) return options
  let last = -Infinity
  return {
    ...options,
    onProgress: (event) => {
      if (!(event.progress > last)) return undefined
      last = event.progress
      return onProgress(event)
    }
  }
}
