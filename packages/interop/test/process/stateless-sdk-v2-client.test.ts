/** The official SDK v2 client drives the reference server in 2026-07-28, and detects the revision of a server. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import {
  answering,
  asks,
  call,
  connect,
  failure,
  interruption,
  listening,
  Modern,
  progress,
  textOf,
  using
} from "../support/modern-sdk-v2.ts"
import { inlineTools } from "../support/names.ts"

const timeout = 30_000
const options = { timeout, excludeTestServices: true }
const namesOf = (items: ReadonlyArray<{ readonly name: string }>) => items.map(({ name }) => name)

/** The client's answers: an accepting user, a model and a root. */
const hospitable = (content: object) =>
  Effect.all([
    answering("elicitation/create", () => ({ action: "accept", content })),
    answering("sampling/createMessage", () => ({
      role: "assistant",
      model: "parrot",
      content: { type: "text", text: "Paris" }
    })),
    answering("roots/list", () => ({ roots: [{ uri: "file:///here" }] }))
  ])

layer(Layer.effect(Modern, connect()), options)("TypeScript SDK v2 clients in 2026-07-28", (it) => {
  it.effect(
    "The SDK client discovers the server",
    () =>
      Effect.gen(function* () {
        const { client } = yield* Modern
        assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
        assert.strictEqual(client.getProtocolEra(), "modern")
        assert.deepInclude(client.getServerVersion(), { name: "effect-mcp-everything", title: "Everything" })
        assert.match(client.getInstructions() ?? "", /Call anything/)
        const { capabilities, supportedVersions } = yield* using((client) => client.discover())
        assert.deepStrictEqual(supportedVersions.toSorted(), [
          "2024-11-05",
          "2025-03-26",
          "2025-06-18",
          "2025-11-25",
          "2026-07-28"
        ])
        assert.deepStrictEqual(capabilities, client.getServerCapabilities())
        assert.deepStrictEqual(capabilities.resources, { subscribe: true, listChanged: true })
      }),
    verifies("discover.implemented", "discover.result.lists", "meta.result.server-info")
  )

  it.effect(
    "The SDK client lists and reads everything in 2026-07-28, with caching hints",
    () =>
      Effect.gen(function* () {
        const { wire } = yield* Modern
        const since = wire.received.length
        assert.deepStrictEqual(namesOf((yield* using((client) => client.listTools())).tools), inlineTools)
        assert.strictEqual((yield* using((client) => client.listResources())).resources.length, 6)
        assert.strictEqual((yield* using((client) => client.listResourceTemplates())).resourceTemplates.length, 2)
        assert.strictEqual((yield* using((client) => client.listPrompts())).prompts.length, 5)
        for (const uri of ["test://static-text", "test://static-binary", "test://template/7/data"]) {
          const { contents } = yield* using((client) => client.readResource({ uri }))
          assert.strictEqual(contents[0]?.uri, uri)
        }
        yield* using((client) => client.discover())
        const results = wire.received.slice(since).map(({ result }) => result)
        assert.strictEqual(results.length, 8)
        for (const result of results) {
          assert.deepInclude(result, { resultType: "complete", cacheScope: "private", ttlMs: 0 })
          assert.strictEqual(result._meta["io.modelcontextprotocol/serverInfo"].name, "effect-mcp-everything")
        }
      }),
    verifies("caching.hints.included", "caching.ttl.not-negative", "json-rpc.result.type-included")
  )

  it.effect(
    "The SDK client calls tools in 2026-07-28 and distinguishes failed tools from failed requests",
    () =>
      Effect.gen(function* () {
        const mixed = yield* call("test_multiple_content_types")
        assert.deepStrictEqual(
          mixed.content.map(({ type }: { readonly type: string }) => type),
          ["text", "image", "resource"]
        )
        assert.deepInclude(yield* call("add", { a: 1.5, b: 2 }), { structuredContent: { sum: 3.5 } })
        assert.strictEqual(textOf(yield* call("big", { bytes: 1_000_000 })).length, 1_000_000)
        assert.isTrue((yield* call("test_error_handling")).isError)
        assert.isTrue((yield* call("echo", { message: 1 })).isError)
        assert.strictEqual((yield* failure(call("no_such_tool"))).code, -32602)
        assert.strictEqual((yield* failure(call("fail", { as: "protocol" }))).code, -32602)
        assert.strictEqual((yield* failure(call("fail", { as: "defect" }))).code, -32603)
        const nowhere = yield* failure(using((client) => client.readResource({ uri: "test://nowhere" })))
        assert.strictEqual(nowhere.code, -32602)
        const { wire } = yield* Modern
        assert.strictEqual(wire.received.at(-1).error.code, -32602)
      }),
    verifies(
      "tools.call.error-in-result",
      "tools.call.unknown-tool",
      "tools.call.invalid-input-in-result",
      "tools.result.structured-conforms",
      "json-rpc.error.former"
    )
  )

  it.effect(
    "The SDK client receives progress in 2026-07-28 and cancels a call to stop its handler",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* progress, [0, 50, 100])
        assert.deepInclude(yield* interruption("enough"), { text: JSON.stringify(["enough"]) })
      }),
    verifies("progress.value.increases", "cancellation.receiver.stops", "stdio.cancel.stops")
  )

  it.effect(
    "The SDK client answers user, model and root questions in rounds in 2026-07-28",
    () =>
      Effect.gen(function* () {
        const { wire } = yield* Modern
        yield* hospitable({ name: "Ada", color: "red", ok: true, context: "cats" })
        assert.strictEqual(textOf(yield* asks("elicitation")), "Hello, Ada!")
        assert.strictEqual(textOf(yield* asks("sampling")), "Paris")
        assert.strictEqual(textOf(yield* asks("list_roots")), "Roots: file:///here")
        assert.strictEqual(textOf(yield* asks("request_state")), "state-ok")
        assert.strictEqual(textOf(yield* asks("multiple_inputs")), "Paris Ada, working in 1 folders")
        assert.strictEqual(textOf(yield* asks("multi_round")), "Ada likes red")
        assert.strictEqual(textOf(yield* asks("capabilities")), "User: Ada; model: Paris")
        const prompt = yield* using((client) => client.getPrompt({ name: "test_input_required_result_prompt" }))
        assert.deepInclude(prompt.messages[0]?.content, { text: "Let us talk about cats." })
        assert.isTrue(wire.received.every(({ id, method }) => method === undefined || id === undefined))
      }),
    verifies(
      "mrtr.server.asks-in-results",
      "mrtr.questions.kinds",
      "stdio.server.no-requests",
      "stateless.server.no-requests"
    )
  )

  it.effect(
    "The SDK client returns the state unchanged in 2026-07-28, with a new request id",
    () =>
      Effect.gen(function* () {
        const { wire } = yield* Modern
        yield* hospitable({ name: "Ada", color: "red" })
        const [sent, received] = [wire.sent.length, wire.received.length]
        yield* asks("multi_round")
        const requests = wire.sent.slice(sent)
        const results = wire.received.slice(received).map(({ result }) => result)
        assert.deepStrictEqual(
          results.map(({ inputRequests, resultType }) => [resultType, ...Object.keys(inputRequests ?? {})]),
          [["input_required", "step1"], ["input_required", "step2"], ["complete"]]
        )
        assert.strictEqual(new Set(requests.map(({ id }) => id)).size, 3)
        assert.deepStrictEqual(
          requests.map(({ params }) => params.requestState),
          [undefined, results[0].requestState, results[1].requestState]
        )
      }),
    verifies("mrtr.questions.unique-keys")
  )

  it.effect(
    "The SDK client reports the user's rejection and consents to a URL in 2026-07-28",
    () =>
      Effect.gen(function* () {
        for (const action of ["decline", "cancel"]) {
          yield* answering("elicitation/create", () => ({ action }))
          assert.deepInclude(yield* asks("elicitation"), { isError: true })
          const { content } = yield* call("test_elicitation", { message: "?" })
          assert.include(content[0].text, `action=${action}`)
        }
        let asked: any
        yield* answering("elicitation/create", (params) => {
          asked = params
          return { action: "accept" }
        })
        const visit = yield* call("visit", { url: "https://example.com/", id: "visit" })
        assert.strictEqual(textOf(visit), "The user is on the way.")
        assert.deepInclude(asked, { mode: "url", url: "https://example.com/" })
      }),
    verifies("elicitation.url.request")
  )

  it.effect("The SDK client gets prompts and completes arguments in 2026-07-28", () =>
    Effect.gen(function* () {
      const prompt = yield* using((client) =>
        client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })
      )
      assert.deepInclude(prompt.messages[0]?.content, { text: "Prompt with arguments: arg1='a', arg2='b'" })
      const complete = (ref: any, name: string, value: string, settled: { [name: string]: string } = {}) =>
        Effect.map(
          using((client) => client.complete({ ref, argument: { name, value }, context: { arguments: settled } })),
          ({ completion }) => completion.values
        )
      const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" }
      assert.deepStrictEqual(yield* complete(ref, "arg1", "test"), ["testing", "testValue1"])
      assert.deepStrictEqual(yield* complete(ref, "arg2", "x", { arg1: "y" }), ["x after y"])
      const template = { type: "ref/resource", uri: "test://template/{id}/data" }
      assert.deepStrictEqual(yield* complete(template, "id", "12"), ["123", "124"])
    })
  )

  it.effect(
    "The SDK client listens in 2026-07-28 until it unsubscribes",
    () =>
      Effect.gen(function* () {
        const { wire } = yield* Modern
        const until = yield* listening
        const uri = "test://watched-resource"
        const all = yield* using((client) =>
          client.listen({
            toolsListChanged: true,
            promptsListChanged: true,
            resourceSubscriptions: [uri, "test://nowhere"]
          })
        )
        assert.deepStrictEqual(all.honoredFilter, {
          toolsListChanged: true,
          promptsListChanged: true,
          resourceSubscriptions: [uri]
        })
        yield* call("touch")
        assert.deepInclude((yield* until(({ method }) => method === "notifications/resources/updated")).params, { uri })
        yield* call("test_trigger_tool_change")
        yield* until(({ method }) => method === "notifications/tools/list_changed")
        yield* call("test_trigger_prompt_change")
        yield* until(({ method }) => method === "notifications/prompts/list_changed")
        yield* Effect.promise(() => all.close())
        assert.strictEqual(yield* Effect.promise(() => all.closed), "local")
        const since = wire.received.length
        yield* call("touch")
        const tools = yield* using((client) => client.listen({ toolsListChanged: true }))
        yield* call("test_trigger_tool_change")
        yield* until(({ method }) => method === "notifications/tools/list_changed")
        yield* Effect.promise(() => tools.close())
        const methods = wire.received.slice(since).map(({ method }) => method)
        assert.notInclude(methods, "notifications/resources/updated")
      }),
    verifies(
      "subscriptions.acknowledged.subset",
      "subscriptions.filter.only-requested",
      "prompts.list-changed.sent",
      "tools.list-changed.sent"
    )
  )

  it.effect(
    "The SDK client receives the log messages requested by a call in 2026-07-28",
    () =>
      Effect.gen(function* () {
        const { wire } = yield* Modern
        const since = wire.received.length
        yield* call("log", { message: "silent" })
        yield* call("log", { message: "loud" }, { _meta: { "io.modelcontextprotocol/logLevel": "alert" } })
        assert.deepStrictEqual(
          wire.received.slice(since).flatMap(({ method, params }) => (method === undefined ? [] : [params])),
          [
            { level: "alert", logger: "everything", data: "loud" },
            { level: "emergency", logger: "everything", data: "loud" }
          ]
        )
      }),
    verifies("logging.request.silent", "logging.request.threshold")
  )
})

