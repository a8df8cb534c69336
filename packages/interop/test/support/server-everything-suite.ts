/** Our client with the reference server published by the protocol's project, over any wire. */
import type { McpClient } from "@effect-mcp/client"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, type Layer, Queue, Stream, SubscriptionRef } from "effect"
import { client, Host, listening } from "./our-client.ts"

const textOf = (name: string, args?: { readonly [name: string]: unknown }) =>
  Effect.map(
    Effect.flatMap(client, (mcp) => mcp.callToolByName(name, args)),
    ({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
  )

export const suite = <E>(wire: string, connected: Layer.Layer<McpClient.McpClient | Host, E>) =>
  layer(connected, { excludeTestServices: true })(
    `Our client drives server-everything over ${wire} in 2025-11-25`,
    (it) => {
      it.effect("Our client negotiates the newest revision and reads the instructions", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, "2025-11-25")
          assert.deepInclude(mcp.serverInfo, { name: "mcp-servers/everything", version: "2.0.0" })
          assert.match(mcp.instructions ?? "", /\S/)
        })
      )

      it.effect("Our client lists the server's tools, including those that depend on its capabilities", () =>
        Effect.gen(function* () {
          const tools = yield* Stream.runCollect(Stream.unwrap(Effect.map(client, (mcp) => mcp.listTools)))
          assert.includeMembers(
            tools.map(({ name }) => name),
            [
              "echo",
              "get-sum",
              "get-structured-content",
              "get-roots-list",
              "trigger-sampling-request",
              "trigger-elicitation-request",
              "trigger-url-elicitation"
            ]
          )
        })
      )

      it.effect(
        "Our client calls the server's tools, with structured content, links and annotations",
        () =>
          Effect.gen(function* () {
            const mcp = yield* client
            assert.strictEqual(yield* textOf("echo", { message: "hello" }), "Echo: hello")
            assert.strictEqual(yield* textOf("get-sum", { a: 1, b: 2 }), "The sum of 1 and 2 is 3.")
            const weather = yield* mcp.callToolByName("get-structured-content", { location: "Chicago" })
            assert.deepInclude(weather.structuredContent, { temperature: 36, humidity: 82 })
            const { content: links } = yield* mcp.callToolByName("get-resource-links", { count: 2 })
            assert.deepStrictEqual(
              links.map(({ type }) => type),
              ["text", "resource_link", "resource_link"]
            )
            const annotated = yield* mcp.callToolByName("get-annotated-message", {
              messageType: "error",
              includeImage: true
            })
            assert.deepInclude(annotated.content[0], { annotations: { priority: 1, audience: ["user", "assistant"] } })
            assert.deepInclude(annotated.content[1], { type: "image", mimeType: "image/png" })
          }),
        verifies("tools.result.structured-validated")
      )

      it.effect(`Our client calls a task-only tool and shows its stages`, () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const events = yield* Stream.runCollect(
            mcp.callToolByNameStream("simulate-research-query", { topic: "tasks", ambiguous: false })
          )
          assert.strictEqual(events.at(-1)?._tag, "Result")
          assert.include(JSON.stringify(events.at(-1)), "Research Report")
          assert.isAtLeast(events.length, 2)
        })
      )

      it.effect("Our client starts a task, lists it, follows it by id and cancels it", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const started = yield* mcp.startByName("simulate-research-query", { topic: "tasks" }, { ttl: "1 minute" })
          const id = started.id ?? assert.fail("the server made no task")
          const listed = yield* Stream.runCollect(mcp.listTasks)
          assert.include(
            listed.map((task) => task.id),
            id
          )
          yield* started.detach
          const again = yield* mcp.taskById(id)
          yield* again.cancel
          assert.strictEqual((yield* Effect.flip(again.result))._tag, "TaskCancelled")
        })
      )

      it.effect("Our client answers a task's questions", () =>
        Effect.gen(function* () {
          const { answers } = yield* Host
          const asked: Array<string> = []
          answers.form = ({ message }) => {
            asked.push(message)
            return { action: "accept", content: { interpretation: "technical" } }
          }
          const report = yield* textOf("simulate-research-query", { topic: "python", ambiguous: true })
          assert.match(report, /technical/)
          assert.lengthOf(asked, 1)
        })
      )

      it.effect("Our client runs the server's user and model questions as tasks", () =>
        Effect.gen(function* () {
          const { answers } = yield* Host
          answers.form = () => ({ action: "accept", content: { name: "Ada" } })
          assert.match(yield* textOf("trigger-elicitation-request-async"), /\[COMPLETED\][^]*Name: Ada/)
          answers.createMessage = () => ({
            role: "assistant",
            model: "m",
            content: { type: "text", text: "Said as a task" }
          })
          assert.match(yield* textOf("trigger-sampling-request-async", { prompt: "Say it" }), /Said as a task/)
        })
      )

      it.effect("Our client follows a long operation and interrupts another", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const operation = { duration: 0.03, steps: 3 }
          const events = yield* Stream.runCollect(mcp.callToolByNameStream("trigger-long-running-operation", operation))
          assert.deepStrictEqual(
            events.flatMap((event) => (event._tag === "Progress" ? [[event.progress, event.total]] : [])).slice(0, 2),
            [
              [1, 3],
              [2, 3]
            ]
          )
          assert.strictEqual(events.at(-1)?._tag, "Result")
          const progress = yield* Queue.unbounded<unknown>()
          const endless = yield* Effect.forkChild(
            mcp.callToolByName(
              "trigger-long-running-operation",
              { duration: 600, steps: 60_000 },
              { onProgress: (event) => void Queue.offerUnsafe(progress, event) }
            )
          )
          yield* Queue.take(progress)
          yield* Fiber.interrupt(endless)
          yield* mcp.ping
        })
      )

      it.effect("Our client reads resources and template members, and completes template variables", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const [first] = yield* Stream.runCollect(mcp.listResources)
          assert.isDefined(first)
          assert.match(yield* mcp.readResourceText(first?.uri ?? ""), /\S/)
          assert.match(yield* mcp.readResourceText("demo://resource/dynamic/text/3"), /^Resource 3: /)
          const { contents } = yield* mcp.readResource("demo://resource/dynamic/blob/4")
          const [blob] = contents
          assert.match(blob !== undefined && "blob" in blob ? atob(blob.blob) : "", /^Resource 4: /)
          const { values } = yield* mcp.complete({
            ref: { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" },
            argument: { name: "resourceId", value: "12" }
          })
          assert.deepStrictEqual(values, ["12"])
        })
      )

      it.effect("Our client is notified of updates to a watched resource", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const uri = "demo://resource/dynamic/text/1"
          const events = yield* listening(mcp.watchResource(uri))
          assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Watching", uri })
          yield* mcp.callToolByName("toggle-subscriber-updates")
          assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Updated", uri })
          yield* mcp.callToolByName("toggle-subscriber-updates")
        })
      )

      it.effect("Our client gets prompts and completes arguments that depend on each other", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const prompts = yield* Stream.runCollect(mcp.listPrompts)
          assert.includeMembers(
            prompts.map(({ name }) => name),
            ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"]
          )
          const { messages } = yield* mcp.getPromptByName("args-prompt", { city: "Oslo" })
          assert.deepStrictEqual(messages, [
            { role: "user", content: { type: "text", text: "What's weather in Oslo?" } }
          ])
          const { values } = yield* mcp.complete({
            ref: { type: "ref/prompt", name: "completable-prompt" },
            argument: { name: "name", value: "A" },
            context: { arguments: { department: "Engineering" } }
          })
          assert.deepStrictEqual(values, ["Alice"])
          const embedded = yield* mcp.getPromptByName("resource-prompt", { resourceType: "Text", resourceId: "2" })
          assert.strictEqual(embedded.messages[1]?.content.type, "resource")
        })
      )

      it.effect("Our client answers with its host's model, user and roots", () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const { answers, roots } = yield* Host
          answers.createMessage = ({ messages }) => ({
            role: "assistant",
            model: "parrot",
            stopReason: "endTurn",
            content: { type: "text", text: messages[0].content.text }
          })
          assert.match(yield* textOf("trigger-sampling-request", { prompt: "Say it" }), /Say it/)
          answers.form = ({ requestedSchema }) => {
            assert.deepStrictEqual(requestedSchema.properties.titledSingleSelectEnum.oneOf[0], {
              const: "hero-1",
              title: "Superman"
            })
            return { action: "accept", content: { name: "Ada", check: true } }
          }
          assert.match(yield* textOf("trigger-elicitation-request"), /Ada/)
          answers.form = () => ({ action: "decline" })
          assert.match(yield* textOf("trigger-elicitation-request"), /declined/)
          answers.url = () => ({ action: "accept" })
          const url = "https://example.com/"
          assert.match(
            yield* textOf("trigger-url-elicitation", { url, message: "Go", elicitationId: "a" }),
            /completed/
          )
          assert.match(yield* textOf("get-roots-list"), /file:\/\/\/old/)
          const logs = yield* listening(mcp.logs)
          yield* SubscriptionRef.set(roots, [{ uri: "file:///new" }])
          // The server also logs the roots that it requested by itself.
          const asked = Effect.flatMap(Queue.take(logs), ({ data }) => {
            assert.match(String(data), /Roots updated/)
            return textOf("get-roots-list")
          })
          yield* Effect.repeat(asked, { until: (text) => text.includes("file:///new") })
        })
      )

      it.effect("Our client drops no server message", () =>
        Effect.gen(function* () {
          // A request that was interrupted, such as tasks/result, may have been answered already.
          const dropped = (yield* Host).dropped.filter(
            (reason) => !reason.startsWith("A response to an unknown request")
          )
          assert.deepStrictEqual(dropped, [])
        })
      )
    }
  )
