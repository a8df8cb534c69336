/** What several nodes of one server share: with it any node behind a plain round robin serves any request of a session. */
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
 * The other nodes of a server. Provide it to `McpServer.layer`; `@effect-mcp/nodes` has it on Postgres and on Redis. Default: the server
 * has one node.
 */
export class Nodes extends Context.Service<
  Nodes,
  {
    readonly directory: SessionDirectory
    readonly relay: Relay
    readonly bus: Bus
    /** Keeps the events of sessions, unless the endpoint has an `EventStore` of its own. */
    readonly events: EventStore["Service"]
    /** What the endpoints of a server take from it: `SessionManagers`, which share their sessions. Default: each keeps its own. */
    readonly services: Context.Context<never>
  }
>()("@effect-mcp/server/Nodes") {}
