/** The records that other nodes need of the sessions of an endpoint, kept in the directory for as long as a session lives. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type HeldSession, type ManagedEndpoint, recordOf } from "@effect-mcp/server/internal/sharing"
import type { NodesUnavailable, SessionDirectory, SessionRecord } from "@effect-mcp/server/Nodes"

const unavailable = McpError.interrupted("The change could not be stored for the other nodes: send the request again")

/** How long the directory may take to locate a session that ends. */
const askTimeout = "1 second"

export class SessionRecords {
  private readonly directory: SessionDirectory
  private readonly server: string
  /** The sessions that ended here and may still be in the directory. */
  private readonly closing = new Set<string>()

  constructor({ nodes, server }: Pick<ManagedEndpoint, "nodes" | "server">) {
    this.directory = nodes.directory
    this.server = server.name
  }

  private write(
    { id, owner, session }: HeldSession,
    write: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  ): Effect.Effect<void, McpError.McpError> {
    const record = session && recordOf(this.server, owner, session)
    if (record === undefined) return Effect.void
    return Effect.mapError(write(id, record), () => unavailable)
  }

  /** Has every node find the session. */
  open(session: HeldSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.open(id, record))
  }

  /** Stores what changed in the session for the other nodes. */
  save(session: HeldSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.save(id, record))
  }

  /**
   * Has no node find the session; it counts as closing from the call on, before the effect runs. Gives whether this node held it: another
   * one may have taken it over.
   */
  close({ id, owner }: HeldSession): Effect.Effect<boolean> {
    this.closing.add(id)
    const located = this.directory.locate(id, { server: this.server, owner, takes: false })
    const held = Effect.map(Effect.option(Effect.timeout(located, askTimeout)), (found) =>
      Option.exists(found, ({ _tag }) => _tag === "Here")
    )
    return Effect.ensuring(
      Effect.tap(held, () => this.directory.close(id)),
      Effect.sync(() => this.closing.delete(id))
    )
  }

  /** True if it ended here and may still be in the directory. */
  isClosing(id: string): boolean {
    return this.closing.has(id)
  }
}
