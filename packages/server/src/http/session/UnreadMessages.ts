/**
 * The messages of a session over HTTP between the POST that brings them and the reader of a transport that was changed.
 *
 * Owns what waits for that reader, and that an error which the reader throws ends it as a defect. A session whose peer takes its messages
 * has none of this.
 */
import * as Transport from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

type Receive = (inbound: Transport.Inbound) => void

export class UnreadMessages {
  /** Takes what arrives; undefined before the transport is read, and once the reader has failed. */
  private reader: Receive | undefined = undefined
  /** What arrived while there is no reader. */
  private unread: Array<Transport.Inbound> = []
  /** How many messages `stream` keeps for its reader. */
  private queued = 0

  /** How many messages wait. */
  get waiting(): number {
    return this.queued + this.unread.length
  }

  push(inbound: Transport.Inbound): void {
    if (this.reader === undefined) this.unread.push(inbound)
    else this.reader(inbound)
  }

  /** Calls `receive` with each message until it throws. */
  read(receive: Receive): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const { unread } = this
      this.unread = []
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
      for (const inbound of unread) this.push(inbound)
    })
  }

  /** The same as a stream, which counts what its reader has not pulled. */
  get stream(): Transport.Transport["incoming"] {
    const { incoming } = Transport.fromCallback((receive) =>
      this.read((inbound) => {
        this.queued++
        receive(inbound)
      })
    )
    return Stream.map(incoming, (inbound) => {
      this.queued--
      return inbound
    })
  }
}
