/** The context of a handler: the services of its layer and of its request, and none of its caller. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Logger, Option, References } from "effect"
import { HandlerContext } from "../../src/features/HandlerContext.ts"
import * as Log from "../../src/request/Log.ts"
import * as Principal from "../../src/transport/Principal.ts"
import type { RequestServices } from "../../src/request/RequestContext.ts"

class Mine extends Context.Service<Mine, string>()("test/Mine") {}
class Foreign extends Context.Service<Foreign, string>()("test/Foreign") {}

const inContext = new HandlerContext<Mine | RequestServices>(Context.make(Mine, "captured"))
/** Runs as a caller would whose context holds all of this. */
const called = <A, E>(effect: Effect.Effect<A, E, Mine | RequestServices>) =>
  Effect.provideContext(
    inContext.provide(effect),
    Context.make(Mine, "ambient").pipe(
      Context.add(Foreign, "ambient"),
      Context.add(Principal.Principal, { subject: "ada", scopes: [], claims: {} }),
      Context.add(Log.Log, Log.none)
    ) as Context.Context<RequestServices>
  )

describe("A handler", () => {
  it.effect("A handler keeps the services of its layer, whatever its caller has", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* called(Effect.map(Mine, (mine) => mine)), "captured")
    })
  )

  it.effect("A handler does not see services of its caller", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* called(Effect.serviceOption(Foreign))))
    })
  )

  it.effect("A handler sees the services of its request", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* called(Effect.map(Principal.Principal, ({ subject }) => subject)), "ada")
    })
  )

  it.effect("A handler keeps the parent span of its call", () =>
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

  it.effect("A handler logs to the loggers of its layer and to the client, the message and its annotations only", () =>
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
