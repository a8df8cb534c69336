/**
 * The messages of a session over HTTP between the POST that brings them and the server, which reads them like those of any transport.
 *
 * Owns what waits for the reader, and that an error which the reader throws ends it as a defect.
 */
import * as Transport from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

type Receive = (inbound: Transport.Inbound) => void

export class UnreadMessages {
  /** Takes what arrives; undefined before the transport is read, and once the reader has failed. */
  private reader: Receive | undefined = undefined
  /** What arrived while there is no reader; undefined while nothing did. */
  private unread: Array<Transport.Inbound> | undefined = undefined
  /** How many messages the stream keeps for its reader. */
  private queued = 0

  /** How many messages wait. */
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
          // What arrives from now on is answered by the end of the session.
          this.reader = undefined
          resume(Effect.die(defect))
        }
      }
      this.reader = reader
      for (const inbound of unread ?? []) this.push(inbound)
    })
  }

  /** The messages as they come; as a stream, which counts those that its reader has not pulled, for a transport that was changed. */
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
