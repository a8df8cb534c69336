/**
 * A Map for entries that are added and removed thousands of times per second, such as requests in flight.
 *
 * It is recreated before V8 has to allocate many tables for it, because old tables keep entries alive across minor garbage collections
 * (`bench/NOTES.md`).
 */

/** Number of deleted keys after which the Map is recreated, as long as no more keys than that are left. */
const renewal = 512

export class BusyMap<K, V> {
  /** A single entry doesn't need a Map. */
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

  /** Returns the oldest entry. */
  first(): readonly [K, V] | undefined {
    if (this.alone !== undefined) return this.alone
    const next = this.map?.entries().next()
    return next?.done === false ? next.value : undefined
  }

  /** Returns a copy of the keys, so that entries can be added and removed while iterating. */
  keys(): ReadonlyArray<K> {
    const others = this.map === undefined ? [] : [...this.map.keys()]
    return this.alone === undefined ? others : [this.alone[0], ...others]
  }

  /** Returns a copy of the values, so that entries can be added and removed while iterating. */
  values(): ReadonlyArray<V> {
    const others = this.map === undefined ? [] : [...this.map.values()]
    return this.alone === undefined ? others : [this.alone[1], ...others]
  }
}

/** A Set based on `BusyMap`. It can be changed while iterating, because iteration uses a copy. */
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
