/** What the other nodes have to know of the sessions of an endpoint: records in the directory, for as long as a session lives. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { recordOf } from "../../dispatch/Restore.ts"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Session } from "../../session/Session.ts"
import type { NodesUnavailable, SessionDirectory, SessionRecord } from "../../session/SessionDirectory.ts"

/** A session as this module sees it. */
export interface SharedSession {
  readonly id: string
  readonly owner: string
  readonly session: Session | undefined
}

const unavailable = McpError.interrupted("The change could not be stored for the other nodes: send the request again")

/** How long the directory may take to say where a session is that ends. */
const askTimeout = "1 second"

export class SharedSessions {
  private readonly directory: SessionDirectory
  private readonly server: Pick<McpServer["Service"], "name">
  /** The sessions that ended here and may still be in the directory. */
  private readonly closing = new Set<string>()

  constructor(directory: SessionDirectory, server: Pick<McpServer["Service"], "name">) {
    this.directory = directory
    this.server = server
  }

  private write(
    { id, owner, session }: SharedSession,
    write: (id: string, record: SessionRecord) => Effect.Effect<void, NodesUnavailable>
  ): Effect.Effect<void, McpError.McpError> {
    const record = session && recordOf(this.server.name, owner, session)
    if (record === undefined) return Effect.void
    return Effect.mapError(write(id, record), () => unavailable)
  }

  /** Has every node find the session. */
  open(session: SharedSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.open(id, record))
  }

  /** Stores what changed in the session for the other nodes. */
  keep(session: SharedSession): Effect.Effect<void, McpError.McpError> {
    return this.write(session, (id, record) => this.directory.save(id, record))
  }

  /**
   * Has no node find the session; it counts as closing from the call on, before the effect runs. Gives whether this node held it: another
   * one may have taken it over.
   */
  close({ id, owner }: SharedSession): Effect.Effect<boolean> {
    this.closing.add(id)
    const located = this.directory.locate(id, { server: this.server.name, owner, takes: false })
    const held = Effect.map(Effect.option(Effect.timeout(located, askTimeout)), (found) =>
      Option.exists(found, ({ _tag }) => _tag === "Here")
    )
    return Effect.ensuring(
      Effect.tap(held, () => this.directory.close(id)),
      Effect.sync(() => this.closing.delete(id))
    )
  }

  /** Whether it ended here and may still be in the directory. */
  isClosing(id: string): boolean {
    return this.closing.has(id)
  }
}
