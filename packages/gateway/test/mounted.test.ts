/** Features of another server mounted into your own: their questions go to the caller, in every pair of revisions. */
import * as Sources from "@effect-mcp/client/Sources"
import { Elicitation, Prompt, Prompts, Resources, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { needs } from "@effect-mcp/spec/skip"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { Behind, behind, join, pairs } from "./support/gateway.ts"

const text = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

/** A user that answers each question with this name. */
const user = (name: string) =>
  Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name } }) })
const model = (name: string) =>
  Sampling.layer(() => Effect.succeed({ role: "assistant", content: { type: "text", text: "!" }, model: name }))
const roots = (uri: string) => Roots.layerStatic([{ uri }])

/** A server that mounts the whole upstream server; `own` contains the answers of the mounting process itself. */
const mounting = (
  upstream: Revision.Revision,
  own: Layer.Layer<Elicitation.Elicitation> | typeof Sources.layerCallers
) =>
  Effect.gen(function* () {
    const client = yield* McpTest.join(upstream).pipe(Effect.provide(yield* Layer.build(behind)), Effect.provide(own))
    const features = Layer.effectDiscard(
      Effect.gen(function* () {
        yield* (yield* Tools.ToolRegistry).mount(Sources.tools(client), { prefix: "b." })
        yield* (yield* Prompts.PromptRegistry).mount(Sources.prompts(client), { prefix: "b." })
        yield* (yield* Resources.ResourceRegistry).mount(Sources.resources(client), { prefix: "b+" })
      })
    )
    return McpServer.layer({ name: "mounting", version: "1", features })
  }).pipe(Layer.unwrap, Layer.provideMerge(Behind.layer), Layer.fresh)

describe.each(pairs)("Mounted features, $title", ({ downstream, upstream }) => {
  const asks = downstream.rules.elicitation.form && upstream.rules.elicitation.form
  const caller = (name: string) => Effect.provide(join(downstream), user(name), { local: true })

  it.effect(
    "Mounted tools ask the caller instead of the mounting process's user",
    () =>
      Effect.gen(function* () {
        const client = yield* caller("caller")
        assert.strictEqual(text(yield* client.callToolByName("b.greet", { first: "first" })), "caller and caller")
        const other = yield* caller("other")
        assert.strictEqual(text(yield* other.callToolByName("b.greet", { first: "first" })), "other and other")
      }).pipe(Effect.provide(mounting(upstream, user("process")))),
    needs(asks, "one of the two revisions has no elicitation")
  )

  it.effect("Mounted tools ask for the caller's model and roots", () =>
    Effect.gen(function* () {
      const services = Layer.merge(model("caller's"), roots("file:///caller"))
      const client = yield* Effect.provide(join(downstream), services)
      assert.strictEqual(text(yield* client.callToolByName("b.think")), "caller's")
      assert.strictEqual(text(yield* client.callToolByName("b.look")), "file:///caller")
    }).pipe(Effect.provide(mounting(upstream, Sources.layerCallers)))
  )

  it.effect(
    "Mounted tools ask nobody if the caller cannot be asked",
    () =>
      Effect.gen(function* () {
        const client = yield* join(downstream)
        const result = yield* Effect.result(client.callToolByName("b.greet", { first: "first" }))
        assert.notInclude(JSON.stringify(result), "process and process")
        assert.deepStrictEqual(
          (yield* Behind).calls.filter((call) => call.startsWith("greeted")),
          []
        )
      }).pipe(Effect.provide(mounting(upstream, user("process")))),
    needs(upstream.rules.elicitation.form, "the revision of the server has no elicitation")
  )

  it.effect("Mounted features keep their argument completions for prompts and templates", () =>
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const { values } = yield* client.complete({
        ref: { type: "ref/prompt", name: "b.review" },
        argument: { name: "file", value: "ma" }
      })
      assert.deepStrictEqual(values, ["main.ts", "map.ts"])
      const none = yield* client.complete({
        ref: { type: "ref/resource", uri: "b+test://item/{id}" },
        argument: { name: "id", value: "" }
      })
      assert.deepStrictEqual(none.values, [])
      const unknown = yield* Effect.flip(
        client.complete({ ref: { type: "ref/prompt", name: "review" }, argument: { name: "file", value: "" } })
      )
      assert.include(unknown.message, "review")
    }).pipe(Effect.provide(mounting(upstream, Sources.layerCallers)))
  )

  it.effect("Mounted resource URIs are prefixed only in lists and read results", () =>
    Effect.gen(function* () {
      const client = yield* join(downstream)
      const listed = yield* Stream.runCollect(client.listResources)
      assert.deepStrictEqual(
        listed.map(({ uri }) => uri),
        ["b+test://news"]
      )
      const templates = yield* Stream.runCollect(client.listResourceTemplates)
      assert.deepStrictEqual(
        templates.map(({ uriTemplate }) => uriTemplate),
        ["b+test://item/{id}"]
      )
      assert.deepInclude((yield* client.readResource("b+test://item/7")).contents[0], {
        uri: "b+test://item/7",
        text: "item 7"
      })
      assert.include((yield* Effect.flip(client.readResource("test://news"))).message, "test://news")
    }).pipe(Effect.provide(mounting(upstream, Sources.layerCallers)))
  )
})

