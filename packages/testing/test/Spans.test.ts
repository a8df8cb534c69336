import { Prompt, Prompts, Resources, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema, Tracer } from "effect"

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
  const named = (name: string, kind: Tracer.SpanKind) => {
    const span = spans.find((span) => span.name === name && span.kind === kind)
    assert(span !== undefined, `${name} among ${spans.map(({ name }) => name).join(", ")}`)
    return span
  }
  return { spans, named, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const exitOf = ({ status }: Tracer.Span) => {
  assert(status._tag === "Ended")
  return status.exit
}

const Secret = Tool.make("secret", { description: "Takes a secret", input: { word: Schema.String } })
const Fails = Tool.make("fails", { description: "Fails" })
const Dies = Tool.make("dies", { description: "Dies" })
const Asks = Tool.make("asks", { description: "Asks the user" })
const Greet = Prompt.make("greet", { description: "Greets" })

/** A URI with a password, a query, and more characters than an attribute can have. */
const secretUri = `https://ada:sword@fish:swordfish@host/${"r".repeat(300)}?token=swordfish`

const features = Layer.mergeAll(
  Tools.layer(Secret, () => Effect.succeed("done")),
  Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "It failed" }))),
  Tools.layer(Dies, () => Effect.die("a bug")),
  Tools.layer(Asks, () => Effect.as(Sampling.createMessage({ maxTokens: 1, messages: [] }), "asked")),
  Prompts.layer(Greet, () => Effect.succeed("Hello")),
  Resources.layer({ uri: "memo://one", name: "one" }, Effect.succeed("1")),
  Resources.layer({ uri: secretUri, name: "two" }, Effect.succeed("2"))
)

const model = Sampling.layer(() =>
  Effect.succeed({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "hi" } })
)

describe.each(Revision.all)("Spans in $version", (revision) => {
  it.effect("A span has the method, target, revision and session, but no arguments", () => {
    const { layer, named, spans } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      yield* client.callTool(Secret, { word: "swordfish" })
      yield* client.getPrompt(Greet, {})
      yield* client.readResource("memo://one")
      yield* client.readResource(secretUri)
      const sent = named("tools/call secret", "client")
      const handled = named("tools/call secret", "server")
      const common = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "secret",
        "gen_ai.operation.name": "execute_tool"
      }
      const { "jsonrpc.request.id": id, ...rest } = Object.fromEntries(handled.attributes)
      assert.isString(id)
      assert.strictEqual(sent.attributes.get("jsonrpc.request.id"), id)
      assert.deepInclude(Object.fromEntries(sent.attributes), common)
      assert.deepStrictEqual(rest, {
        ...common,
        "mcp.protocol.version": revision.version,
        ...(revision.era === "stateful" ? { "mcp.session.id": "session-1" } : undefined)
      })
      assert.strictEqual(named("prompts/get greet", "server").attributes.get("gen_ai.prompt.name"), "greet")
      for (const kind of ["client", "server"]) {
        const read = spans.filter((span) => span.name === "resources/read" && span.kind === kind)
        assert.deepStrictEqual(
          read.map(({ attributes }) => attributes.get("mcp.resource.uri")),
          ["memo://one", `https://host/${"r".repeat(243)}`]
        )
      }
      const texts = spans.flatMap(({ attributes, name }) => [name, ...attributes.values()])
      assert.isFalse(texts.some((text) => String(text).includes("swordfish")))
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A span shows how its request failed", () => {
    const { layer, named } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      yield* client.callToolByName("fails")
      yield* Effect.exit(client.callToolByName("missing"))
      yield* Effect.exit(client.callToolByName("dies"))
      const types = (name: string) =>
        (["client", "server"] as const).map((kind) => named(name, kind).attributes.get("error.type"))
      assert.deepStrictEqual(types("tools/call fails"), ["tool_error", "tool_error"])
      assert.deepStrictEqual(types("tools/call missing"), ["-32602", undefined])
      assert.deepStrictEqual(types("tools/call dies"), ["-32603", "-32603"])
      const code = "rpc.response.status_code"
      assert.strictEqual(named("tools/call missing", "server").attributes.get(code), "-32602")
      // A client's mistake is not a server error.
      const failed = (name: string) =>
        (["client", "server"] as const).map((kind) => Exit.isFailure(exitOf(named(name, kind))))
      assert.deepStrictEqual(failed("tools/call missing"), [true, false])
      assert.deepStrictEqual(failed("tools/call fails"), [true, true])
      assert.deepStrictEqual(failed("tools/call dies"), [true, true])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A span shows an unknown tool name truncated and sanitized", () => {
    const { layer, spans } = recording()
    const long = "x".repeat(200)
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      for (const name of ["no <b>such</b>\ntool", "files/read_1.0-x", "größe", long]) {
        yield* Effect.exit(client.callToolByName(name))
      }
      for (const kind of ["client", "server"]) {
        const called = spans.filter((span) => span.name.startsWith("tools/call ") && span.kind === kind)
        const shown = ["no_b_such_/b_tool", "files/read_1.0-x", "größe", "x".repeat(128)]
        assert.deepStrictEqual(
          called.map(({ attributes, name }) => [name, attributes.get("gen_ai.tool.name")]),
          shown.map((name) => [`tools/call ${name}`, name])
        )
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("A question's span belongs to the trace of the asking call", () => {
    const { layer, named, spans } = recording()
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(features, revision)
      const caller = yield* Effect.withSpan(Effect.andThen(client.callToolByName("asks"), Effect.currentSpan), "caller")
      const answered = named("sampling/createMessage", "server")
      assert.strictEqual(answered.traceId, caller.traceId)
      assert.strictEqual(answered.attributes.get("mcp.protocol.version"), revision.version)
      if (revision.era === "stateless") {
        // Each round is a separate request, and the question is answered between them.
        assert.strictEqual(spans.filter(({ name }) => name === "tools/call asks").length, 4)
        return
      }
      const asked = named("sampling/createMessage", "client")
      const call = named("tools/call asks", "server")
      assert(asked.parent._tag === "Some" && answered.parent._tag === "Some")
      assert.deepStrictEqual([asked.parent.value.spanId, answered.parent.value.spanId], [call.spanId, asked.spanId])
    }).pipe(Effect.scoped, Effect.provide([layer, model]))
  })

  it.effect("An interrupted call's span is marked as cancelled", () => {
    const { layer, named } = recording()
    const Waits = Tool.make("waits", { description: "Waits" })
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(
        Tools.layer(Waits, () => Effect.never),
        revision
      )
      const call = yield* Effect.forkChild(client.callToolByName("waits"))
      yield* quiesce
      yield* Fiber.interrupt(call)
      yield* quiesce
      for (const kind of ["client", "server"] as const) {
        assert.strictEqual(named("tools/call waits", kind).attributes.get("error.type"), "cancelled")
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
