/** Keeps the most recent items of several owners. When it is full, owners with more than their share lose items first. */

interface Entry<K, A> {
  readonly owner: K
  readonly item: A
}

export class SharedRing<K, A> {
  /** Oldest first, as in `byOwner`. */
  private readonly entries = new Set<Entry<K, A>>()
  private readonly byOwner = new Map<K, Set<Entry<K, A>>>()
  /** Entries of the owners that have more than their share. */
  private readonly greedy = new Set<Set<Entry<K, A>>>()
  private readonly capacity: number
  private readonly share: number

  /** `share` is the number of items that an owner keeps although others add more. */
  constructor(capacity: number, share: number) {
    this.capacity = Math.max(1, capacity)
    this.share = Math.max(1, Math.floor(share))
  }

  push(owner: K, item: A): void {
    const { byOwner, capacity, entries, greedy, share } = this
    if (entries.size >= capacity) {
      const own = byOwner.get(owner)
      const [most = entries] = greedy
      const [oldest] = own !== undefined && own.size >= share ? own : most
      if (oldest !== undefined) this.remove(oldest)
    }
    const entry = { owner, item }
    entries.add(entry)
    const own = byOwner.get(owner) ?? new Set()
    byOwner.set(owner, own.add(entry))
    if (own.size > share) greedy.add(own)
  }

  private remove(entry: Entry<K, A>): void {
    this.entries.delete(entry)
    const own = this.byOwner.get(entry.owner)
    if (own === undefined) return
    own.delete(entry)
    if (own.size <= this.share) this.greedy.delete(own)
    if (own.size === 0) this.byOwner.delete(entry.owner)
  }

  /** Returns the owner's items, oldest first. */
  of(owner: K): ReadonlyArray<A> {
    return Array.from(this.byOwner.get(owner) ?? [], ({ item }) => item)
  }
}
