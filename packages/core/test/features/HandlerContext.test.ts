/** The context of a handler: the services of its layer and its request, but not the services of its caller. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Logger, Option, References } from "effect"
import { HandlerContext } from "../../src/features/HandlerContext.ts"
import * as Log from "../../src/request/Log.ts"
import * as Principal from "../../src/transport/Principal.ts"
import type { RequestServices } from "../../src/request/RequestContext.ts"

class Mine extends Context.Service<Mine, string>()("test/Mine") {}
class Foreign extends Context.Service<Foreign, string>()("test/Foreign") {}

const inContext = new HandlerContext<Mine | RequestServices>(Context.make(Mine, "captured"))
/** Runs like a caller whose context contains all of this. */
const called = <A, E>(effect: Effect.Effect<A, E, Mine | RequestServices>) =>
  Effect.provideContext(
    inContext.provide(effect),
    Context.make(Mine, "ambient").pipe(
      Context.add(Foreign, "ambient"),
      Context.add(Principal.Principal, { subject: "ada", scopes: [], claims: {} }),
      Context.add(Log.Log, Log.none)
    ) as Context.Context<RequestServices>
  )

describe("Handler context", () => {
  it.effect("A handler keeps its layer's services, regardless of what its caller provides", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* called(Effect.map(Mine, (mine) => mine)), "captured")
    })
  )

  it.effect("A handler does not see its caller's services", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* called(Effect.serviceOption(Foreign))))
    })
  )

  it.effect("A handler sees its request's services", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* called(Effect.map(Principal.Principal, ({ subject }) => subject)), "ada")
    })
  )

  it.effect("A handler keeps its call's parent span", () =>
    Effect.gen(function* () {
      const parent = yield* Effect.withSpan(
        Effect.flatMap(Effect.currentSpan, (outer) =>
          Effect.map(called(Effect.currentParentSpan), (inner) => inner.spanId === outer.spanId)
        ),
        "call"
      )
      assert.isTrue(parent)
    })
  )

  it.effect("A handler logs its message and annotations to its layer's loggers and the client", () =>
    Effect.gen(function* () {
      const sent: Array<unknown> = []
      const printed: Array<unknown> = []
      const loggers = new Set([Logger.make(({ message }) => void printed.push(message))])
      const inQuiet = new HandlerContext<RequestServices>(Context.make(References.CurrentLoggers, loggers))
      const log: Log.Log["Service"] = {
        log: () => Effect.void,
        logUnsafe: (level, data) => void sent.push([level, data])
      }
      yield* Effect.provideService(
        inQuiet.provide(Effect.annotateLogs(Effect.logWarning("careful"), "step", 1)),
        Log.Log,
        log
      ) as Effect.Effect<void>
      assert.deepStrictEqual(printed, [["careful"]])
      assert.deepStrictEqual(sent, [["warning", { message: "careful", step: 1 }]])
    })
  )
})
