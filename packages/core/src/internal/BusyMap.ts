/**
 * A Map of entries that come and go thousands of times a second: requests in flight.
 *
 * It is made anew before V8 makes many tables for it: old tables keep entries alive for young garbage collections (`bench/NOTES.md`).
 */

/** Keys that were deleted before the Map is made anew, and at least as many as are left. */
const renewal = 512

export class BusyMap<K, V> {
  /** A single entry needs no Map. */
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

  /** The oldest entry. */
  first(): readonly [K, V] | undefined {
    if (this.alone !== undefined) return this.alone
    const next = this.map?.entries().next()
    return next?.done === false ? next.value : undefined
  }

  /** A copy of the keys, so that entries may come and go while it is read. */
  keys(): ReadonlyArray<K> {
    const others = this.map === undefined ? [] : [...this.map.keys()]
    return this.alone === undefined ? others : [this.alone[0], ...others]
  }

  /** A copy of the values, so that entries may come and go while it is read. */
  values(): ReadonlyArray<V> {
    const others = this.map === undefined ? [] : [...this.map.values()]
    return this.alone === undefined ? others : [this.alone[1], ...others]
  }
}

/** A Set of the same kind; it may change while it is iterated, which goes over a copy. */
export class BusySet<A> implements Iterable<A> {
  private readonly entries = new BusyMap<A, A>()

  add(value: A): void {
    this.entries.set(value, value)
  }

  delete(value: A): boolean {
    return this.entries.delete(value)
  }

  [Symbol.iterator](): Iterator<A> {
    return this.entries.values()[Symbol.iterator]()
  }
}
