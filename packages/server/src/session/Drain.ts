/**
 * The end of a server that an operator asks for: no new session and no request without one is let in, what runs may end, then the endpoints
 * end. The shutdown of the program is not a part of it: what runs the server decides on that once it is over.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { Session } from "./Session.ts"

/** How often requests that run are looked at, in milliseconds. */
const look = 100

export interface Options {
  readonly sessions: ReadonlySet<Session>
  /** Whether a request without a session runs. */
  readonly isBusy: () => boolean
  /** Called when it begins. */
  readonly begins: () => void
  readonly fork: (effect: Effect.Effect<void>) => void
}

export class Drain {
  /** Whether it has begun; never false again. */
  isDraining = false
  private readonly options: Options
  private readonly ends = new Set<Effect.Effect<void>>()
  private readonly done = Deferred.makeUnsafe<void>()

  constructor(options: Options) {
    this.options = options
  }

  /** Completes once no session is open, after a drain. */
  readonly over: Effect.Effect<void> = Effect.suspend(() => Deferred.await(this.done))

  /** Adds what ends the sessions of an endpoint in order, for as long as the scope. */
  endBy(end: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => void this.ends.add(end)),
      () => Effect.sync(() => this.ends.delete(end))
    )
  }

  /** Returns at once; false where it had begun already. `patience`: how long requests may still run. */
  begin(patience: Duration.Input): Effect.Effect<boolean> {
    return Effect.sync(() => {
      if (this.isDraining) return false
      this.isDraining = true
      const { begins, fork } = this.options
      begins()
      fork(Effect.andThen(Effect.timeoutOption(this.idle, patience), this.end))
      return true
    })
  }

  private get idle(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { isBusy, sessions } = this.options
      const runs = isBusy() || [...sessions].some(({ peer }) => peer.open().some((request) => !request.isSubscription))
      // oxlint-disable-next-line unicorn/no-accessor-recursion -- it looks again after a pause
      return runs ? Effect.andThen(Effect.sleep(look), this.idle) : Effect.void
    })
  }

  /** Endpoints end the sessions that they opened; those with a transport of their own are ended here. */
  private get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { sessions } = this.options
      const own = [...sessions].map((session) => session.end)
      const all = Effect.forEach([...this.ends, ...own], (end) => Effect.exit(end), {
        concurrency: "unbounded",
        discard: true
      })
      return Effect.ensuring(all, Deferred.done(this.done, Exit.void))
    })
  }
}
