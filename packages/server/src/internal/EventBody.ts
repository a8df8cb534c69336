/**
 * The body of a response that lasts as long as its session: what an outbox writes, as server-sent events.
 *
 * Holds one turn of the outbox at most. The outbox has its bytes back only once the wire asks for more, so a slow reader is counted
 * there, and nowhere else.
 */
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

const encoder = new TextEncoder()
const comment = encoder.encode(": keep-alive\n\n")
const prefix = "event: message\ndata: "

/** Messages, a line of JSON each, as events. */
const eventsOf = (lines: string): string => `${prefix}${lines.slice(0, -1).replaceAll("\n", `\n\n${prefix}`)}\n\n`

export class EventBody {
  private text: string
  /** Whether the wire has what it was given last, and has not asked for more. */
  private given = false
  private ended = false
  private readonly said = Latch.makeUnsafe(true)
  private readonly taken = Latch.makeUnsafe(false)

  /** `first`: the event that comes before all messages. */
  constructor(first: { readonly event: string; readonly data: string }) {
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
          this.said.openUnsafe()
          return this.taken.await
        })
      ),
      Effect.sync(() => this.end())
    )

  /** Nothing will follow; what was not taken yet still may be. */
  end(): void {
    this.ended = true
    this.said.openUnsafe()
    this.taken.openUnsafe()
  }

  /** A comment comes whenever nothing else did for as long as `keepAlive`. */
  stream(keepAlive: Duration.Input): Stream.Stream<Uint8Array> {
    const waited = Effect.timeoutOption(this.said.await, keepAlive)
    const pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
      if (this.given) {
        this.given = false
        this.taken.openUnsafe()
      }
      if (this.text !== "") {
        const bytes = encoder.encode(this.text)
        this.text = ""
        this.given = true
        return Effect.succeed([bytes] as const)
      }
      if (this.ended) return Cause.done()
      this.said.closeUnsafe()
      return Effect.flatMap(waited, (woken) => (Option.isSome(woken) ? pull : Effect.succeed([comment] as const)))
    })
    return Stream.fromPull(Effect.succeed(pull))
  }
}
