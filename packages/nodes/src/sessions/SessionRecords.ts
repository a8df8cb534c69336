/** Keeps the records of an endpoint's sessions in the directory for as long as the sessions live. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type HeldSession, type ManagedEndpoint, recordOf } from "@effect-mcp/server/internal/sharing"
import type { NodesUnavailable, SessionDirectory, SessionRecord } from "@effect-mcp/server/Nodes"

const unavailable = McpError.interrupted("The change could not be shared with the other nodes. Send the request again")

/** How long the directory may take to locate a closing session. */
const askTimeout = "1 second"

export class SessionRecords {
  private readonly directory: SessionDirectory
  private readonly server: string
  /** Sessions that have ended here but may still be in the directory. */
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

  /** Adds the session to the directory. */
  open(session: HeldSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.open(id, record))
  }

  /** Saves the session's changes for the other nodes. */
  save(session: HeldSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.save(id, record))
  }

  /**
   * Removes the session from the directory. The session counts as closing as soon as this is called, before the effect runs. Returns true
   * if this node held it; another node may have taken it over.
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

  /** True if the session has ended here but may still be in the directory. */
  isClosing(id: string): boolean {
    return this.closing.has(id)
  }
}
