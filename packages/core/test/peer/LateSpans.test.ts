/** Conversations in a process that has not loaded what makes spans. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Tracer } from "effect"
import { vi } from "vitest"
import type * as Spans from "../../src/peer/Spans.ts"

const modules = Effect.promise(async () => {
  vi.resetModules()
  return { Tracing: await import("../../src/peer/Tracing.ts"), Spans: await import("../../src/peer/Spans.ts") }
})

describe("What makes spans", () => {
  it.effect("Messages go without a span while it cannot be loaded, and with one afterwards", () =>
    Effect.gen(function* () {
      const { Spans: spans, Tracing } = yield* modules
      let load: Effect.Effect<typeof Spans, string> = Effect.fail("The network is lost")
      const loaded = Effect.suspend(() => load)
      yield* Tracing.ready(Context.empty(), loaded)
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          names.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      const message = { method: "ping", params: undefined }
      const sent = Tracing.client(message, () => Effect.succeed("with a span"), Effect.succeed("without"))
      const traced = Effect.withTracer(Effect.all([sent, Tracing.server(Effect.succeed("answered"), message)]), tracer)

      assert.deepStrictEqual(yield* traced, ["without", "answered"])
      assert.deepStrictEqual(names, [])
      load = Effect.succeed(spans)
      assert.deepStrictEqual(yield* traced, ["with a span", "answered"])
      assert.deepStrictEqual(names, ["ping", "ping"])
    })
  )
})
