/**
 * Values in the order in which they were added, of which the first is asked for again and again.
 *
 * A Set looks for its first value from its beginning on, past all that was deleted there; this one begins at the value before. With
 * thousands of ended tasks it was a tenth of what a new one cost (`bench/NOTES.md`).
 */
export class InOrder<A> {
  private readonly values = new Set<A>()
  private rest: SetIterator<A> | undefined = undefined
  private last: A | undefined = undefined

  get size(): number {
    return this.values.size
  }

  add(value: A): void {
    this.values.add(value)
  }

  delete(value: A): boolean {
    if (value === this.last) this.last = undefined
    return this.values.delete(value)
  }

  get first(): A | undefined {
    if (this.last !== undefined) return this.last
    // An iterator that has come to its end gives nothing that is added later.
    if (this.values.size === 0) this.rest = undefined
    else this.last = (this.rest ??= this.values.values()).next().value
    return this.last
  }
}
