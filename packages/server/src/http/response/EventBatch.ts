/**
 * Consecutive events of one stream, from when they are sent until they are written and kept: the wire and the log share one text.
 */

/** Length from which a batch is closed: a larger write is copied more than once, and large copies are collected late. */
export const batchSize = 64 * 1024

/** An event that was sent. */
export interface NumberedEvent {
  /** Its place in its stream: from 0, without gaps. */
  readonly seq: number
  /** The whole event as it is written, its `id` field included. */
  readonly text: string
}

export class EventBatch {
  /** The place of the first event. */
  readonly first: number
  /** The events, joined. Only grows, and not after `close`. */
  text = ""
  /** Where in `text` each event ends, ascending. */
  private readonly ends: Array<number> = []
  /** How much of `text` the log has counted as waiting to be kept; 0 where the batch is not in the log. */
  counted = 0
  /** Whether `text` is final. */
  private closed = false

  constructor(first: number) {
    this.first = first
  }

  /** The place of the last event. */
  get last(): number {
    return this.first + this.ends.length - 1
  }

  /** Whether an event may be added. */
  get isOpen(): boolean {
    return !this.closed && this.text.length < batchSize
  }

  add(text: string): void {
    this.text += text
    this.ends.push(this.text.length)
  }

  /** The final text: no event is added from now on. */
  close(): string {
    if (!this.closed) {
      this.closed = true
      // Joins the parts of the string: kept unjoined, all of them stay alive.
      this.text.charCodeAt(0)
    }
    return this.text
  }

  get events(): ReadonlyArray<NumberedEvent> {
    return this.ends.map((end, at) => ({ seq: this.first + at, text: this.text.slice(this.ends[at - 1] ?? 0, end) }))
  }

  /** The events after a place, as a batch of their own. */
  after(seq: number): EventBatch {
    const rest = new EventBatch(seq + 1)
    for (const event of this.events) if (event.seq > seq) rest.add(event.text)
    rest.close()
    return rest
  }
}
