/**
 * The body of one response of server-sent events: writes what its source has, and a comment after each silence that is too long.
 *
 * Owns the wait. On `node:http` a body that waits is one callback (`drive`); for other platforms it is a Stream (`stream`), which costs
 * a fiber and some KiB.
 */
import { DeadlineQueue, type Fork } from "@effect-mcp/core/internal/Deadlines"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { bytesOf } from "../../internal/bytesOf.ts"

type Pull = Effect.Effect<readonly [Uint8Array], Cause.Done>
const keepAliveComment = ": keep-alive\n\n"
const pullComment: Pull = Effect.succeed([bytesOf(keepAliveComment)])

/** What a body writes. */
export interface EventSource {
  /** Removes the text that the body writes next; empty where nothing waits. What was taken before has been written. */
  take(body: SseBody): string
  /** Whether no event will follow those that wait. */
  readonly ended: boolean
  /** Whether no event waits. */
  readonly isEmpty: boolean
}

/** A response that is written to directly. */
interface Outlet {
  /** `false` where there is no room for more, as for Node's pipes. A replaced `write` of middleware may return nothing. */
  readonly write: (text: string) => unknown
  readonly end: () => void
  /** Cuts the response off. */
  readonly destroy: () => void
}

/** The timer by which all bodies of an endpoint send comments. */
export type KeepAliveTimer = DeadlineQueue<SseBody>

/** `every`: 0 is never. `fork` runs an effect in the scope of the endpoint. */
export const keepAliveTimer = (every: Duration.Input, clock: Clock.Clock, fork: Fork): KeepAliveTimer =>
  new DeadlineQueue(Duration.toMillis(Duration.fromInputUnsafe(every)) || Infinity, clock, fork, (body) =>
    body.overdue()
  )

export class SseBody {
  /** Written before anything of the source; empty once it was. */
  prefix = ""
  /** Called with what is written, where that is observed. */
  written: ((text: string) => void) | undefined = undefined
  private readonly source: EventSource
  /** Written at the end; once it is set, the source keeps the rest for another body. */
  private suffix: string | undefined = undefined
  /** Whether nothing is written any more. */
  private done = false
  /** Continues to write; undefined while it does not wait. `true`: with a comment, since the silence was too long. */
  private resume: ((overdue: boolean) => void) | undefined = undefined
  /** Holds this body while `resume` is set; undefined before the first wait. */
  private keepAlive: KeepAliveTimer | undefined = undefined

  constructor(source: EventSource) {
    this.source = source
  }

  /** Ends the body, with a last text; the source lives on. Only the first call counts. */
  close(suffix: string): void {
    this.suffix ??= suffix
    this.wake()
  }

  /** Called when the source has more, or has ended. Runs on after this turn, so that events of one turn are one write. */
  wake(): void {
    const { resume } = this
    if (resume === undefined) return
    this.resume = undefined
    queueMicrotask(() => {
      resume(false)
      // Most bodies wait again at once, which starts their deadline anew.
      if (this.resume === undefined) this.keepAlive?.remove(this)
    })
  }

  /** Called by the timer, which has forgotten this body. */
  overdue(): void {
    const { resume } = this
    this.resume = undefined
    resume?.(true)
  }

  private wait(keepAlive: KeepAliveTimer, resume: (overdue: boolean) => void): void {
    this.keepAlive = keepAlive
    this.resume = resume
    keepAlive.add(this)
  }

  /** The text that is written next: empty where it has to wait, undefined at the end. */
  private next(): string | undefined {
    if (this.done) return undefined
    const { source, suffix } = this
    const text = this.prefix + source.take(this) + (suffix ?? "")
    this.prefix = ""
    this.done = suffix !== undefined || (source.ended && source.isEmpty)
    if (text !== "") this.written?.(text)
    return text === "" && this.done ? undefined : text
  }

  /**
   * Writes the body to one response. The result is to be called when the response has room again. A response that ends otherwise has to
   * end the source. Where `write` throws, the response is cut off, and `failed` is called with the error.
   */
  drive(keepAlive: KeepAliveTimer, outlet: Outlet, failed: (defect: unknown) => void): () => void {
    const run = (overdue: boolean): void => {
      // Room may be reported while a microtask of `wake` is about to run.
      this.resume = undefined
      try {
        let hasRoom = !overdue || outlet.write(keepAliveComment) !== false
        while (hasRoom) {
          const text = this.next()
          if (text === undefined) return outlet.end()
          if (text === "") return this.wait(keepAlive, run)
          hasRoom = outlet.write(text) !== false
        }
      } catch (defect) {
        outlet.destroy()
        failed(defect)
      }
    }
    run(false)
    return () => {
      // A body that waits for its source is not out of room.
      if (this.resume === undefined) run(false)
    }
  }

  /** The same for one response of another platform. Little is made before it runs: it may never. */
  stream(keepAlive: KeepAliveTimer): Stream.Stream<Uint8Array> {
    return Stream.fromPull(Effect.sync(() => this.pulled(keepAlive)))
  }

  private pulled(keepAlive: KeepAliveTimer): Pull {
    const pull = Effect.suspend((): Pull => {
      const text = this.next()
      if (text === undefined) return Cause.done()
      return text === "" ? wait : Effect.succeed([bytesOf(text)])
    })
    const wait: Pull = Effect.callback((resume) =>
      this.wait(keepAlive, (overdue) => resume(overdue ? pullComment : pull))
    )
    return pull
  }
}
