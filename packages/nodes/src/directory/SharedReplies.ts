/**
 * A `ReplayGuard` that nodes share: the reply to a state is kept as text, so that any node gives the same reply to the same state.
 *
 * A later use waits for the first, on whatever node that runs. Where that node dies, the state is spent: what its handler did is not known.
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

/** What the use of a state is. */
export type StateUse =
  | { readonly _tag: "First" }
  /** The first use was at `node`; `reply` is undefined while its handler runs. */
  | { readonly _tag: "Later"; readonly node: NodeId; readonly reply: string | undefined }
  /** Its time is over by the clock of the store, which is one for all nodes: what was kept of it may be removed already. */
  | { readonly _tag: "Expired" }

/** Where replies are kept, each until its state expires. */
export interface ReplyStore {
  /** Notes the first use of a state, which lasts until `expires` (milliseconds since the epoch). One step, of which one use is the first. */
  readonly begin: (jti: string, node: NodeId, expires: number) => Effect.Effect<StateUse, NodesUnavailable>
  readonly end: (jti: string, reply: string) => Effect.Effect<void, NodesUnavailable>
  /** Makes the next use the first one. */
  readonly drop: (jti: string) => Effect.Effect<void, NodesUnavailable>
}

/** How often a later use looks for the reply. */
const pause = "50 millis"

const unavailable = McpError.interrupted(
  "The answers to questions could not be recorded, and the handler was not run: send them again"
)
const expired = McpError.invalidParams("Invalid or expired requestState")
const spent = McpError.interrupted("The first use of this state was interrupted")

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
  const outage = new Outage("The store of replies")
  const reachable = <A>(effect: Effect.Effect<A, NodesUnavailable>): Effect.Effect<A, McpError.McpError> =>
    Effect.mapError(outage.noted(effect), () => unavailable)
  const again = (jti: string, expires: number): Effect.Effect<unknown, McpError.McpError> =>
    Effect.flatMap(reachable(store.begin(jti, directory.node, expires)), (use) => {
      // The reply may never have come: its node may not have been able to keep it.
      if (use._tag === "Expired") return Effect.fail(spent)
      // The first use was interrupted meanwhile: its caller is told by it.
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
