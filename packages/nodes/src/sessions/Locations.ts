/** Remembers which nodes hold sessions, so that requests don't have to query the directory. A node that has lost a session says so. */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"

/** Maximum number of sessions to remember. */
const capacity = 10_000

export class Locations {
  /** Nodes by session ID. */
  private readonly nodes = new BoundedMap<string, string>(capacity)

  get(id: string): string | undefined {
    return this.nodes.get(id)
  }

  found(id: string, node: string): void {
    this.nodes.set(id, node)
  }

  /** Forgets a session's node, because it didn't respond for the session. */
  forget(id: string): void {
    this.nodes.delete(id)
  }
}
