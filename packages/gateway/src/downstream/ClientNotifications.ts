/** Forwards client notifications that the gateway does not know to the upstream server. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import * as Translation from "../Translation.ts"
import type { Upstreams } from "../upstream/Upstreams.ts"

const isKnown = (method: string): boolean =>
  Object.hasOwn(MethodInfo.clientNotifications, method) || MethodInfo.ofServerNotification(method) !== undefined

/** Forwards notifications from clients with sessions, in order. */
export const relay =
  (upstreams: Upstreams): Middleware.Inbound =>
  ({ envelope: { address }, message, outbound: { connection }, principal, session }, next) => {
    const { method, params = {} } = message
    const { negotiated } = session ?? {}
    if (JsonRpc.isRequest(message) || isKnown(method) || negotiated === undefined) return next
    const { clientCapabilities: capabilities, clientInfo, revision } = negotiated
    const client = { capabilities, clientInfo, revision, principal, address, connection, path: [] }
    const acquired = upstreams.acquire(client, false)
    return Effect.scoped(
      Effect.flatMap(acquired, ({ client }) =>
        Effect.mapError(
          client.raw.notify(method, Translation.unknownParams(params, revision)),
          Translation.toMcpError(method, revision)
        )
      )
    )
  }
