/** The client's `request` member, which sends the revision's methods by name and extension requests by value. */
import type * as Extension from "@effect-mcp/core/Extension"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import * as Effect from "effect/Effect"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { ExtensionCalls } from "../extension/ExtensionCalls.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import type { ServerLists } from "./ServerLists.ts"

export const make = (
  connection: ReconnectingConnection,
  { headers }: ServerLists,
  byValue: ExtensionCalls["request"]
) => {
  /** Some of a tool's arguments must also be sent as headers, according to its listed schema. */
  const byName: ReconnectingConnection["request"] = (method, params, options) =>
    method === "tools/call"
      ? Effect.suspend(() =>
          connection.headers ? headers.request(method, params, options) : connection.request(method, params, options)
        )
      : connection.request(method, params, options)
  function request<M extends keyof ClientRequests>(
    method: M,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ): Effect.Effect<ClientRequests[M]["result"], ClientError>
  function request<P, A, F>(
    request: Extension.Request<P, A, F, "client">,
    params: P,
    options?: CallOptions
  ): Effect.Effect<A, F | ClientError>
  function request<M extends keyof ClientRequests>(
    method: M | Extension.Request<ClientRequests[M]["params"], unknown, unknown, "client">,
    params: ClientRequests[M]["params"],
    options?: CallOptions
  ): Effect.Effect<unknown, unknown> {
    return typeof method === "string" ? byName(method, params, options) : byValue(method, params, options)
  }
  return request
}
