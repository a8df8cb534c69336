/**
 * The context a handler runs in: the services its layer captured, plus exactly the request's own, plus a named list of References.
 *
 * Never the ambient context merged over it: that would hand a handler services of whoever happens to call it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { ClientInput } from "../request/ClientInput.ts"
import { exitOf } from "../internal/Done.ts"
import { Elicitation } from "../request/Elicitation.ts"
import { forwarder, Log, surroundings } from "../request/Log.ts"
import type { Now } from "../request/Now.ts"
import { Principal } from "../transport/Principal.ts"
import { Progress } from "../request/Progress.ts"
import { RequestMap } from "../internal/LazyContext.ts"
import { RequestContext, type RequestServices } from "../request/RequestContext.ts"
import { Roots } from "../request/Roots.ts"
import { Sampling } from "../request/Sampling.ts"

const passed: ReadonlyArray<string> = [
  RequestContext.key,
  Principal.key,
  Log.key,
  Progress.key,
  ClientInput.key,
  Elicitation.key,
  Sampling.key,
  Roots.key,
  Scope.Scope.key,
  Tracer.ParentSpan.key,
  References.CurrentLogAnnotations.key,
  References.LogToStderr.key,
  References.MinimumLogLevel.key
]

/** After a handler that had to wait so many are not started now: it is likely that they wait as well, and then one fiber is better than two. */
const afterWait = 15

/** `captured` must hold everything `effect` needs beside the request's services `S`: its layer's type says so. */
export const isolate = <R, S extends RequestServices = RequestServices>(
  captured: Context.Context<Exclude<R, S>>,
  options: { readonly forwardsLogs?: boolean } = {}
) => {
  const base = new Map(captured.mapUnsafe)
  // What a handler logs goes where its layer's logs go, and to the client; what code around handlers logs is not the client's.
  const { forwardsLogs = true } = options
  if (forwardsLogs) {
    base.set(References.CurrentLoggers.key, new Set([...Context.get(captured, References.CurrentLoggers), forwarder]))
  }
  const mixed = (ambient: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> => {
    const map = new Map(base)
    for (const key of passed) {
      const value = ambient.get(key)
      if (value !== undefined) map.set(key, value)
    }
    const annotations = map.get(References.CurrentLogAnnotations.key)
    if (forwardsLogs && annotations !== undefined) map.set(surroundings.key, annotations)
    return map
  }
  // What a connection's requests have below their services is the same map for all of them.
  const known = new WeakMap<ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>>()
  const mixedOnce = (ambient: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> => {
    const mix = known.get(ambient)
    if (mix !== undefined) return mix
    const made = mixed(ambient)
    known.set(ambient, made)
    return made
  }
  const inside = (ambient: Context.Context<S>): Context.Context<R> => {
    const services = ambient.mapUnsafe
    // Nothing lies over the request's own services: they are kept as they are, unmade.
    return Context.makeUnsafe<R>(services instanceof RequestMap ? services.over(mixedOnce) : mixed(services))
  }
  /** How many of the next are not started now. */
  let waits = 0
  return <A, E>(effect: Effect.Effect<A, E, R>, now?: Now): Effect.Effect<A, E, S> => {
    const done = exitOf(effect)
    if (done !== undefined) return done
    if (now === undefined || waits-- > 0) return Effect.updateContext(effect, inside)
    const started = now.start(effect, mixedOnce)
    waits = exitOf(started) === undefined ? afterWait : 0
    return started
  }
}
