/**
 * A layer that registers something for as long as it lives, and captures the services that its handlers need.
 *
 * What `Tools.layer`, `Resources.layer`, `Prompts.layer` and middleware are made of.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

export const feature = <Id, Registry, R>(
  tag: Context.Key<Id, Registry>,
  register: (registry: Registry, services: Context.Context<R>) => Effect.Effect<void, never, Scope.Scope>
): Layer.Layer<never, never, Id | R> =>
  Layer.fromBuildMemo((_, scope) =>
    Effect.flatMap(Effect.context<Id | R>(), (services) =>
      Effect.as(Scope.provide(register(Context.get(services, tag), services), scope), Context.empty())
    )
  )