describe.each(Revision.all)("Two servers mounted without a prefix, $version", (revision) => {
  it.effect("Each mounted server answers for its own features, and the first for shared ones", () =>
    Effect.gen(function* () {
      const serving = (title: string, names: ReadonlyArray<string>) =>
        McpTest.connect(
          Layer.mergeAll(
            Layer.empty,
            ...names.map((name) =>
              Tools.layer(Tool.make(name, { description: "" }), () => Effect.succeed(`${title} ${name}`))
            ),
            ...names.map((name) => Prompts.layer(Prompt.make(name), () => Effect.succeed(`${title} ${name}`)))
          ),
          revision
        )
      const servers = [yield* serving("first", ["a", "both"]), yield* serving("second", ["b", "both"])]
      const features = Layer.effectDiscard(
        Effect.forEach(servers, (server) =>
          Effect.gen(function* () {
            yield* (yield* Tools.ToolRegistry).mount(Sources.tools(server))
            yield* (yield* Prompts.PromptRegistry).mount(Sources.prompts(server))
          })
        )
      )
      const client = yield* McpTest.connect(features, revision)
      const names = ["a", "b", "both"]
      const called = yield* Effect.forEach(names, (name) => Effect.map(client.callToolByName(name), text))
      assert.deepStrictEqual(called, ["first a", "second b", "first both"])
      const prompts = yield* Effect.forEach(names, (name) =>
        Effect.map(client.getPromptByName(name), ({ messages }) =>
          text({ content: messages.map((one) => one.content) })
        )
      )
      assert.deepStrictEqual(prompts, called)
    })
  )
})

describe.each(Revision.all)("Two servers with one name mounted with prefixes, $version", (revision) => {
  it.effect(
    "Prefixes keep the tools of two mounted servers apart",
    () =>
      Effect.gen(function* () {
        const serving = (title: string) =>
          McpTest.connect(
            Tools.layer(Tool.make("both", { description: "" }), () => Effect.succeed(title)),
            revision
          )
        const first = yield* serving("first")
        const second = yield* serving("second")
        assert.strictEqual(first.serverInfo.name, second.serverInfo.name)
        const features = Layer.effectDiscard(
          Effect.gen(function* () {
            const registry = yield* Tools.ToolRegistry
            yield* registry.mount(Sources.tools(first), { prefix: "x." })
            yield* registry.mount(Sources.tools(second), { prefix: "y." })
          })
        )
        const client = yield* McpTest.connect(features, revision)
        const listed = yield* Stream.runCollect(client.listTools)
        assert.deepStrictEqual(
          listed.map(({ name }) => name),
          ["x.both", "y.both"]
        )
        assert.strictEqual(text(yield* client.callToolByName("x.both")), "first")
        assert.strictEqual(text(yield* client.callToolByName("y.both")), "second")
      }),
    verifies("tools.name.disambiguated", "tools.name.not-by-server-name")
  )
})

describe("Questions that name no call", () => {
  it.effect("A question without a call is rejected while two callers have calls in flight", () =>
    Effect.gen(function* () {
      const { started } = yield* Behind
      const first = yield* Effect.provide(join(Revision.latestStateful), user("first"), { local: true })
      const second = yield* Effect.provide(join(Revision.latestStateful), user("second"), { local: true })
      const waiting = yield* Effect.forkChild(first.callToolByName("b.hang"), { startImmediately: true })
      yield* Deferred.await(started)
      const result = yield* Effect.result(second.callToolByName("b.greet", { first: "first" }))
      assert.include(JSON.stringify(result), "Several callers")
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(mounting(Revision.latestStateful, user("process"))))
  )

  it.effect("A question without a call reaches the caller while other calls share its connection", () =>
    Effect.gen(function* () {
      const { started } = yield* Behind
      const client = yield* Effect.provide(join(Revision.latestStateful), user("caller"))
      const waiting = yield* Effect.forkChild(client.callToolByName("b.hang"), { startImmediately: true })
      yield* Deferred.await(started)
      assert.strictEqual(text(yield* client.callToolByName("b.greet", { first: "first" })), "caller and caller")
      yield* Fiber.interrupt(waiting)
    }).pipe(Effect.provide(mounting(Revision.latestStateful, user("process"))))
  )
})
