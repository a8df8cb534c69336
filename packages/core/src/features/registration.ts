/**
 * A layer that registers a feature for its lifetime and captures the services its handlers need.
 *
 * The basis of `Tools.layer`, `Resources.layer`, `Prompts.layer` and middleware.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/** The place in the program where a feature was created, for the error about duplicate names. */
export const Site = Context.Reference<Error | undefined>("@effect-mcp/core/Feature/Site", {
  defaultValue: () => undefined
})

/** Index of the user's stack frame in V8: after this function and the `layer` function that called it. */
const userFrame = 3

/** Returns the place in the program, formatted as in a stack trace, or `undefined` if the engine has no such traces. */
export const siteOf = (site: Error | undefined): string | undefined => {
  const frame = site?.stack?.split("\n")[userFrame]?.trim()
  return frame?.startsWith("at ") === true ? frame : undefined
}

/** Creates a layer that calls `register` in its scope, with the registry and the services that the handlers need. */
export const registrationLayer = <Id, Registry, R>(
  tag: Context.Key<Id, Registry>,
  register: (registry: Registry, services: Context.Context<R>) => Effect.Effect<void, never, Scope.Scope>
): Layer.Layer<never, never, Id | R> => {
  // The stack trace is only formatted when it is read.
  const site = new Error()
  return Layer.fromBuildMemo((_, scope) =>
    Effect.flatMap(Effect.context<Id | R>(), (services) =>
      Scope.provide(register(Context.get(services, tag), services), scope).pipe(
        Effect.provideService(Site, site),
        Effect.as(Context.empty())
      )
    )
  )
}
