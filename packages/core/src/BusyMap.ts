/**
 * A Map of what comes and goes thousands of times a second: requests in flight.
 *
 * V8's Maps and Sets grow by making a new table, and the old one keeps a reference to it. Once an old table has outlived a full garbage
 * collection, young collections take everything for alive that any later table ever held: each keeps all requests since, copies them,
 * and takes a hundred times as long. So the Map is made anew before many tables come of it, which cuts that chain.
 */

/** Keys that were deleted before the Map is made anew, and at least as many as are left. */
const renewal = 512

export class BusyMap<K, V> {
  private map = new Map<K, V>()
  private deleted = 0

  get(key: K): V | undefined {
    return this.map.get(key)
  }

  has(key: K): boolean {
    return this.map.has(key)
  }

  set(key: K, value: V): void {
    this.map.set(key, value)
  }

  delete(key: K): boolean {
    const had = this.map.delete(key)
    if (had && ++this.deleted >= renewal && this.deleted >= this.map.size) {
      this.map = new Map(this.map)
      this.deleted = 0
    }
    return had
  }

  get size(): number {
    return this.map.size
  }

  /** The keys that are there now, whatever comes and goes meanwhile. */
  keys(): ReadonlyArray<K> {
    return [...this.map.keys()]
  }

  /** Those that are there now, whatever comes and goes meanwhile. */
  values(): ReadonlyArray<V> {
    return [...this.map.values()]
  }
}
