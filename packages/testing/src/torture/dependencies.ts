/** Services of the world whose calls fail in turn, before or after their effect. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** When a dependency call fails, relative to its effect. */
export type When = "before" | "after"

/** Decides whether a call fails. */
type Fault = (name: string) => When | undefined

/** A service in the world whose calls fail. */
export interface Failing<out I> {
  /** The service's type, which the world must provide. There is no value at runtime. */
  readonly service?: I
  readonly wrapped: (world: Context.Context<never>, fault: Fault) => Context.Context<never>
}

/** Errors of all members of a service. */
type ErrorOf<S> = {
  [K in keyof S]: S[K] extends Effect.Effect<unknown, infer E, unknown>
    ? E
    : S[K] extends (...args: never) => Effect.Effect<unknown, infer E, unknown>
      ? E
      : never
}[keyof S]

/**
 * Creates a handler dependency whose calls fail one after the other. Affects members that are effects and functions that return effects.
 * `failure` is the failure to use. Default: a defect.
 *
 * @example
 * ```ts
 * import { Torture } from "@effect-mcp/testing"
 * import { Context, Data, Effect } from "effect"
 *
 * class Full extends Data.TaggedError("Full")<{}> {}
 * class Disk extends Context.Service<Disk, { readonly write: (text: string) => Effect.Effect<void, Full> }>()("Disk") {}
 *
 * export const failing = Torture.failing(Disk, Effect.fail(new Full()))
 * ```
 */
export const failing = <I, S extends object>(
  tag: Context.Key<I, S>,
  failure: Effect.Effect<never, ErrorOf<NoInfer<S>>> = Effect.die(new Error(`${nameOf(tag.key)} fails`))
): Failing<I> => ({
  wrapped: (world, fault) => {
    const service = Context.getUnsafe(world, tag)
    const injected = (name: string, effect: Effect.Effect<unknown, unknown, unknown>) =>
      Effect.suspend(() => {
        const when = fault(`${nameOf(tag.key)}.${name}`)
        if (when === undefined) return effect
        return when === "before" ? failure : Effect.andThen(effect, failure)
      })
    const proxy = new Proxy(service, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (Effect.isEffect(member)) return injected(String(name), member)
        if (typeof member !== "function") return member
        return (...args: ReadonlyArray<unknown>): unknown => {
          const result: unknown = Reflect.apply(member, target, args)
          return Effect.isEffect(result) ? injected(String(name), result) : result
        }
      }
    })
    return Context.add(world, tag, proxy)
  }
})

/** Returns the last part of a service's key: `Bookings` for `app/Bookings`. */
const nameOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1)
