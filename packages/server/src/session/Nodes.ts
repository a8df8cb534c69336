/** Services that a server's nodes share, so that a round-robin load balancer can send any request of a session to any node. */
import * as Context from "effect/Context"
import type { Bus } from "./Bus.ts"
import type { EventStore } from "./EventStore.ts"
import type { Relay } from "./Relay.ts"
import type { SessionDirectory } from "./SessionDirectory.ts"

export type { Bus } from "./Bus.ts"
export { type Relay, type RelayedRequest, type RelayedResponse, type RelayEndpoint, RelayError } from "./Relay.ts"
export {
  type Holder,
  type Located,
  NodesUnavailable,
  type Seeker,
  type SessionDirectory,
  type SessionRecord
} from "./SessionDirectory.ts"

/**
 * Connects a server to its other nodes. Provide it to `McpServer.layer`; `@effect-mcp/nodes` implements it on Postgres and Redis. By
 * default the server runs on a single node.
 */
export class Nodes extends Context.Service<
  Nodes,
  {
    readonly directory: SessionDirectory
    readonly relay: Relay
    readonly bus: Bus
    /** Stores session events, unless the endpoint has its own `EventStore`. */
    readonly events: EventStore["Service"]
    /**
     * Services for the server's endpoints, such as `SessionManagers`, which lets nodes share sessions. By default each endpoint keeps its
     * own sessions.
     */
    readonly services: Context.Context<never>
  }
>()("@effect-mcp/server/Nodes") {}
