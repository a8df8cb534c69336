/**
 * Events of one stream that follow each other, from when they are sent until they are written and kept: the wire and the log have the
 * same text, which is put together once.
 */
import type { Event } from "./EventStore.ts"

/** No more is added to one that is as large: what is written is copied more than once, and large copies are cleared away late. */
export const burstSize = 64 * 1024

export class Burst {
  /** The place of the first. */
  readonly first: number
  text = ""
  /** Where in the text each ends. */
  private readonly ends: Array<number> = []
  /** As much of it the log has counted: nothing where it is not there. */
  counted = 0
  private closed = false

  constructor(first: number) {
    this.first = first
  }

  /** The place of the last. */
  get last(): number {
    return this.first + this.ends.length - 1
  }

  get isOpen(): boolean {
    return !this.closed && this.text.length < burstSize
  }

  add(text: string): void {
    this.text += text
    this.ends.push(this.text.length)
  }

  /** All of it: nothing is added any more. */
  close(): string {
    if (!this.closed) {
      this.closed = true
      // V8 puts it together when it is looked into; else whoever keeps it would keep all its parts.
      this.text.charCodeAt(0)
    }
    return this.text
  }

  get events(): ReadonlyArray<Event> {
    return this.ends.map((end, at) => ({ seq: this.first + at, text: this.text.slice(this.ends[at - 1] ?? 0, end) }))
  }

  /** What comes behind a place. */
  after(seq: number): Burst {
    const rest = new Burst(seq + 1)
    for (const event of this.events) if (event.seq > seq) rest.add(event.text)
    rest.close()
    return rest
  }
}
