/** Both sides of guests at an endpoint: those that other nodes have of its sessions, and those that it has of theirs. */
import type { Fork } from "@effect-mcp/core/internal/Deadlines"
import type * as Clock from "effect/Clock"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Nodes } from "../../session/Nodes.ts"
import { GuestEndpoint } from "./GuestEndpoint.ts"
import { GuestLink } from "./GuestLink.ts"
import { GuestSessions } from "./GuestSessions.ts"
import { HeldGuests } from "./HeldGuests.ts"
import type { HttpSession } from "./HttpSession.ts"
import { NodeSessions } from "./NodeSessions.ts"
import type { SessionEndpoint } from "./SessionEndpoint.ts"

export interface Options {
  readonly nodes: Nodes["Service"]
  readonly server: McpServer["Service"]
  readonly clock: Clock.Clock
  readonly fork: Fork
}

export class Guests {
  private readonly options: Options
  private readonly node: NodeSessions
  private readonly link: GuestLink

  constructor(options: Options) {
    const { clock, nodes, server } = options
    this.options = options
    this.node = NodeSessions.of(nodes.directory)
    this.link = new GuestLink({ server: server.name, nodes, clock, own: () => this.node.endpoints })
  }

  /** The guests that a session will have at other nodes. */
  readonly of = (session: HttpSession): HeldGuests => {
    const { fork } = this.options
    return new HeldGuests({ session, link: this.link, fork }, session.session?.logLevel)
  }

  /** The guests that an endpoint has of sessions of other nodes, and what answers those nodes. */
  at(stateful: SessionEndpoint): { readonly sessions: GuestSessions; readonly endpoint: GuestEndpoint } {
    const { fork, nodes, server } = this.options
    const { link, node } = this
    const { config, exchanges } = stateful.options
    const sessions = new GuestSessions({ nodes, server, link, stateful, config, fork, exchanges })
    const { directory } = nodes
    return {
      sessions,
      endpoint: new GuestEndpoint({ server: server.name, directory, node, guests: sessions, exchanges })
    }
  }
}
