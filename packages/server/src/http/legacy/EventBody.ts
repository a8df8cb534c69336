/**
 * The body of a response that lasts as long as its session: what an outbox writes, as server-sent events.
 *
 * Holds one turn of the outbox at most. The outbox has its bytes back only once the wire asks for more, so a slow reader is counted
 * there, and nowhere else.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import { Flow } from "../response/SseBody.ts"

const prefix = "event: message\ndata: "

/** Messages, a line of JSON each, as events. */
const eventsOf = (lines: string): string => `${prefix}${lines.slice(0, -1).replaceAll("\n", `\n\n${prefix}`)}\n\n`

export class EventBody extends Flow {
  private text: string
  /** Whether the wire has what it was given last, and has not asked for more. */
  private given = false
  private ended = false
  private readonly taken = Latch.makeUnsafe(false)

  /** `first`: the event that comes before all messages. */
  constructor(first: { readonly event: string; readonly data: string }) {
    super()
    this.text = `event: ${first.event}\ndata: ${first.data}\n\n`
  }

  /** For an outbox. */
  readonly write = (outgoing: Stream.Stream<string>): Effect.Effect<void> =>
    Effect.ensuring(
      Stream.runForEach(outgoing, (lines) =>
        Effect.suspend(() => {
          if (this.ended) return Effect.void
          this.text += eventsOf(lines)
          this.taken.closeUnsafe()
          this.wake()
          return this.taken.await
        })
      ),
      Effect.sync(() => this.end())
    )

  /** Nothing will follow; what was not taken yet still may be. */
  end(): void {
    this.ended = true
    this.wake()
    this.taken.openUnsafe()
  }

  protected override next(): string | undefined {
    if (this.given) {
      this.given = false
      this.taken.openUnsafe()
    }
    const { text } = this
    if (text === "" && this.ended) return undefined
    this.text = ""
    this.given = text !== ""
    return text
  }
}
