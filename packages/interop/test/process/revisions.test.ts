/**
 * One feature layer and one test body for every revision: in memory, as bytes, over a socket, over stdio, over HTTP and through a gateway.
 */
import { McpClient } from "@effect-mcp/client"
import { Elicitation, Roots, Sampling, Tool } from "@effect-mcp/core"
import * as Everything from "@effect-mcp/interop/reference/everything"
import { State } from "@effect-mcp/interop/reference/state"
import { McpError, Revision } from "@effect-mcp/protocol"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import { verifies } from "@effect-mcp/spec/verifies"
import { Harness } from "@effect-mcp/testing"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, Queue, Schema, Stream, SubscriptionRef } from "effect"
import { gateway, http, node, socket, sse, stdio, web } from "../support/harnesses.ts"
import { inlineTools, toolNames } from "../support/names.ts"
import { listening, untilHeard } from "../support/our-client.ts"

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const RootsTool = Tool.make("roots", {
  description: "Lists roots.",
  input: { afterChange: Schema.optionalKey(Schema.Boolean) },
  output: { roots: Schema.Array(Schema.Struct({ uri: Schema.String })) }
})

const roots = Effect.runSync(SubscriptionRef.make<ReadonlyArray<{ readonly uri: string }>>([]))
const host = Layer.mergeAll(
  Roots.layerRef(roots),
  Sampling.layer(() =>
    Effect.succeed({ role: "assistant", model: "parrot", content: { type: "text", text: "Pieces of eight" } })
  ),
  Elicitation.layer({
    form: () => Effect.succeed({ action: "accept", content: { username: "ada", email: "ada@example.com" } }),
    url: () => Effect.succeed({ action: "accept" })
  })
)

/** The server logs a handler that dies, which is expected here. */
const quiet = Logger.layer([])

const client = McpClient.McpClient
const textOf = ({ content: [block] }: CallToolResult): string => (block?.type === "text" ? block.text : "")
const call = (name: string, args?: { readonly [name: string]: unknown }) =>
  Effect.flatMap(client, (mcp) => mcp.callToolByName(name, args))

const cases = [
  ...Harness.cases(Revision.all, [Harness.memory, Harness.bytes, socket, stdio, http, node, web, gateway]),
  ...Harness.cases(Revision.stateful, [sse])
]

