/** Keeps the most recent items, up to a capacity, without moving any. */
export class Ring<A> {
  private readonly items: Array<A> = []
  private readonly capacity: number
  private next = 0

  constructor(capacity: number) {
    this.capacity = Math.max(1, capacity)
  }

  push(item: A): void {
    this.items[this.next] = item
    this.next = (this.next + 1) % this.capacity
  }

  /** Returns the items, oldest first. */
  all(): ReadonlyArray<A> {
    return this.items.length < this.capacity
      ? this.items
      : [...this.items.slice(this.next), ...this.items.slice(0, this.next)]
  }
}
