/**
 * Values in the order in which they were added, of which the first is asked for again and again.
 *
 * A value holds its neighbours. Sets of thousands of ended tasks took more: a hash and a place in a table for each, and their first value
 * lies past all that was deleted (`bench/NOTES.md`).
 */
export interface InList<A extends InList<A>> {
  /** Where it is; undefined where it is in none. */
  list: InOrder<A> | undefined
  before: A | undefined
  after: A | undefined
}

export class InOrder<A extends InList<A>> {
  private head: A | undefined = undefined
  private tail: A | undefined = undefined
  private count = 0

  get size(): number {
    return this.count
  }

  get first(): A | undefined {
    return this.head
  }

  /** Does nothing for a value that is in a list. */
  add(value: A): void {
    if (value.list !== undefined) return
    const { tail } = this
    value.list = this
    value.before = tail
    if (tail === undefined) this.head = value
    else tail.after = value
    this.tail = value
    this.count++
  }

  /** False for a value that is not here. */
  delete(value: A): boolean {
    if (value.list !== this) return false
    const { after, before } = value
    if (before === undefined) this.head = after
    else before.after = after
    if (after === undefined) this.tail = before
    else after.before = before
    // One that is collected late would keep its neighbours until then, and they theirs.
    value.list = undefined
    value.before = undefined
    value.after = undefined
    this.count--
    return true
  }
}