describe("TypeScript SDK v2 client", () => {
  it.live(
    "The SDK client is asked only declared questions in 2026-07-28 and is told which capability is missing",
    () =>
      Effect.gen(function* () {
        const modern = yield* connect({ declare: { sampling: {} } })
        yield* Effect.gen(function* () {
          yield* answering("sampling/createMessage", () => ({
            role: "assistant",
            model: "parrot",
            content: { type: "text", text: "hello" }
          }))
          assert.strictEqual(textOf(yield* asks("capabilities")), "User: nobody; model: hello")
          const missing = yield* failure(asks("elicitation"))
          assert.deepInclude(missing, { code: -32021 })
          assert.deepStrictEqual(missing.data.requiredCapabilities, { elicitation: { form: {} } })
        }).pipe(Effect.provideService(Modern, modern))
      }),
    { ...verifies("mrtr.questions.declared", "meta.capabilities.missing"), timeout }
  )

  it.live(
    "The SDK client subscribes automatically and relists changed features in 2026-07-28",
    () =>
      Effect.gen(function* () {
        const changed = yield* Deferred.make<ReadonlyArray<string>>()
        const modern = yield* connect({
          toolsChanged: (tools) => Deferred.doneUnsafe(changed, Effect.succeed(namesOf(tools)))
        })
        yield* Effect.provideService(call("grow", { name: "leaf" }), Modern, modern)
        assert.deepStrictEqual(yield* Deferred.await(changed), [...inlineTools, "grown_leaf"])
      }),
    { ...verifies("tools.list-changed.sent"), timeout }
  )

  it.live(
    "The SDK client negotiates the newest revision in either era, and questions arrive in both",
    () =>
      Effect.gen(function* () {
        const asked = Effect.fnUntraced(function* (options: Parameters<typeof connect>[0]) {
          const modern = yield* connect(options)
          const texts = yield* Effect.provideService(
            Effect.andThen(hospitable({ name: "Ada", color: "red" }), Effect.map(asks("multi_round"), textOf)),
            Modern,
            modern
          )
          return [modern.client.getNegotiatedProtocolVersion(), texts]
        }, Effect.scoped)
        const found = yield* Effect.all(
          [
            asked({ mode: "auto" }),
            asked({ mode: "legacy" }),
            asked({ mode: "auto", args: ["--revision", "2024-11-05"] })
          ],
          { concurrency: 3 }
        )
        assert.deepStrictEqual(found, [
          ["2026-07-28", "Ada likes red"],
          ["2025-11-25", "Ada likes red"],
          ["2024-11-05", "The client does not support elicitation.form"]
        ])
      }),
    timeout
  )
})
