/** The scope of work that outlasts its requests. Apart from `Detached`, which servers of tools alone do not load. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"

/** The work outside of requests of the server whose features are built; undefined where there is no server. */
const Work = Context.Reference<Scope.Scope | undefined>("@effect-mcp/server/Detached/Work", {
  defaultValue: () => undefined
})

/** The context of layers whose `scope` lies inside of this one. */
export const within = (scope: Scope.Scope): Context.Context<never> => Context.make(Work, scope)

/**
 * A scope for what runs handlers outside of their requests. It closes with the current one, and at the end of a server before the layers of
 * all its features: the layer of a tool waits for the calls of it that run.
 */
export const scope: Effect.Effect<Scope.Scope, never, Scope.Scope> = Effect.gen(function* () {
  const outer = yield* Scope.Scope
  const work = yield* Work
  if (work === undefined) return yield* Scope.fork(outer)
  const inner = yield* Scope.fork(work)
  yield* Scope.addFinalizerExit(outer, (exit) => Scope.close(inner, exit))
  return inner
}).pipe(Effect.uninterruptible)
