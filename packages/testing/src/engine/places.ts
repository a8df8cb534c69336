/** Plays a run without a fault, and then again with one fault at each place that the first run visited. */
import * as Effect from "effect/Effect"

/**
 * Plays without a fault, then once for each fault that `faultsOf` derives from that run. Returns all runs, starting with the one without a
 * fault. `judge` receives all runs so far after each faulty run: if it fails, no further fault is tried.
 */
export const atEachPlace = <F, R, E, X, E2 = never>(
  none: F,
  play: (fault: F) => Effect.Effect<R, E, X>,
  faultsOf: (plain: R) => Iterable<F>,
  judge?: (plain: R, run: R, runs: ReadonlyArray<R>) => Effect.Effect<unknown, E2>
): Effect.Effect<ReadonlyArray<R>, E | E2, X> =>
  Effect.gen(function* () {
    const plain = yield* play(none)
    const runs = [plain]
    for (const fault of faultsOf(plain)) {
      const run = yield* play(fault)
      runs.push(run)
      if (judge !== undefined) yield* judge(plain, run, runs)
    }
    return runs
  })
