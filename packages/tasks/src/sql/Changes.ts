/**
 * Fibers of this process that wait for a change of a task.
 *
 * A waiter looks at the task, and looks again after each change. This process made it, another process announced it, or the poll of the store
 * has seen it by the version of the row.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"

/** What other processes are told instead of an id: a task became due that any of them may claim. */
export const someTask = "*"

interface Watched {
  changed: Deferred.Deferred<void>
  waiters: number
  /** The newest version that a waiter has seen. */
  version: number | undefined
}

/** What a waiter has seen: what it waits for, or the version in which it was not there yet. */
export interface Look<A> {
  readonly version: number | undefined
  readonly found: Option.Option<A>
}

export class Changes {
  private readonly watched = new Map<string, Watched>()
  /** Open since a task became due, until the next claim. */
  private readonly due = Latch.makeUnsafe(false)

  /** The tasks that are waited for. */
  get ids(): ReadonlyArray<string> {
    return [...this.watched.keys()]
  }

  /** Looks until it finds what it waits for. */
  until<A>(id: string, look: Effect.Effect<Look<A>>): Effect.Effect<A> {
    const looks = (watched: Watched): Effect.Effect<A> =>
      Effect.suspend(() => {
        // Taken before the look: a change during it is not missed.
        const { changed } = watched
        return Effect.flatMap(look, ({ found, version }) => {
          if (Option.isSome(found)) return Effect.succeed(found.value)
          const before = watched.version
          watched.version = version
          // Another waiter has seen an older version, and the poll would find this one known.
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

  /** A task has changed. */
  changed(id: string): void {
    const watched = this.watched.get(id)
    if (watched === undefined) return
    const { changed } = watched
    watched.changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(changed, Effect.void)
  }

  /** What the store has now of the tasks that are waited for. */
  polled(rows: ReadonlyArray<{ readonly id: string; readonly version: number }>): void {
    const versions = new Map(rows.map(({ id, version }) => [id, version]))
    for (const [id, { version }] of this.watched) {
      // Also during a first look, which may have read an older version.
      if (versions.get(id) !== version) this.changed(id)
    }
  }

  /** A task has become due. */
  woken(): void {
    this.due.openUnsafe()
  }

  /** Waits until a task has become due, at most this many milliseconds. */
  dueWithin(millis: number): Effect.Effect<void> {
    return Effect.andThen(
      Effect.raceFirst(this.due.await, Effect.sleep(millis)),
      Effect.sync(() => this.due.closeUnsafe())
    )
  }
}
