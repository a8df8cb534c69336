/**
 * A `Map` with at most `capacity` entries. When it is full, `set` drops the entry that was added first. Reading an
 * entry doesn't refresh it.
 */
export class BoundedMap<K, V> extends Map<K, V> {
  private readonly capacity: number
  private readonly dropped: (value: V) => void

  constructor(capacity: number, dropped: (value: V) => void = () => {}) {
    super()
    this.capacity = capacity
    this.dropped = dropped
  }

  override set(key: K, value: V): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.capacity) this.dropOldest()
    return this
  }

  private dropOldest(): void {
    for (const [key, value] of this) {
      this.delete(key)
      return this.dropped(value)
    }
  }
}
