/**
 * A layer that registers a feature for as long as it lives, and captures the services that its handlers need.
 *
 * `Tools.layer`, `Resources.layer`, `Prompts.layer` and middleware are made of it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

/** Where in the program a feature was made: for the error about two of one name. */
export const Site = Context.Reference<Error | undefined>("@effect-mcp/core/Feature/Site", {
  defaultValue: () => undefined
})

/** The frames of a stack as V8 writes it: this function, the `layer` that called it, and the code that called that. */
const userFrame = 3

/** The line of the program, as in a stack trace; undefined where the engine writes no such traces. */
export const siteOf = (site: Error | undefined): string | undefined => {
  const frame = site?.stack?.split("\n")[userFrame]?.trim()
  return frame?.startsWith("at ") === true ? frame : undefined
}

/** A layer that calls `register` in its scope, with the registry and the services that the handlers need. */
export const registrationLayer = <Id, Registry, R>(
  tag: Context.Key<Id, Registry>,
  register: (registry: Registry, services: Context.Context<R>) => Effect.Effect<void, never, Scope.Scope>
): Layer.Layer<never, never, Id | R> => {
  // The stack is formatted only when it is read.
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
