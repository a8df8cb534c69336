/** Shares the sessions of this node's endpoints with other nodes. */
import type { SessionManagers } from "@effect-mcp/server/internal/sharing"
import * as Effect from "effect/Effect"
import { NodeSessions } from "./NodeSessions.ts"
import { relayEndpoint } from "./relayEndpoint.ts"
import { RemoteSessions } from "./RemoteSessions.ts"

export const sessionManagers = (): SessionManagers["Service"] => {
  const node = new NodeSessions()
  return {
    make: Effect.fnUntraced(function* (endpoint) {
      const manager = new RemoteSessions(endpoint, node)
      const relayed = relayEndpoint(endpoint, manager.find)
      yield* manager.hold(relayed)
      yield* endpoint.nodes.relay.serve(relayed)
      return manager
    })
  }
}
