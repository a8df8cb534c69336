/** Messages from one side of a gateway reach the other, in every pair of revisions that can express them. */
import { Elicitation, Roots, Sampling } from "@effect-mcp/core"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, PubSub, Queue, type Scope, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { Add, Behind, join, layer, pairs } from "./support/gateway.ts"

const text = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept", content: { name: message.replace("?", "!") } }),
  url: () => Effect.succeed({ action: "accept" })
})
const model = Sampling.layer(({ maxTokens }) =>
  Effect.succeed({ role: "assistant", content: { type: "text", text: "!" }, model: `model ${maxTokens}` })
)
const roots = Roots.layerStatic([{ uri: "file:///work" }])
const everyone = Layer.mergeAll(user, model, roots)

describe.each(pairs)("$title", ({ downstream, upstream }) => {
  const asks = downstream.rules.elicitation.form && upstream.rules.elicitation.form
  const test = <A, E>(
    title: string,
    body: Effect.Effect<A, E, Scope.Scope | Layer.Success<ReturnType<typeof layer>>>
  ) => it.effect(title, () => Effect.provide(Effect.scoped(body), Layer.fresh(layer(upstream))))

  test(
    "The upstream server's name, instructions and capabilities are forwarded",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      assert.strictEqual(client.serverInfo.name, "behind")
      assert.strictEqual(client.instructions, "Be kind.")
      assert.deepStrictEqual(
        Object.keys(client.serverCapabilities).toSorted(),
        ["completions", "logging", "prompts", "resources", "tools"].filter(
          (name) => name !== "completions" || downstream.rules.completionsDeclared
        )
      )
      const tools = yield* Stream.runCollect(client.listTools)
      const odd = tools.find(({ name }) => name === "odd")
      assert.deepStrictEqual(odd?.inputSchema["x-unknown"], { kept: true })
      assert.strictEqual(tools.length, 12)
      assert.deepStrictEqual(
        (yield* Stream.runCollect(client.listResourceTemplates)).map(({ uriTemplate }) => uriTemplate),
        ["test://item/{id}"]
      )
      assert.deepStrictEqual(
        (yield* client.complete({
          ref: { type: "ref/prompt", name: "review" },
          argument: { name: "file", value: "ma" }
        })).values,
        ["main.ts", "map.ts"]
      )
      assert.strictEqual(yield* client.readResourceText("test://item/7"), "item 7")
      const { messages } = yield* client.getPromptByName("review", { file: "a.ts" })
      assert.deepStrictEqual(messages[0]?.content, { type: "text", text: "Review a.ts" })
    })
  )

  test(
    "Results are forwarded unchanged, and errors with code, message and data",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const sum = yield* client.callToolByName("add", { a: 1, b: 2 })
      assert.strictEqual(text(sum), `{"sum":3}`)
      if (downstream.rules.structuredOutput && upstream.rules.structuredOutput) {
        assert.deepStrictEqual(sum.structuredContent, { sum: 3 })
      }
      assert.deepStrictEqual(yield* client.callTool(Add, { a: 1, b: 2 }), { sum: 3 })
      const odd: { readonly [key: string]: unknown } = yield* client.callToolByName("odd")
      assert.deepStrictEqual(odd.unknown, { kept: true })
      const error = yield* Effect.flip(client.callToolByName("break"))
      assert.deepInclude(error, { code: 4711, message: "broken", data: { why: "so" } })
      const missing = yield* Effect.flip(client.readResource("test://nowhere"))
      assert.deepInclude(missing, { code: downstream.rules.resourceNotFound, data: { uri: "test://nowhere" } })
    })
  )

  test(
    "The client's name and `_meta` are forwarded, but not its declarations",
    Effect.gen(function* () {
      const client = yield* join(downstream, { clientInfo: { name: "asker", version: "9" } })
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      const said = yield* client.callToolByName("meta", {}, { meta: { traceparent, "example.com/x": { y: 1 } } })
      const { clientInfo, meta } = JSON.parse(text(said))
      assert.deepInclude(clientInfo, { name: "asker", version: "9" })
      assert.deepInclude(meta, { traceparent, "example.com/x": { y: 1 } })
      const declared = Object.entries(meta).filter(([key]) => key.startsWith("io.modelcontextprotocol/"))
      assert.strictEqual(declared.length > 0, upstream.era === "stateless")
      if (upstream.era === "stateless") assert.strictEqual(meta[Meta.protocolVersion], upstream.version)
    })
  )

  test(
    "Progress is forwarded in order and before the result",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const events = yield* Stream.runCollect(client.callToolByNameStream("count"))
      const message = (n: number) =>
        downstream.rules.progressMessage && upstream.rules.progressMessage ? `step ${n}` : undefined
      assert.deepStrictEqual(
        events.map((event) =>
          event._tag === "Progress" ? [event.progress, event.total, event.message] : text(event.value)
        ),
        [[1, 3, message(1)], [2, 3, message(2)], [3, 3, message(3)], "done"]
      )
    })
  )

  test(
    "Logs are forwarded at the level set by the client",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const logs = yield* Queue.unbounded<unknown>()
      yield* Effect.forkScoped(
        Stream.runForEach(client.logs, (message) => Queue.offer(logs, message)),
        { startImmediately: true }
      )
      yield* client.setLogLevel("warning")
      yield* client.callToolByName("talk")
      assert.deepInclude(yield* Queue.take(logs), { level: "warning", logger: "talker", data: { said: "something" } })
      yield* client.setLogLevel("error")
      yield* client.callToolByName("talk")
      assert.strictEqual(yield* Queue.size(logs), 0)
    })
  )

  test(
    asks
      ? "A call's questions are forwarded to the user one after another, and the call runs once"
      : "Questions missing from either side's revision are not asked",
    Effect.gen(function* () {
      const client = yield* Effect.provide(join(downstream), everyone)
      const result = yield* client.callToolByName("greet", { first: "Ada" }).pipe(Effect.result)
      const { calls } = yield* Behind
      if (!asks) {
        assert.deepStrictEqual(calls, [])
        return
      }
      assert.strictEqual(result._tag === "Success" ? text(result.success) : "", "Ada! and And after Ada!!")
      assert.deepStrictEqual(calls, ["greeted Ada! and And after Ada!!"])
      assert.strictEqual(text(yield* client.callToolByName("both")), "left!,right!")
    })
  )

  test(
    "Questions for the model and for roots are forwarded",
    Effect.gen(function* () {
      const client = yield* Effect.provide(join(downstream), everyone)
      assert.strictEqual(text(yield* client.callToolByName("think")), "model 7")
      assert.strictEqual(text(yield* client.callToolByName("look")), "file:///work")
      assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
    })
  )

  test(
    "A client is never asked for anything it did not declare",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const result = yield* Effect.result(client.callToolByName("think"))
      assert.isTrue(result._tag === "Failure" || result.success.isError === true)
    })
  )

  test(
    "Cancelling a call is forwarded",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const { interrupted, started } = yield* Behind
      const fiber = yield* Effect.forkChild(client.callToolByName("hang"))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(interrupted)
      assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
    })
  )

  test(
    "List changes are forwarded",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const changes = yield* Queue.unbounded<void>()
      yield* Effect.forkScoped(
        Stream.runForEach(client.toolChanges, () => Queue.offer(changes, undefined)),
        { startImmediately: true }
      )
      // If changes need a subscription, that takes a round trip.
      yield* Effect.repeat(client.ping, { times: 3 })
      yield* client.callToolByName("grow")
      yield* Queue.take(changes)
      assert.strictEqual(text(yield* client.callToolByName("late")), "late")
    })
  )

  test(
    "Updates of a watched resource are forwarded",
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const { updates } = yield* Behind
      const events = yield* Queue.unbounded<string>()
      const fiber = yield* Effect.forkChild(
        Stream.runForEach(client.watchResource("test://news"), ({ _tag, uri }) => Queue.offer(events, `${_tag} ${uri}`))
      )
      assert.strictEqual(yield* Queue.take(events), "Watching test://news")
      yield* PubSub.publish(updates, undefined)
      assert.strictEqual(yield* Queue.take(events), "Updated test://news")
      yield* Fiber.interrupt(fiber)
    })
  )
})
