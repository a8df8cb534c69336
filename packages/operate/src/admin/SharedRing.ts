/** Keeps the most recent items of several owners. An owner that adds many displaces its own items first. */

interface Entry<K, A> {
  readonly owner: K
  readonly item: A
}

export class SharedRing<K, A> {
  /** Oldest first, as in `byOwner`. */
  private readonly entries = new Set<Entry<K, A>>()
  private readonly byOwner = new Map<K, Set<Entry<K, A>>>()
  private readonly capacity: number
  private readonly capacityOfOwner: number

  constructor(capacity: number, capacityOfOwner: number) {
    this.capacity = Math.max(1, capacity)
    this.capacityOfOwner = Math.max(1, Math.floor(capacityOfOwner))
  }

  push(owner: K, item: A): void {
    const { byOwner, capacity, capacityOfOwner, entries } = this
    const isFull = (byOwner.get(owner)?.size ?? 0) >= capacityOfOwner
    const displaced = isFull ? byOwner.get(owner) : entries.size >= capacity ? entries : undefined
    const [oldest] = displaced ?? []
    if (oldest !== undefined) this.remove(oldest)
    const entry = { owner, item }
    entries.add(entry)
    const own = byOwner.get(owner)
    if (own === undefined) byOwner.set(owner, new Set([entry]))
    else own.add(entry)
  }

  private remove(entry: Entry<K, A>): void {
    this.entries.delete(entry)
    const own = this.byOwner.get(entry.owner)
    own?.delete(entry)
    if (own?.size === 0) this.byOwner.delete(entry.owner)
  }

  /** Returns the owner's items, oldest first. */
  of(owner: K): ReadonlyArray<A> {
    return Array.from(this.byOwner.get(owner) ?? [], ({ item }) => item)
  }
}
