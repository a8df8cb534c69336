/** Services of the world whose calls fail in turn, each before it has had an effect and after. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** When a call of a dependency fails. */
export type When = "before" | "after"

/** Decides whether a call fails. */
type Fault = (name: string) => When | undefined

/** A service of the world that fails. */
export interface Failing<out I> {
  /** The type of its tag: the world must have it. There is no value. */
  readonly service?: I
  readonly wrapped: (world: Context.Context<never>, fault: Fault) => Context.Context<never>
}

/** The errors of all members of a service. */
type ErrorOf<S> = {
  [K in keyof S]: S[K] extends Effect.Effect<unknown, infer E, unknown>
    ? E
    : S[K] extends (...args: never) => Effect.Effect<unknown, infer E, unknown>
      ? E
      : never
}[keyof S]

/**
 * A dependency of a handler, each of whose calls is to fail once: its members that are effects, or functions that give one. `failure` is how;
 * default: a defect.
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

/** The last part of the key of a service: `app/Bookings` is `Bookings`. */
const nameOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1)
