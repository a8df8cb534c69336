/**
 * Middleware runs an effect again in the context that middleware was called in, merged with the services it replaces.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, References, Scheduler } from "effect"
import { HandlerContext, HandlerScheduler, returningTo } from "../../src/features/HandlerContext.ts"
import { LazyContext, service, ServiceTable } from "../../src/internal/LazyContext.ts"
import { Progress } from "../../src/request/Progress.ts"
import * as Progresses from "../../src/request/Progress.ts"
import type { RequestServices } from "../../src/request/RequestContext.ts"
import * as Principal from "../../src/transport/Principal.ts"

class Base extends Context.Service<Base, string>()("test/Base") {}

interface One {
  made: number
}
const table = new ServiceTable<One>([
  service(Principal.Principal, () => Principal.anonymous),
  service(Progress, (one) => {
    one.made++
    return { ...Progresses.none }
  })
])
const below = new Map<string, unknown>([[Base.key, "of the request"]])
const contextOf = (services: ReadonlyMap<string, unknown>) => Context.makeUnsafe<RequestServices>(services)
const request = (one: One = { made: 0 }) => new LazyContext(below, table, one)
const ada = { subject: "ada", scopes: [], claims: {} }
const scheduler = new Scheduler.MixedScheduler()

/** The context of middleware: the context of its layer plus the services of the request. */
const within = (outer: LazyContext<One>, own: ReadonlyArray<readonly [string, unknown]> = []) =>
  outer.over((below) => new Map([...below, [Base.key, "of the middleware"], ...own]))

const seen = Effect.contextWith((context: Context.Context<never>) => Effect.succeed(context.mapUnsafe))
const runIn = (
  effect: Effect.Effect<ReadonlyMap<string, unknown>, never, RequestServices>,
  services: ReadonlyMap<string, unknown>
) => {
  const exit = Effect.runForkWith(contextOf(services))(effect).pollUnsafe()
  return exit !== undefined && Exit.isSuccess(exit) ? exit.value : assert.fail("The effect has not ended")
}

describe("The outer context of middleware", () => {
  it("An effect that middleware leaves unchanged reuses the request's context", () => {
    const one = { made: 0 }
    const outer = request(one)
    assert.strictEqual(runIn(returningTo(contextOf(outer))(seen), within(outer)), outer)
    assert.strictEqual(one.made, 0)
  })

  const outer = request()
  it.each<[string, ReadonlyMap<string, unknown>, ReadonlyMap<string, unknown>]>([
    ["nothing", outer, within(outer)],
    ["the log level", outer, within(outer, [[References.MinimumLogLevel.key, "Debug"]])],
    ["the scheduler", outer, within(outer, [[HandlerScheduler.key, scheduler]])],
    ["the caller", outer, new Map([...within(outer), [Principal.Principal.key, ada]])],
    ["the request", outer, new LazyContext(new Map([[Base.key, "of another"]]), table, { made: 0 })],
    ["an already replaced caller", new Map([...outer, [Principal.Principal.key, ada]]), within(outer)]
  ])("When middleware replaces %s, an effect sees both contexts merged", (_, outer, inner) => {
    const got = runIn(returningTo(contextOf(outer))(seen), inner)
    const expected = runIn(
      new HandlerContext<RequestServices>(contextOf(outer), { forwardsLogs: false }).provide(seen),
      inner
    )
    for (const key of new Set([...got.keys(), ...expected.keys()]))
      assert.strictEqual(got.get(key), expected.get(key), key)
  })
})
