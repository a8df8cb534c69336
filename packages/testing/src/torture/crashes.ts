/** Runs a handler as a task whose node dies. */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as CrashPoints from "../check/CrashPoints.ts"
import { reasonOf } from "../engine/Exits.ts"
import type * as McpTest from "../McpTest.ts"
import { audit, Ledger } from "./Ledger.ts"
import type { Fault, TortureRun } from "./play.ts"

/** A bare handler. */
export type Handler<R> = Effect.Effect<unknown, unknown, R | RequestServices>

const revision = "2026-07-28"

/**
 * Runs the handler as a task once for each of its writes, like `CrashPoints`. A difference between runs becomes a finding of the last run.
 */
export const crashes = <W, LE, LR, X>(
  handler: Handler<NoInfer<W> | Ledger>,
  world: Layer.Layer<W, LE, LR>,
  afterEach: ((run: TortureRun) => Effect.Effect<unknown, X, W | Ledger>) | undefined
): Effect.Effect<ReadonlyArray<TortureRun>, LE | McpTest.TestConnectError, Exclude<LR, Ledger>> =>
  Effect.gen(function* () {
    const runs: Array<TortureRun> = []
    const after = ({ exit, point }: CrashPoints.CrashRun<unknown, unknown>) =>
      Effect.gen(function* () {
        const entries = yield* (yield* Ledger).entries
        const fault: Fault = point === undefined ? { _tag: "None" } : { _tag: "Killed", ...point }
        const run: TortureRun = {
          revision,
          fault,
          after: undefined,
          struck: true,
          exit,
          entries,
          found: audit(entries),
          places: 0
        }
        const checked = yield* Effect.exit(afterEach?.(run) ?? Effect.void)
        runs.push(Exit.isSuccess(checked) ? run : { ...run, found: [...run.found, reasonOf(checked.cause)] })
      })
    const ledgered = Layer.provideMerge(world, Ledger.layer)
    const differing = ({ message, points }: CrashPoints.CrashMismatch) =>
      Effect.sync(() => {
        const last = runs.pop()
        if (last !== undefined) runs.push({ ...last, found: [...last.found, message] })
        return points
      })
    const points = yield* CrashPoints.forAll(handler, ledgered, { after }).pipe(
      Effect.map((all) => all.length - 1),
      Effect.catchIf((error) => error instanceof CrashPoints.CrashMismatch, differing)
    )
    return runs.map((run) => (run.fault._tag === "Killed" ? { ...run, places: points } : run))
  })
