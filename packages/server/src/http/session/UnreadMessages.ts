/**
 * An HTTP session's messages, between the POSTs that bring them and the server, which reads them like any transport's messages.
 *
 * Owns the messages waiting for the reader, and turns an error that the reader throws into a defect.
 */
import * as Transport from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

type Receive = (inbound: Transport.Inbound) => void

export class UnreadMessages {
  /** Receives the messages. `undefined` before the transport is read, and after the reader has failed. */
  private reader: Receive | undefined = undefined
  /** Messages that arrived without a reader, or `undefined` if there were none. */
  private unread: Array<Transport.Inbound> | undefined = undefined
  /** Number of messages that the stream is holding for its reader. */
  private queued = 0

  /** Number of waiting messages. */
  get waiting(): number {
    return this.queued + (this.unread?.length ?? 0)
  }

  push(inbound: Transport.Inbound): void {
    if (this.reader === undefined) (this.unread ??= []).push(inbound)
    else this.reader(inbound)
  }

  /** Calls `receive` with each message until it throws. */
  private read(receive: Receive): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const { unread } = this
      this.unread = undefined
      const reader: Receive = (inbound) => {
        try {
          receive(inbound)
        } catch (defect) {
          // Messages that arrive from now on are answered when the session ends.
          this.reader = undefined
          resume(Effect.die(defect))
        }
      }
      this.reader = reader
      for (const inbound of unread ?? []) this.push(inbound)
    })
  }

  /**
   * Delivers the messages directly, or as a stream for a customized transport; the stream counts messages that its reader has not pulled.
   */
  get source(): Pick<Transport.Transport, "delivery" | "incoming"> {
    const { incoming: queue } = Transport.fromCallback((receive) =>
      this.read((inbound) => {
        this.queued++
        receive(inbound)
      })
    )
    const incoming: Transport.Transport["incoming"] = Stream.map(queue, (inbound) => {
      this.queued--
      return inbound
    })
    return { incoming, delivery: { stream: incoming, run: (receive) => this.read(receive) } }
  }
}
