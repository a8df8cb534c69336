/** What makes spans is loaded where there is a tracer, and nothing of a traced program runs before it. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Tracer } from "effect"
import * as Spans from "../../src/peer/Spans.ts"
import type * as Tracing from "../../src/peer/Tracing.ts"
import type { Sink } from "../../src/transport/Transport.ts"

/** A copy of the module that has loaded nothing: files share modules. */
const fresh = (name: string): Effect.Effect<typeof Tracing> =>
  Effect.promise(() => import(/* @vite-ignore */ new URL(`../../src/peer/Tracing.ts?${name}`, import.meta.url).href))

const tracer = () => {
  const names: Array<string> = []
  const made = Tracer.make({
    span: (options) => {
      names.push(options.name)
      return new Tracer.NativeSpan(options)
    }
  })
  return { names, context: Context.make(Tracer.Tracer, made) }
}

const message = { method: "tools/call", params: { name: "add" } }

describe("What makes spans", () => {
  it.effect("The first request of a traced program waits for what makes spans, and has its span", () =>
    Effect.gen(function* () {
      const tracing = yield* fresh("first")
      const { context, names } = tracer()
      const loaded = yield* Deferred.make<typeof Spans>()
      const connecting = yield* Effect.forkChild(tracing.ready(context, Deferred.await(loaded)), {
        startImmediately: true
      })
      assert.isUndefined(connecting.pollUnsafe())
      yield* Deferred.succeed(loaded, Spans)
      yield* Fiber.join(connecting)
      yield* Effect.provideContext(tracing.server(Effect.void, message), context)
      assert.deepStrictEqual(names, ["tools/call add"])
    })
  )

  it.effect("A request with a tracer of its own loads what makes spans, and an interrupted load runs no handler", () =>
    Effect.gen(function* () {
      const tracing = yield* fresh("own")
      const { context, names } = tracer()
      const loaded = yield* Deferred.make<typeof Spans>()
      yield* tracing.ready(Context.empty(), Deferred.await(loaded))
      let runs = 0
      const handled = Effect.provideContext(
        tracing.server(
          Effect.sync(() => ++runs),
          message
        ),
        context
      )
      const interrupted = yield* Effect.forkChild(handled, { startImmediately: true })
      yield* Fiber.interrupt(interrupted)
      const waiting = yield* Effect.forkChild(handled, { startImmediately: true })
      assert.strictEqual(runs, 0)
      yield* Deferred.succeed(loaded, Spans)
      assert.strictEqual(yield* Fiber.join(waiting), 1)
      assert.deepStrictEqual(names, ["tools/call add"])
    })
  )

  it.effect("A program without a tracer loads nothing, and its notifications leave at once", () =>
    Effect.gen(function* () {
      const tracing = yield* fresh("none")
      const load = Effect.die(new Error("It was loaded"))
      yield* tracing.ready(Context.empty(), load)
      assert.strictEqual(yield* tracing.server(Effect.succeed(1), message), 1)
      const sent: Array<unknown> = []
      const sink: Sink = { send: (one) => void sent.push(one), writable: () => true, ready: Effect.void }
      const notification: JsonRpc.Notification = { jsonrpc: "2.0", method: "notifications/message" }
      tracing.notify(sink, notification, "data", undefined)
      assert.deepStrictEqual(sent, [notification])
    })
  )
})
