/** Remembers the nodes that hold sessions, so that a request need not ask the directory. A node that has lost a session says so itself. */

/** Sessions that are remembered. */
const capacity = 10_000

export class Locations {
  /** The node of a session, by its id; the one that was found longest ago first. */
  private readonly nodes = new Map<string, string>()

  get(id: string): string | undefined {
    return this.nodes.get(id)
  }

  found(id: string, node: string): void {
    this.nodes.delete(id)
    this.nodes.set(id, node)
    if (this.nodes.size <= capacity) return
    for (const oldest of this.nodes.keys()) {
      this.nodes.delete(oldest)
      return
    }
  }

  /** The node did not answer for it. */
  forget(id: string): void {
    this.nodes.delete(id)
  }
}
