/**
 * Draining, which lets an operator wind down a server. New sessions and requests without a session are rejected, running requests may
 * finish, and then the endpoints end. It does not stop the program; the code that runs the server decides that once the drain is over.
 */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import type { Session } from "./Session.ts"

/** Interval between checks for running requests, in milliseconds. */
const look = 100

export interface Options {
  readonly sessions: ReadonlySet<Session>
  /** Returns true if any request without a session is running. */
  readonly isBusy: () => boolean
  /** Called when the drain begins. */
  readonly begins: () => void
  readonly fork: (effect: Effect.Effect<void>) => void
}

export class Drain {
  /** True once the drain has begun. */
  isDraining = false
  private readonly options: Options
  private readonly ends = new Set<Effect.Effect<void>>()
  private readonly done = Deferred.makeUnsafe<void>()

  constructor(options: Options) {
    this.options = options
  }

  /** Completes after a drain, once no session is open. */
  readonly over: Effect.Effect<void> = Effect.suspend(() => Deferred.await(this.done))

  /** Adds an effect that gracefully ends an endpoint's sessions. It stays added until the scope closes. */
  endBy(end: Effect.Effect<void>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => void this.ends.add(end)),
      () => Effect.sync(() => this.ends.delete(end))
    )
  }

  /** Begins the drain and returns immediately. Returns false if it had already begun. `patience` is how long requests may keep running. */
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
      // oxlint-disable-next-line unicorn/no-accessor-recursion -- it checks again after a pause
      return runs ? Effect.andThen(Effect.sleep(look), this.idle) : Effect.void
    })
  }

  /** Endpoints end the sessions that they opened. Sessions with their own transport are ended here. */
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