for (const { open, revision, title } of cases) {
  const { rules } = revision
  const connected = Layer.effect(client, open(Everything.features)).pipe(Layer.provide([State.layer, host, quiet]))

  layer(connected, { excludeTestServices: true })(title, (it) => {
    it.effect(
      "Our client negotiates the only shared revision",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, revision.version)
          assert.strictEqual(mcp.serverCapabilities.completions !== undefined, rules.completionsDeclared)
          yield* mcp.ping
        }),
      verifies("lifecycle.version.server-echoes-supported", "lifecycle.operation.version-respected")
    )

    it.effect("Our client lists the same tools in every revision, with output schemas if supported", () =>
      Effect.gen(function* () {
        const tools = yield* Stream.runCollect((yield* client).listTools)
        assert.deepStrictEqual(
          tools.map(({ name }) => name),
          rules.tasks || rules.extensions === "extensions" ? toolNames : inlineTools
        )
        const add = tools.find(({ name }) => name === "add")
        assert.strictEqual(add?.outputSchema !== undefined, rules.structuredOutput)
      })
    )

    it.effect(
      "Our client calls tools by name and by contract",
      () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* (yield* client).callTool(Add, { a: 1, b: 2 }), { sum: 3 })
          const result = yield* call("add", { a: 1, b: 2 })
          assert.deepStrictEqual(JSON.parse(textOf(result)), { sum: 3 })
          assert.deepStrictEqual(result.structuredContent, rules.structuredOutput ? { sum: 3 } : undefined)
        }),
      verifies("tools.result.structured-conforms", "tools.result.structured-text-mirror")
    )

    it.effect("Our client receives every content type in the revision, and text for the others", () =>
      Effect.gen(function* () {
        const types = (name: string) => Effect.map(call(name), ({ content }) => content.map(({ type }) => type))
        assert.deepStrictEqual(yield* types("test_multiple_content_types"), ["text", "image", "resource"])
        const hasAudio = revision.version !== "2024-11-05"
        assert.deepStrictEqual(yield* types("test_audio_content"), [hasAudio ? "audio" : "text"])
      })
    )

    it.effect(
      "Our client distinguishes failed tools from failed requests",
      () =>
        Effect.gen(function* () {
          assert.deepInclude(yield* call("fail", { as: "tool" }), { isError: true })
          const code = (name: string, args?: { readonly [name: string]: unknown }) =>
            Effect.map(Effect.flip(call(name, args)), (error) =>
              error instanceof McpError.McpError ? error.code : error._tag
            )
          assert.strictEqual(yield* code("fail", { as: "protocol" }), -32602)
          assert.strictEqual(yield* code("fail", { as: "defect" }), -32603)
          assert.strictEqual(yield* code("no_such_tool"), -32602)
          if (rules.invalidToolArguments === "result") {
            assert.deepInclude(yield* call("echo", { message: 1 }), { isError: true })
          } else assert.strictEqual(yield* code("echo", { message: 1 }), -32602)
        }),
      verifies("tools.call.error-in-result", "tools.call.unknown-tool", "tools.security.input-validated")
    )

    it.effect("Our client reports progress and interrupts an abandoned call's handler", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const reported = yield* Stream.runCollect(mcp.callToolByNameStream("test_tool_with_progress"))
        assert.deepStrictEqual(
          reported.flatMap((event) => (event._tag === "Progress" ? [event.progress] : [])),
          [0, 50, 100]
        )
        const uri = "test://interruptions"
        const events = yield* listening(mcp.watchResource(uri))
        yield* Queue.take(events)
        const progress = yield* Queue.unbounded<{ readonly message?: string | undefined }>()
        const slow = yield* Effect.forkChild(
          mcp.callToolByName(
            "slow",
            { label: title },
            { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
          )
        )
        const { message } = yield* Queue.take(progress)
        assert.strictEqual(message, rules.progressMessage ? `Waiting: ${title}` : undefined)
        yield* Fiber.interrupt(slow)
        yield* Queue.take(events)
        assert.deepStrictEqual(JSON.parse(yield* mcp.readResourceText(uri)), [title])
      })
    )

    it.effect(
      "Our client reads resources and gets prompts",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual((yield* Stream.runCollect(mcp.listResources)).length, 6)
          assert.strictEqual((yield* Stream.runCollect(mcp.listResourceTemplates)).length, 2)
          assert.match(yield* mcp.readResourceText("test://template/7/data"), /Data for ID: 7/)
          const { contents } = yield* mcp.readResource("test://static-binary")
          assert.deepInclude(contents[0], { mimeType: "image/png" })
          assert.deepInclude(yield* Effect.flip(mcp.readResource("test://nowhere")), {
            code: rules.resourceNotFound
          })
          const { messages } = yield* mcp.getPromptByName("test_prompt_with_arguments", { arg1: "a", arg2: "b" })
          assert.deepInclude(messages[0]?.content, { text: "Prompt with arguments: arg1='a', arg2='b'" })
          assert.deepInclude(yield* Effect.flip(mcp.getPromptByName("no_such_prompt")), { code: -32602 })
        }),
      verifies("resources.read.not-found", "prompts.get.unknown")
    )

    it.effect("Our client completes arguments", () =>
      Effect.gen(function* () {
        const { values } = yield* (yield* client).complete({
          ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
          argument: { name: "arg1", value: "TEST" }
        })
        assert.deepStrictEqual(values, ["testing", "testValue1"])
      })
    )

    it.effect(
      "Our client receives log messages at its level",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const logs = yield* listening(mcp.logs)
          yield* mcp.setLogLevel("alert")
          yield* call("log", { message: "hello" })
          const heard = yield* Queue.takeN(logs, 2)
          assert.deepStrictEqual(
            heard.map(({ level, data }) => [level, data]),
            [
              ["alert", "hello"],
              ["emergency", "hello"]
            ]
          )
        }),
      verifies("logging.level.threshold")
    )

    it.effect("Our client is notified of a new tool", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const changes = yield* listening(mcp.toolChanges)
        yield* untilHeard(changes, (name) => call("grow", { name }))
        assert.strictEqual(textOf(yield* call("grown_leaf")), "I am leaf.")
      })
    )

    it.effect("Our client provides its model and its roots", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        assert.strictEqual(textOf(yield* call("test_sampling", { prompt: "?" })), "LLM response: Pieces of eight")
        yield* SubscriptionRef.set(roots, [{ uri: "file:///old" }])
        assert.deepStrictEqual(yield* mcp.callTool(RootsTool, {}), { roots: [{ uri: "file:///old" }] })
        // A client without a session announces no change.
        if (revision.era === "stateless") return
        const events = yield* Stream.runCollect(
          Stream.tap(mcp.callToolStream(RootsTool, { afterChange: true }), ({ _tag }) =>
            _tag === "Progress" ? SubscriptionRef.set(roots, [{ uri: "file:///new" }]) : Effect.void
          )
        )
        assert.deepInclude(events.at(-1), { _tag: "Result", value: { roots: [{ uri: "file:///new" }] } })
      })
    )

    it.effect(
      "Our client's user is asked only if the revision supports the question",
      () =>
        Effect.gen(function* () {
          const answered = yield* call("test_elicitation", { message: "Who?" })
          assert.strictEqual(answered.isError === true, !rules.elicitation.form)
          assert.match(textOf(answered), rules.elicitation.form ? /action=accept.*ada/ : /elicitation\.form/)
          const visited = yield* call("visit", { url: "https://example.com/", id: title })
          assert.strictEqual(visited.isError === true, !rules.elicitation.url)
          assert.match(textOf(visited), rules.elicitation.url ? /on the way/ : /elicitation\.url/)
        }),
      verifies("lifecycle.operation.capabilities-respected", "elicitation.mode.not-undeclared")
    )
  })
}
