/** Finds a shorter script that still fails in the same way. */
import * as Effect from "effect/Effect"

/** Returns the script with runs of commands removed, longest runs first. */
export function* shorter<A>(commands: ReadonlyArray<A>): Iterable<ReadonlyArray<A>> {
  for (let size = commands.length; size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < commands.length; start += size) {
      yield commands.toSpliced(start, size)
    }
  }
}

export interface Options {
  /** Index of the command that most likely causes the failure. Default: any. */
  readonly cause?: number | undefined
  /** Maximum number of scripts to try. Default 300. */
  readonly budget?: number | undefined
  /** Returns false to stop trying scripts. Default: never stops. */
  readonly goesOn?: (() => boolean) | undefined
}

/** Returns the shortest script found that satisfies `shows`. `candidates` returns shorter scripts, shortest first. */
export const shrinkBy = <S, E, R>(
  candidates: (script: S, cause?: number) => Iterable<S>,
  script: S,
  shows: (candidate: S) => Effect.Effect<boolean, E, R>,
  { budget = 300, cause, goesOn = () => true }: Options = {}
): Effect.Effect<S, E, R> =>
  Effect.gen(function* () {
    const tried = new Set<string>([JSON.stringify(script)])
    let best = script
    let open = candidates(best, cause)[Symbol.iterator]()
    for (let next = open.next(); next.done !== true && goesOn(); next = open.next()) {
      const text = JSON.stringify(next.value)
      if (tried.has(text)) continue
      if (tried.size > budget) break
      tried.add(text)
      if (!(yield* shows(next.value))) continue
      best = next.value
      open = candidates(best)[Symbol.iterator]()
    }
    return best
  })
