/**
 * A registry's mounted sources, and streams that last as long as an entry. In a separate module, because not every
 * server needs them.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Registry } from "./Registry.ts"

type Source = { readonly changes: Stream.Stream<void> }

/** Mounts a source until the scope closes. */
export const mount = <Entry, S extends Source>(
  registry: Registry<Entry, S>,
  source: S
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.andThen(
      Effect.sync(() => registry.mounted.add(source)),
      registry.changed
    ),
    () =>
      Effect.andThen(
        Effect.sync(() => registry.mounted.delete(source)),
        registry.changed
      )
  ).pipe(
    Effect.andThen(
      Effect.forkScoped(
        Stream.runForEach(source.changes, () => registry.changed),
        { startImmediately: true }
      )
    ),
    Effect.asVoid
  )

/** Runs `stream` until the entry is removed. The removal waits for the stream's finalizers. */
export const during = <A, Entry, S extends Source>(
  registry: Registry<Entry, S>,
  key: string,
  stream: Stream.Stream<A>
): Stream.Stream<A> =>
  Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => registry.take(key)),
        (held) => Effect.sync(() => held?.release())
      ),
      (held) => (held === undefined ? Stream.empty : Stream.interruptWhen(stream, held.gone))
    )
  )
