/** Messages that a client reads besides answers to its requests: notifications, which it decodes, and messages that it must not answer. */
import * as Transport from "@effect-mcp/core/Transport"
import type { Inbound } from "@effect-mcp/core/Transport"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type { InUse } from "../extension/InUse.ts"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export interface Options {
  /** Called with each decoded notification, and with its request if the transport reports it. Must not block the reader. */
  readonly announced: <M extends keyof Method.ServerNotifications>(
    method: M,
    params: Method.ServerNotifications[M],
    relatedTo: JsonRpc.Id | undefined
  ) => void
  /**
   * Called with each notification that the revision does not define. Returns true if a part of the client handles it. Must not block the
   * reader.
   */
  readonly unknown: (
    notification: JsonRpc.Notification,
    inUse: InUse | undefined,
    relatedTo: JsonRpc.Id | undefined
  ) => boolean
  /** Called with the reason when a message is dropped. `Debug` means that this is expected, such as the answer to a cancelled request. */
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
}

const isIn = <T extends object>(table: T, key: string): key is keyof T & string => Object.hasOwn(table, key)

/** Passes decoded notifications to `announced`, and drops unknown and malformed ones. */
export const announcer = (options: Options) => {
  const decode = <M extends keyof Method.ServerNotifications>(
    method: M,
    params: unknown,
    relatedTo: JsonRpc.Id | undefined,
    codec: Revision.NotificationTable<Method.ServerNotifications>[M]
  ): void => {
    if (codec === undefined) return options.dropped(`Unknown notification: ${excerpt(method)}`, "Warn")
    const exit = Effect.runSyncExit(Codecs.coder<Method.ServerNotifications[M]>(codec).decode(params))
    if (Exit.isSuccess(exit)) options.announced(method, exit.value, relatedTo)
    else options.dropped(`Invalid notification: ${method}`, "Warn")
  }
  return (
    notification: JsonRpc.Notification,
    known: Revision.Revision["serverNotifications"],
    inUse: InUse | undefined,
    relatedTo: JsonRpc.Id | undefined
  ): void => {
    const { method, params } = notification
    if (isIn(known, method)) return decode(method, params, relatedTo, known[method])
    // A session's server cannot cancel the client's requests.
    if (method === "notifications/cancelled") return options.dropped(`Unknown notification: ${method}`, "Debug")
    if (!options.unknown(notification, inUse, relatedTo)) {
      options.dropped(`Unknown notification: ${excerpt(method)}`, "Warn")
    }
  }
}

/** True if the peer would answer the message: a request, or an invalid message that may be a request. */
const wantsAnswer = (inbound: Inbound): boolean => {
  if (inbound._tag === "Batch") return true
  if (inbound._tag === "RequestAborted") return false
  return inbound._tag === "Message" ? JsonRpc.isRequest(inbound.message) : !inbound.response
}

/**
 * Drops invalid messages that name no request. Once `mute` is set, drops every message that the peer would answer, because a stateless
 * server sends no requests (spec 2026-07-28: basic/transports/stdio).
 */
export const withoutUnanswerable = (
  transport: Transport.Transport,
  mute: () => boolean,
  dropped: Options["dropped"]
): Transport.Transport =>
  Transport.filter(transport, (inbound) => {
    if (inbound._tag === "InvalidMessage" && inbound.id === undefined) {
      dropped(`Not a JSON-RPC message: ${excerpt(inbound.text ?? inbound.error.message)}`, "Warn")
      return false
    }
    if (!mute() || !wantsAnswer(inbound)) return true
    dropped("Request from a server that must not send requests", "Warn")
    return false
  })
