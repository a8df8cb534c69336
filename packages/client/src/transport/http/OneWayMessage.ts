/** Messages without an answer over HTTP: notifications, responses, and batches of them. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isStateless } from "./Endpoint.ts"

export type OneWayMessage = JsonRpc.Notification | JsonRpc.Response | ReadonlyArray<JsonRpc.Message>

export const encode = (message: OneWayMessage): string =>
  JsonRpc.isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)

export const isNotification = (message: OneWayMessage): message is JsonRpc.Notification =>
  !JsonRpc.isBatch(message) && "method" in message

/** True for a notification that needs no session. */
export const isAlone = (message: OneWayMessage): boolean => isNotification(message) && isStateless(message)

export const opensSession = (message: OneWayMessage): boolean =>
  isNotification(message) && message.method === "notifications/initialized"
