/** The scope for work that outlives its requests. Separate from `Detached`, so that servers that only have tools don't load that module. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"

/** Scope for work outside requests, for the server whose features are being built, or `undefined` if there is no server. */
const Work = Context.Reference<Scope.Scope | undefined>("@effect-mcp/server/Detached/Work", {
  defaultValue: () => undefined
})

/** Creates a context for layers whose `scope` is inside this one. */
export const within = (scope: Scope.Scope): Context.Context<never> => Context.make(Work, scope)

/**
 * Opens a scope for code that runs handlers outside their requests. It closes with the current scope. When a server ends, it closes before
 * the layers of the server's features, because a tool's layer waits for its running calls.
 */
export const scope: Effect.Effect<Scope.Scope, never, Scope.Scope> = Effect.gen(function* () {
  const outer = yield* Scope.Scope
  const work = yield* Work
  if (work === undefined) return yield* Scope.fork(outer)
  const inner = yield* Scope.fork(work)
  yield* Scope.addFinalizerExit(outer, (exit) => Scope.close(inner, exit))
  return inner
}).pipe(Effect.uninterruptible)
