/** Requests in a session (2024-11-05 to 2025-11-25). The server remembers the revision, the subscriptions and the log level. */
import type { Peer, RequestOptions } from "@effect-mcp/core/Peer"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { type CallOptions, type Defaults, requestOptions } from "../CallOptions.ts"
import { CapabilityMissing, type InvalidResult } from "../ClientError.ts"
import type { InUse } from "../extension/InUse.ts"
import { OtherResult } from "../extension/OtherResult.ts"
import * as InputRounds from "./InputRounds.ts"
import type { Negotiated } from "./Negotiation.ts"
import type { EraRequests } from "./Era.ts"
import { decode, encodeFailed, notify, ordinary, prepare } from "./prepare.ts"
import type { Dropped } from "./Salvage.ts"

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  /** Extensions that both sides declared. */
  readonly inUse: InUse | undefined
  /** Answers a question inside a result of another type. */
  readonly answer: InputRounds.QuestionAnswers["answer"]
  readonly scope: Scope.Scope
  readonly dropped: Dropped
}

/** How long closing a subscription waits for the answer to `resources/unsubscribe`. */
const unsubscribeTimeout = "1 second"

const withMeta = <P extends { readonly _meta?: JsonObject }>(params: P | undefined, { meta }: CallOptions) =>
  meta === undefined ? params : { ...params, _meta: { ...params?._meta, ...meta } }

const noSubscriptions = ({ revision }: Negotiated) =>
  Effect.fail(
    new CapabilityMissing({
      capability: "subscriptions/listen",
      message: `Revision ${revision.version} has no extension subscriptions. Servers send these notifications without a subscription`
    })
  )

/** A result of another type is returned as `OtherResult`. It still receives the request's progress. */
const sending =
  ({ defaults, inUse, peer }: Pick<Options, "defaults" | "inUse" | "peer">) =>
  (method: string, params: JsonObject | undefined, options: CallOptions, followed = true) => {
    const sent = (params: JsonObject | undefined, outlives?: RequestOptions["outlives"]) =>
      peer.request(method, params, { ...requestOptions(method, options, defaults), outlives })
    if (inUse === undefined) return sent(params)
    const changed = inUse.changed(method, params ?? {}) ?? Effect.succeed(params)
    return Effect.suspend(() => {
      let ended: (() => void) | undefined
      const other = (result: unknown) => (followed ? inUse.otherResult(result, method, params, options) : undefined)
      const outlives = (result: unknown, end: () => void) => {
        ended = end
        try {
          return other(result) !== undefined
        } catch {
          // An extension's `matches` threw in the reader. It will throw again in the call's fiber.
          return false
        }
      }
      return Effect.map(
        Effect.flatMap(changed, (params) => sent(params, outlives)),
        (result) => {
          const followable = other(result)
          if (followable !== undefined && ended !== undefined) followable.ended = ended
          return followable ?? result
        }
      )
    })
  }

export const make = (options: Options): EraRequests => {
  const { answer, dropped, inUse, negotiated, peer, scope } = options
  const send = sending(options)

  const request = <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options: CallOptions = {}
  ) =>
    // Skips steps if the declaration and the encoded params are already known.
    Effect.flatMapEager(prepare(negotiated, method, dropped), ({ coders, read }) =>
      Effect.flatMapEager(
        Effect.mapErrorEager(coders.params.encode(withMeta(params, options)), encodeFailed),
        (encoded) => {
          const wire = isJsonObject(encoded) ? encoded : undefined
          return Effect.flatMap(
            send(method, wire, options),
            (result): Effect.Effect<ClientRequests[M]["result"] | OtherResult, InvalidResult> =>
              result instanceof OtherResult ? Effect.succeed(result) : read(result)
          )
        }
      )
    )
  const ordinarily = <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ) => ordinary(method)(request(method, params, options))

  return {
    request,
    decode: (method, wire) => decode(negotiated, method, wire, dropped),
    send: (method, params, options) => send(method, withMeta(params, options) ?? {}, options, options.followed),
    notify: (method, params) => notify(peer, method, params),
    answer: (method, inputRequests) =>
      InputRounds.answers(method, inputRequests, {
        answer,
        isOwn: (question) => inUse?.question(question) !== undefined
      }),
    listen: () => noSubscriptions(negotiated),
    subscribeResource: (uri) =>
      Effect.as(
        Effect.acquireRelease(
          ordinarily("resources/subscribe", { uri }),
          () =>
            // Over HTTP a later subscription could overtake it. A server that does not answer must not delay the scope for long.
            Effect.flatMap(
              Effect.forkIn(Effect.ignore(ordinarily("resources/unsubscribe", { uri })), scope, {
                startImmediately: true
              }),
              (fiber) => Effect.timeoutOption(Fiber.await(fiber), unsubscribeTimeout)
            ),
          { interruptible: true }
        ),
        Effect.never
      ),
    subscribeLists: Effect.succeed(Effect.never),
    setLogLevel: (level) => Effect.asVoid(ordinarily("logging/setLevel", { level })),
    ping: (options) => Effect.asVoid(ordinarily("ping", undefined, options))
  }
}
