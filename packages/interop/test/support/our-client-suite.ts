/** Our client with a server made with an official SDK: one suite for all such servers. */
import type { McpClient } from "@effect-mcp/client"
import { Prompt, Tool } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, type Layer, Queue, Schema, Stream } from "effect"
import { asking } from "./our-client-asking.ts"
import { call, client, Host, listening, textOf, using } from "./our-client.ts"

const Add = Tool.make("add", {
  description: "Adds.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const Fail = Tool.make("fail", { description: "Fails." })
const Greet = Prompt.make("greet", { arguments: { team: Schema.String, name: Schema.String } })

export const suite = <E>(name: string, connected: Layer.Layer<McpClient.McpClient | Host, E>) =>
  layer(connected, { excludeTestServices: true })(`Our client drives a ${name} server over 2025-11-25`, (it) => {
    it.effect(
      "Our client negotiates the newest revision and reads the server's name",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, "2025-11-25")
          assert.deepInclude(mcp.serverInfo, { name: "fixture", version: "1.2.3", title: "Fixture" })
          assert.strictEqual(mcp.instructions, "A fixture.")
          assert.deepInclude(mcp.serverCapabilities, { resources: { subscribe: true, listChanged: true } })
          yield* mcp.ping
        }),
      verifies("lifecycle.version.client-offers-latest", "lifecycle.initialized.sent", "stdio.client.supported")
    )

    it.effect("Our client lists tools and calls them by name and by contract", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const tools = yield* Stream.runCollect(mcp.listTools)
        assert.includeMembers(
          tools.map(({ name }) => name),
          ["echo", "add", "fail", "media", "wait", "roots"]
        )
        assert.strictEqual(yield* call("echo", { message: "hello" }), "hello")
        assert.deepStrictEqual(yield* mcp.callTool(Add, { a: 1, b: 2 }), { sum: 3 })
        assert.deepStrictEqual((yield* mcp.callToolByName("add", { a: 3, b: 4 })).structuredContent, { sum: 7 })
      })
    )

    it.effect("Our client receives a failed tool as a result or as a typed failure", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        assert.deepInclude(yield* mcp.callToolByName("fail"), { isError: true })
        const failure = yield* Effect.flip(mcp.callTool(Fail, {}))
        assert.strictEqual(failure._tag, "ToolFailure")
        assert.strictEqual(failure.message, "It failed")
      })
    )

    it.effect("Our client receives every kind of content as the server sent it", () =>
      Effect.gen(function* () {
        const { content } = yield* using((mcp) => mcp.callToolByName("media"))
        const [text, image, audio, embedded, link] = content
        assert.deepStrictEqual(text, {
          type: "text",
          text: "Look:",
          annotations: { audience: ["user"], priority: 0.5 }
        })
        assert.deepInclude(image, { type: "image", mimeType: "image/png" })
        assert.deepInclude(audio, { type: "audio", data: "AAAA", mimeType: "audio/wav" })
        assert.deepStrictEqual(embedded, {
          type: "resource",
          resource: { uri: "fixture://embedded", mimeType: "text/plain", text: "embedded" }
        })
        assert.deepStrictEqual(link, {
          type: "resource_link",
          uri: "fixture://text",
          name: "text",
          mimeType: "text/plain"
        })
      })
    )

    it.effect(
      "Our client reports a call's progress before its result",
      () =>
        Effect.gen(function* () {
          const events = yield* using((mcp) => Stream.runCollect(mcp.callToolByNameStream("progress")))
          assert.deepStrictEqual(
            events.map((event) => (event._tag === "Progress" ? event : textOf(event.value))),
            [
              ...[1, 2, 3].map((step) => ({
                _tag: "Progress" as const,
                progress: step,
                total: 3,
                message: `Step ${step}`
              })),
              "done"
            ]
          )
        }),
      verifies("progress.token.type", "progress.token.unique")
    )

    it.effect(
      "Our client cancels a call by interrupting it",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const events = yield* listening(mcp.watchResource("fixture://cancelled"))
          assert.strictEqual((yield* Queue.take(events))._tag, "Watching")
          const progress = yield* Queue.unbounded<unknown>()
          const waiting = yield* Effect.forkChild(
            mcp.callToolByName(
              "wait",
              { label: "given up" },
              { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
            )
          )
          yield* Queue.take(progress)
          yield* Fiber.interrupt(waiting)
          assert.strictEqual((yield* Queue.take(events))._tag, "Updated")
          assert.strictEqual(yield* mcp.readResourceText("fixture://cancelled"), JSON.stringify(["given up"]))
        }),
      verifies(
        "cancellation.sender.in-progress",
        "cancellation.notification.request-id",
        "cancellation.sender.ignores-late-response"
      )
    )

    it.effect("Our client lists and reads resources: text, bytes and template members", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const resources = yield* Stream.runCollect(mcp.listResources)
        assert.includeMembers(
          resources.map(({ uri }) => uri),
          ["fixture://text", "fixture://bytes"]
        )
        const templates = yield* Stream.runCollect(mcp.listResourceTemplates)
        assert.deepStrictEqual(
          templates.map(({ uriTemplate }) => uriTemplate),
          ["fixture://item/{id}"]
        )
        assert.strictEqual(yield* mcp.readResourceText("fixture://text"), "Some text.")
        assert.strictEqual(yield* mcp.readResourceText("fixture://item/7"), "Item 7")
        const { contents } = yield* mcp.readResource("fixture://bytes")
        assert.deepInclude(contents[0], { uri: "fixture://bytes", mimeType: "image/png" })
        const missing = yield* Effect.flip(mcp.readResource("fixture://nowhere"))
        assert.instanceOf(missing, McpError.McpError)
      })
    )

    it.effect("Our client subscribes while a resource is watched", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const uri = "fixture://text"
        yield* Effect.scoped(
          Effect.gen(function* () {
            const events = yield* listening(mcp.watchResource(uri))
            assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Watching", uri })
            yield* call("touch")
            assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Updated", uri })
            assert.include(yield* mcp.readResourceText("fixture://subscriptions"), uri)
          })
        )
        // Nothing waits for the answer to the last request of a watcher; over HTTP another may arrive first.
        const left = yield* Effect.repeat(mcp.readResourceText("fixture://subscriptions"), {
          until: (text) => !text.includes(uri),
          times: 1000
        })
        assert.notInclude(left, uri)
      })
    )

    it.effect("Our client is notified of a tool list change and finds the new tool", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const changes = yield* listening(mcp.toolChanges)
        yield* call("grow", { name: "sprout" })
        yield* Queue.take(changes)
        const tools = yield* Stream.runCollect(mcp.listTools)
        assert.include(
          tools.map(({ name }) => name),
          "sprout"
        )
        assert.strictEqual(yield* call("sprout"), "I am sprout.")
      })
    )

    it.effect("Our client lists prompts and gets one by name and by contract", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const [greet] = yield* Stream.runCollect(mcp.listPrompts)
        assert.deepStrictEqual(
          greet?.arguments?.map(({ name, required }) => [name, required]),
          [
            ["team", true],
            ["name", true]
          ]
        )
        const greeting = yield* mcp.getPrompt(Greet, { team: "red", name: "Ann" })
        assert.deepStrictEqual(greeting, {
          description: "A greeting",
          messages: [
            { role: "user", content: { type: "text", text: "Greet Ann of red." } },
            { role: "assistant", content: { type: "text", text: "Hello Ann!" } }
          ]
        })
        assert.deepStrictEqual(yield* mcp.getPromptByName("greet", { team: "red", name: "Ann" }), greeting)
        assert.instanceOf(yield* Effect.flip(mcp.getPromptByName("no_such_prompt")), McpError.McpError)
      })
    )

    it.effect(
      "Our client completes arguments, using the given ones",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const ref = { type: "ref/prompt", name: "greet" } as const
          const team = yield* mcp.complete({ ref, argument: { name: "team", value: "r" } })
          assert.deepStrictEqual(team.values, ["red"])
          const person = yield* mcp.complete({
            ref,
            argument: { name: "name", value: "" },
            context: { arguments: { team: "red" } }
          })
          assert.deepStrictEqual(person.values, ["Ann", "Bo"])
          const item = yield* mcp.complete({
            ref: { type: "ref/resource", uri: "fixture://item/{id}" },
            argument: { name: "id", value: "ap" }
          })
          assert.deepStrictEqual(item.values, ["apple", "apricot"])
        }),
      verifies("completion.client.context")
    )

    it.effect("Our client receives log messages at its requested level", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const logs = yield* listening(mcp.logs)
        yield* mcp.setLogLevel("info")
        yield* call("log")
        const heard = yield* Queue.takeN(logs, 3)
        assert.deepStrictEqual(
          heard,
          (["info", "warning", "error"] as const).map((level) => ({ level, logger: "fixture", data: { at: level } }))
        )
      })
    )

    asking(it)

    it.effect("Our client drops no server message", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Host).dropped, [])
      })
    )
  })
