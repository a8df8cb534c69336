/**
 * The body of a response of server-sent events: what there is as soon as it is there, and a comment whenever nothing was for as long as
 * the endpoint's `Pulse` has it.
 *
 * Owns the wait. There may be many that wait: where there is a response to write to (Node's), one that waits is a callback and nothing
 * else; a Stream, for all other platforms, is a fiber and some KiB of its own.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { bytesOf } from "../../internal/bytesOf.ts"
import type { Pulse, Waiting } from "./KeepAliveTimer.ts"

type Part = readonly [Uint8Array]
type Pull = Effect.Effect<Part, Cause.Done>
const alive = ": keep-alive\n\n"
const comment: Pull = Effect.succeed([bytesOf(alive)])

/** A response that is written to directly. */
export interface Outlet {
  /** `false`: there is no room for more. Nothing else is, as for Node's own pipes: what others have made of it may return nothing. */
  readonly write: (text: string) => unknown
  readonly end: () => void
  /** Cuts it off. */
  readonly destroy: () => void
}

export abstract class Flow implements Waiting {
  private pulse: Pulse | undefined = undefined
  /** Goes on, if it waits: with what there is, or with a comment. */
  private resume: ((overdue: boolean) => void) | undefined = undefined

  /** What is written next: nothing yet where it is empty, nothing any more where it is undefined. */
  protected abstract next(): string | undefined

  /** There is something to write, or the end has come. It is looked at when this turn is over: events of one turn are one write. */
  wake(): void {
    const { resume } = this
    if (resume === undefined) return
    this.resume = undefined
    queueMicrotask(() => {
      resume(false)
      // Most wait again at once.
      if (this.resume === undefined) this.pulse?.remove(this)
    })
  }

  overdue(): void {
    const { resume } = this
    this.resume = undefined
    resume?.(true)
  }

  private wait(pulse: Pulse, resume: (overdue: boolean) => void): void {
    this.pulse = pulse
    this.resume = resume
    pulse.add(this)
  }

  /**
   * Writes all of it to one response. What it returns is to be called when there is room again. Whoever it is for has to be told of its
   * end by `wake`. What others have made of `write` may throw: nobody is there to catch it, so the response is cut off, and `failed` told.
   */
  drive(pulse: Pulse, outlet: Outlet, failed: (defect: unknown) => void): () => void {
    const run = (overdue: boolean): void => {
      // There may have been room again before it was told to go on.
      this.resume = undefined
      try {
        let hasRoom = !overdue || outlet.write(alive) !== false
        while (hasRoom) {
          const text = this.next()
          if (text === undefined) return outlet.end()
          if (text === "") return this.wait(pulse, run)
          hasRoom = outlet.write(text) !== false
        }
      } catch (defect) {
        outlet.destroy()
        failed(defect)
      }
    }
    run(false)
    return () => {
      // It may not have been out of room at all.
      if (this.resume === undefined) run(false)
    }
  }

  /** The same as a stream, for one response. Little is made before it runs: it may never. */
  body(pulse: Pulse): Stream.Stream<Uint8Array> {
    return Stream.fromPull(Effect.sync(() => this.pulled(pulse)))
  }

  private pulled(pulse: Pulse): Pull {
    const pull = Effect.suspend((): Pull => {
      const text = this.next()
      if (text === undefined) return Cause.done()
      return text === "" ? wait : Effect.succeed([bytesOf(text)])
    })
    const wait: Pull = Effect.callback((resume) => this.wait(pulse, (overdue) => resume(overdue ? comment : pull)))
    return pull
  }
}
