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
  /** What is there alone, as what is done at once is, needs no Map. */
  private alone: readonly [K, V] | undefined = undefined
  private map: Map<K, V> | undefined = undefined
  private deleted = 0

  get(key: K): V | undefined {
    return this.alone?.[0] === key ? this.alone[1] : this.map?.get(key)
  }

  has(key: K): boolean {
    return this.alone?.[0] === key || this.map?.has(key) === true
  }

  set(key: K, value: V): void {
    if (this.alone?.[0] === key || this.size === 0) this.alone = [key, value]
    else (this.map ??= new Map()).set(key, value)
  }

  delete(key: K): boolean {
    if (this.alone?.[0] === key) {
      this.alone = undefined
      return true
    }
    if (this.map?.delete(key) !== true) return false
    if (++this.deleted >= renewal && this.deleted >= this.map.size) {
      this.map = new Map(this.map)
      this.deleted = 0
    }
    return true
  }

  get size(): number {
    return (this.alone === undefined ? 0 : 1) + (this.map?.size ?? 0)
  }

  /** The keys that are there now, whatever comes and goes meanwhile. */
  keys(): ReadonlyArray<K> {
    const others = this.map === undefined ? [] : [...this.map.keys()]
    return this.alone === undefined ? others : [this.alone[0], ...others]
  }

  /** Those that are there now, whatever comes and goes meanwhile. */
  values(): ReadonlyArray<V> {
    const others = this.map === undefined ? [] : [...this.map.values()]
    return this.alone === undefined ? others : [this.alone[1], ...others]
  }
}
