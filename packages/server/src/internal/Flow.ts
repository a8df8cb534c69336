/**
 * The body of a response of server-sent events: what there is as soon as it is there, and a comment whenever nothing was for as long as
 * the endpoint's `Pulse` has it.
 *
 * Owns the wait. A stream that waits is little more than the fiber of its response, since there may be many of them.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { bytesOf } from "./bytesOf.ts"
import type { Pulse, Waiting } from "./Pulse.ts"

type Part = readonly [Uint8Array]
type Pull = Effect.Effect<Part, Cause.Done>
const comment: Pull = Effect.succeed([bytesOf(": keep-alive\n\n")])

export abstract class Flow implements Waiting {
  private pulse: Pulse | undefined = undefined
  private pull: Pull = Effect.never
  private resume: ((pull: Pull) => void) | undefined = undefined

  /** What is written next: nothing yet where it is empty, nothing any more where it is undefined. */
  protected abstract next(): string | undefined

  /** There is something to write, or the end has come. It is looked at when this turn is over: events of one turn are one write. */
  wake(): void {
    const { pull, resume } = this
    if (resume === undefined) return
    this.resume = undefined
    queueMicrotask(() => {
      resume(pull)
      // Most wait again at once.
      if (this.resume === undefined) this.pulse?.remove(this)
    })
  }

  overdue(): void {
    const { resume } = this
    this.resume = undefined
    resume?.(comment)
  }

  /** For one response. Whoever it is for has to be told of its end by `wake`. */
  body(pulse: Pulse): Stream.Stream<Uint8Array> {
    this.pulse = pulse
    this.pull = Effect.suspend((): Pull => {
      const text = this.next()
      if (text === undefined) return Cause.done()
      return text === "" ? this.wait : Effect.succeed([bytesOf(text)])
    })
    return Stream.fromPull(Effect.succeed(this.pull))
  }

  private get wait(): Pull {
    return Effect.callback((resume) => {
      this.resume = resume
      this.pulse?.add(this)
    })
  }
}
