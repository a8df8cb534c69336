/**
 * Consecutive events in one stream, from sending until they are written and stored, so that the wire and the log share
 * one string.
 */

/** Length at which a batch is closed: a larger write is copied more than once, and large copies are garbage-collected late. */
export const batchSize = 64 * 1024

/** An event that was sent. */
interface NumberedEvent {
  /** Position in its stream: from 0, without gaps. */
  readonly seq: number
  /** The complete event as written, including its `id` field. */
  readonly text: string
}

export class EventBatch {
  /** Position of the first event. */
  readonly first: number
  /** The events, joined. Only grows, and not after `close`. */
  text = ""
  /** Offsets in `text` at which the events end, ascending. */
  private readonly ends: Array<number> = []
  /** Length of the part of `text` that the log counts as waiting to be stored. 0 if the batch is not in the log. */
  counted = 0
  /** True if `text` is final. */
  private closed = false

  constructor(first: number) {
    this.first = first
  }

  /** Position of the last event. */
  get last(): number {
    return this.first + this.ends.length - 1
  }

  /** True if events may be added. */
  get isOpen(): boolean {
    return !this.closed && this.text.length < batchSize
  }

  add(text: string): void {
    this.text += text
    this.ends.push(this.text.length)
  }

  /** Closes the batch and returns its final text. */
  close(): string {
    if (!this.closed) {
      this.closed = true
      // Flattens the string: otherwise all of its parts stay alive.
      this.text.charCodeAt(0)
    }
    return this.text
  }

  get events(): ReadonlyArray<NumberedEvent> {
    return this.ends.map((end, at) => ({ seq: this.first + at, text: this.text.slice(this.ends[at - 1] ?? 0, end) }))
  }

  /** Returns the events after a position, as a new batch. */
  after(seq: number): EventBatch {
    const rest = new EventBatch(seq + 1)
    for (const event of this.events) if (event.seq > seq) rest.add(event.text)
    rest.close()
    return rest
  }
}
