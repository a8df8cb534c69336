/**
 * A `ReplayGuard` shared by several nodes. The reply to a state is stored as text, so that every node returns the same reply to the same
 * state.
 *
 * A later use waits for the first one, whichever node it runs on. If that node dies, the state is used up, because nobody knows whether its
 * handler ran.
 */
import { EncodedResult, isEncodedResult } from "@effect-mcp/core/EncodedResult"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import type { ReplayGuard } from "@effect-mcp/server/ReplayGuard"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type { Directory } from "./Directory.ts"
import type { NodeId } from "../relay/NodeId.ts"
import { Outage } from "./Outage.ts"

/** The outcome of using a state. */
export type StateUse =
  | { readonly _tag: "First" }
  /** The state was first used on `node`. `reply` is `undefined` while its handler is running. */
  | { readonly _tag: "Later"; readonly node: NodeId; readonly reply: string | undefined }
  /** The state has expired by the store's clock, which all nodes share, so its reply may already be gone. */
  | { readonly _tag: "Expired" }

/** Stores replies until their states expire. */
export interface ReplyStore {
  /** Atomically records the first use of a state. The record is kept until `expires` (milliseconds since 1970). */
  readonly begin: (jti: string, node: NodeId, expires: number) => Effect.Effect<StateUse, NodesUnavailable>
  readonly end: (jti: string, reply: string) => Effect.Effect<void, NodesUnavailable>
  /** Forgets the state, so that its next use counts as the first. */
  readonly drop: (jti: string) => Effect.Effect<void, NodesUnavailable>
}

/** Interval at which a later use checks for the reply. */
const pause = "50 millis"

const unavailable = McpError.interrupted(
  "The answers could not be recorded, so the handler did not run. Send them again"
)
const expired = McpError.invalidParams("Invalid or expired requestState")
const spent = McpError.interrupted("The first request with this state was interrupted")

const encode = (exit: Exit.Exit<unknown, McpError.McpError>): string | undefined => {
  if (exit._tag === "Success") {
    const { value } = exit
    return JSON.stringify(isEncodedResult(value) ? { type: value.resultType, wire: value.wire } : { value })
  }
  const failure = exit.cause.reasons.find(Cause.isFailReason)
  if (failure === undefined) return undefined
  const { code, data, message } = failure.error
  return JSON.stringify({ error: { code, message, data } })
}

const decode = (text: string): Effect.Effect<unknown, McpError.McpError> => {
  const reply: unknown = JSON.parse(text)
  if (!isJsonObject(reply)) return Effect.fail(spent)
  const { error, type, wire } = reply
  if (typeof type === "string" && isJsonObject(wire)) return Effect.succeed(EncodedResult.relayed(type, wire))
  if (!isJsonObject(error)) return Effect.succeed(reply["value"])
  const { code, data, message } = error
  const stated = { code: Number(code), message: String(message) }
  return Effect.fail(new McpError.McpError(data === undefined ? stated : { ...stated, data }))
}

export const makeSharedReplies = (store: ReplyStore, directory: Directory): ReplayGuard["Service"] => {
  const outage = new Outage("The reply store")
  const reachable = <A>(effect: Effect.Effect<A, NodesUnavailable>): Effect.Effect<A, McpError.McpError> =>
    Effect.mapError(outage.noted(effect), () => unavailable)
  const again = (jti: string, expires: number): Effect.Effect<unknown, McpError.McpError> =>
    Effect.flatMap(reachable(store.begin(jti, directory.node, expires)), (use) => {
      // The reply may never have been stored, for example because its node could not write it.
      if (use._tag === "Expired") return Effect.fail(spent)
      // The first use was interrupted in the meantime, and its caller has received the error.
      if (use._tag === "First") return Effect.andThen(reachable(store.drop(jti)), Effect.fail(spent))
      return use.reply === undefined ? waiting(use.node, jti, expires) : decode(use.reply)
    })
  const waiting = (node: NodeId, jti: string, expires: number) => {
    const gone = Effect.andThen(directory.gone(node), Effect.fail(spent))
    const waited = Effect.sleep(pause)
    return Effect.andThen(
      node === directory.node ? waited : Effect.raceFirst(waited, gone),
      Effect.suspend(() => again(jti, expires))
    )
  }
  const once = <A, R>(
    jti: string,
    expires: number,
    reply: Effect.Effect<A, McpError.McpError, R>
  ): Effect.Effect<A, McpError.McpError, R> =>
    Effect.flatMap(reachable(store.begin(jti, directory.node, expires)), (use) => {
      if (use._tag === "Expired") return Effect.fail(expired)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is kept under a jti came from a reply to the very same request, so it has this type
      if (use._tag === "Later") return again(jti, expires) as Effect.Effect<A, McpError.McpError>
      return Effect.onExit(reply, (exit) => {
        const text = encode(exit)
        const kept = text === undefined ? store.drop(jti) : store.end(jti, text)
        return Effect.ignore(reachable(Effect.retry(kept, { times: 2, schedule: Schedule.spaced(pause) })))
      })
    })
  return { once }
}
