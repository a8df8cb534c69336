/**
 * This process's fibers that are waiting for a task to change.
 *
 * A waiter looks at the task, and looks again after each change. A change is reported by this process, by another process, or by polling,
 * which compares row versions.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"

/** Announced to other processes instead of an id if a task became due that any of them may claim. */
export const someTask = "*"

interface Watched {
  changed: Deferred.Deferred<void>
  waiters: number
  /** Newest version that a waiter has seen. */
  version: number | undefined
}

/** Result of one look: the awaited value, or the version in which it was still missing. */
export interface Look<A> {
  readonly version: number | undefined
  readonly found: Option.Option<A>
}

export class Changes {
  private readonly watched = new Map<string, Watched>()
  /** Open from the time a task becomes due until the next claim. */
  private readonly due = Latch.makeUnsafe(false)

  /** Tasks that fibers are waiting for. */
  get ids(): ReadonlyArray<string> {
    return [...this.watched.keys()]
  }

  /** Looks until it finds the awaited value. */
  until<A>(id: string, look: Effect.Effect<Look<A>>): Effect.Effect<A> {
    const looks = (watched: Watched): Effect.Effect<A> =>
      Effect.suspend(() => {
        // Taken before the look, so that a change during it is not missed.
        const { changed } = watched
        return Effect.flatMap(look, ({ found, version }) => {
          if (Option.isSome(found)) return Effect.succeed(found.value)
          const before = watched.version
          watched.version = version
          // Another waiter has seen an older version, and polling would consider this one known.
          if (before !== undefined && before !== version) this.changed(id)
          return Effect.andThen(Deferred.await(changed), looks(watched))
        })
      })
    return Effect.acquireUseRelease(
      Effect.sync(() => this.enter(id)),
      looks,
      (watched) =>
        Effect.sync(() => {
          if (--watched.waiters === 0) this.watched.delete(id)
        })
    )
  }

  private enter(id: string): Watched {
    const known = this.watched.get(id) ?? { changed: Deferred.makeUnsafe<void>(), waiters: 0, version: undefined }
    this.watched.set(id, known)
    known.waiters++
    return known
  }

  /** Reports that a task has changed. */
  changed(id: string): void {
    const watched = this.watched.get(id)
    if (watched === undefined) return
    const { changed } = watched
    watched.changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(changed, Effect.void)
  }

  /** Receives the current versions of awaited tasks in the store. */
  polled(rows: ReadonlyArray<{ readonly id: string; readonly version: number }>): void {
    const versions = new Map(rows.map(({ id, version }) => [id, version]))
    for (const [id, { version }] of this.watched) {
      // Also while a first look is running, because it may have read an older version.
      if (versions.get(id) !== version) this.changed(id)
    }
  }

  /** Reports that a task has become due. */
  woken(): void {
    this.due.openUnsafe()
  }

  /** Waits until a task becomes due, at most this many milliseconds. */
  dueWithin(millis: number): Effect.Effect<void> {
    return Effect.andThen(
      Effect.raceFirst(this.due.await, Effect.sleep(millis)),
      Effect.sync(() => this.due.closeUnsafe())
    )
  }
}
