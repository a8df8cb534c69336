import { parentOf } from "../../core/src/peer/parentOf.ts"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import { Tool, Tools, Sampling } from "@effect-mcp/core"
import * as McpTest from "@effect-mcp/testing/McpTest"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Tracer } from "effect"

/** A tracer that records every span. */
const recording = () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const Look = Tool.make("look", { description: "Says what its _meta says." })
const parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

describe.each(Revision.all)("Trace context in $version", (revision) => {
  it.effect("The server's span is a child of the client's span", () => {
    const { layer, spans } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(
        Tools.layer(Look, () => Effect.succeed("seen")),
        revision
      )
      const caller = yield* Effect.withSpan(Effect.andThen(client.callToolByName("look"), Effect.currentSpan), "caller")
      const [sent, handled] = spans.filter(({ name }) => name === "tools/call look")
      assert(sent?.parent._tag === "Some" && handled?.parent._tag === "Some")
      assert.deepStrictEqual([sent.kind, handled.kind], ["client", "server"])
      assert.strictEqual(handled.traceId, caller.traceId)
      assert.strictEqual(handled.parent.value.spanId, sent.spanId)
      assert.strictEqual(sent.parent.value.spanId, caller.spanId)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect(
    "A trace context continues through a handler's question",
    () => {
      const { layer } = recording()
      const asked: Array<unknown> = []
      const features = Tools.layer(Look, () =>
        Effect.as(Sampling.createMessage({ maxTokens: 1, messages: [] }), "seen")
      )
      const sampling = Sampling.layer((params) =>
        Effect.sync(() => {
          asked.push(params._meta)
          return { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "hi" } }
        })
      )
      return Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        yield* client.callToolByName(
          "look",
          {},
          { meta: { traceparent: parent, tracestate: "vendor=1", baggage: "user=ada" } }
        )
        if (revision.era === "stateless") return // without sessions, the question is not a separate request
        const [meta] = asked as Array<Record<string, string>>
        assert.match(meta!.traceparent!, /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/)
        assert.strictEqual(meta!.tracestate, "vendor=1")
        assert.strictEqual(meta!.baggage, "user=ada")
      }).pipe(Effect.scoped, Effect.provide([layer, sampling]))
    },
    verifies("meta.trace.format")
  )
})

describe("traceparent", () => {
  it("A traceparent is parsed into trace, span and sampling flag", verifies("meta.trace.format"), () => {
    const span = parentOf({ traceparent: parent })
    assert.deepStrictEqual(
      { traceId: span?.traceId, spanId: span?.spanId, sampled: span?.sampled },
      { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "00f067aa0ba902b7", sampled: true }
    )
  })

  it.each([
    undefined,
    1,
    "",
    "00-0-0-01",
    "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01"
  ])("A malformed traceparent (%s) is ignored", verifies("meta.trace.format"), (traceparent) => {
    assert.isUndefined(parentOf({ traceparent }))
  })

  it("A traceparent is written in W3C format", verifies("meta.trace.format"), () => {
    const written = (sampled: boolean) =>
      TraceContext.entries(
        Context.make(
          Tracer.ParentSpan,
          Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "00f067aa0ba902b7", sampled })
        )
      )
    assert.deepStrictEqual(written(true), { traceparent: parent })
    assert.deepStrictEqual(written(false), { traceparent: parent.replace(/01$/, "00") })
  })

  it("A tracer with incompatible ids writes no traceparent", () => {
    const span = Tracer.externalSpan({ traceId: "trace", spanId: "span" })
    assert.isUndefined(TraceContext.entries(Context.make(Tracer.ParentSpan, span)))
  })

  it("No traceparent is written outside a span", () => {
    assert.isUndefined(TraceContext.entries(Context.empty()))
  })
})

describe.each(Revision.all)("Extensions in $version", (revision) => {
  it.effect(
    "An extension declared only by the client has no effect",
    () =>
      Effect.gen(function* () {
        const client = yield* McpTest.connect(
          Tools.layer(Look, () => Effect.succeed("seen")),
          revision,
          {
            client: { extensions: { "com.example/ext": {} } }
          }
        )
        assert.isUndefined(client.serverCapabilities.extensions)
        assert.deepStrictEqual((yield* client.callToolByName("look")).content, [{ type: "text", text: "seen" }])
      }),
    verifies("versioning.extension.unsupported")
  )
})
