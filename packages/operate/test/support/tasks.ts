/** A client of 2026-07-28 that can have tasks, and only sends. */
import { Memory, Peer } from "@effect-mcp/core"
import type { Principal } from "@effect-mcp/core/Principal"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"

const capabilities = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} }
}

interface Answer {
  readonly [key: string]: any
}

export const connect = Effect.fnUntraced(function* (
  server: McpServer.Server,
  principal?: Principal["Service"],
  meta: object = {}
) {
  const [near, far] = yield* Memory.pair()
  yield* server.connect(far, { principal, kind: "memory" })
  const peer = yield* Peer.make(near, { request: () => Effect.never, notification: () => {} })
  const _meta = {
    [Meta.protocolVersion]: "2026-07-28",
    [Meta.clientInfo]: { name: "test", version: "0" },
    [Meta.clientCapabilities]: capabilities,
    ...meta
  }
  const request = (method: string, params: object): Effect.Effect<Answer, Peer.RequestError> =>
    Effect.map(peer.request(method, { ...params, _meta }), (result) => result as Answer)
  return {
    call: (name: string) => request("tools/call", { name, arguments: {} }),
    get: (taskId: string) => request("tasks/get", { taskId }),
    cancel: (taskId: string) => request("tasks/cancel", { taskId }),
    answer: (taskId: string, inputResponses: object) => request("tasks/update", { taskId, inputResponses })
  }
})
