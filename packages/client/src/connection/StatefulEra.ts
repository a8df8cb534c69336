/** Requests of a session (2024-11-05 to 2025-11-25): the server remembers the revision, subscriptions and the log level. */
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

export interface Options {
  readonly peer: Peer
  readonly negotiated: Negotiated
  readonly defaults: Defaults
  /** The extensions that both sides declared. */
  readonly inUse: InUse | undefined
  /** Answers a question that a result of another kind carries. */
  readonly answer: InputRounds.QuestionAnswers["answer"]
  readonly scope: Scope.Scope
}

/** How long the end of a subscription waits for the answer to `resources/unsubscribe`. */
const unsubscribeTimeout = "1 second"

const withMeta = <P extends { readonly _meta?: JsonObject }>(params: P | undefined, { meta }: CallOptions) =>
  meta === undefined ? params : { ...params, _meta: { ...params?._meta, ...meta } }

const noSubscriptions = ({ revision }: Negotiated) =>
  Effect.fail(
    new CapabilityMissing({
      capability: "subscriptions/listen",
      message: `${revision.version} has no subscriptions of extensions: the server sends notifications by itself`
    })
  )

export const make = ({ answer, defaults, inUse, negotiated, peer, scope }: Options): EraRequests => {
  /** A result of another kind comes as `OtherResult`, to which the progress of the request still belongs. */
  const send = (method: string, params: JsonObject | undefined, options: CallOptions, followed = true) => {
    const sent = (params: JsonObject | undefined, outlives?: RequestOptions["outlives"]) =>
      peer.request(method, params, { ...requestOptions(method, options, defaults), outlives })
    if (inUse === undefined) return sent(params)
    const changed = inUse.changed(method, params ?? {}) ?? Effect.succeed(params)
    return Effect.suspend(() => {
      let ended: (() => void) | undefined
      const other = (result: unknown) => (followed ? inUse.otherResult(result, method, params, options) : undefined)
      const outlives = (result: unknown, end: () => void) => {
        ended = end
        return other(result) !== undefined
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

  const request = <M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options: CallOptions = {}
  ) =>
    // Steps are saved where the declaration and the encoded params are known at once.
    Effect.flatMapEager(prepare(negotiated, method), ({ coders, malformed }) =>
      Effect.flatMapEager(
        Effect.mapErrorEager(coders.params.encode(withMeta(params, options)), encodeFailed),
        (encoded) => {
          const wire = isJsonObject(encoded) ? encoded : undefined
          return Effect.flatMap(
            send(method, wire, options),
            (result): Effect.Effect<ClientRequests[M]["result"] | OtherResult, InvalidResult> =>
              result instanceof OtherResult
                ? Effect.succeed(result)
                : Effect.mapErrorEager(coders.result.decode(result), (message) => malformed(message, result))
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
    decode: (method, wire) => decode(negotiated, method, wire),
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
            // Over HTTP a later subscription could overtake it. A server that does not answer must not hold up the scope for long.
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
