/** Our client with default options and a server of 2026-07-28 made with the official SDK v2, over any wire. */
import type { McpClient } from "@effect-mcp/client"
import { McpError } from "@effect-mcp/protocol"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, type Layer, Queue, Stream } from "effect"
import { call, client, Host, listening, textOf, untilHeard, using } from "./our-client.ts"

/** Answers every form with the same values. */
const user = (content: { readonly [field: string]: string }) =>
  Effect.map(Host, ({ answers }) => {
    answers.form = () => ({ action: "accept", content })
  })

export const suite = <E>(wire: string, connected: Layer.Layer<McpClient.McpClient | Host, E>) =>
  layer(connected, { excludeTestServices: true })(`Our client drives the SDK v2 over ${wire} in 2026-07-28`, (it) => {
    it.effect(
      "Our client detects the server's revision",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          assert.strictEqual(mcp.revision.version, "2026-07-28")
          assert.deepInclude(mcp.serverInfo, { name: "modern", version: "1.2.3" })
          assert.strictEqual(mcp.instructions, "A fixture of both eras.")
          assert.deepStrictEqual(mcp.serverCapabilities.resources, { subscribe: true, listChanged: true })
          yield* mcp.ping
        }),
      verifies("stdio.compatibility.probes", "meta.request.required")
    )

    it.effect(
      "Our client lists and calls tools in 2026-07-28",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const tools = yield* Stream.runCollect(mcp.listTools)
          assert.includeMembers(
            tools.map(({ name }) => name),
            ["echo", "add", "greet"]
          )
          assert.strictEqual(yield* call("echo", { message: "hello" }), "hello")
          assert.deepInclude(yield* mcp.callToolByName("add", { a: 1, b: 2 }), { structuredContent: { sum: 3 } })
          assert.deepInclude(yield* mcp.callToolByName("fail"), { isError: true })
          assert.deepInclude(yield* Effect.flip(mcp.callToolByName("no_such_tool")), { code: -32602 })
        }),
      verifies("tools.result.structured-validated")
    )

    it.effect(
      "Our client reports progress in 2026-07-28 and cancels a call by interrupting it",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const events = yield* Stream.runCollect(mcp.callToolByNameStream("progress"))
          assert.deepStrictEqual(
            events.map((event) => (event._tag === "Progress" ? event.progress : textOf(event.value))),
            [1, 2, 3, "done"]
          )
          const updates = yield* listening(mcp.watchResource("fixture://cancelled"))
          yield* Queue.take(updates)
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
          assert.deepInclude(yield* Queue.take(updates), { _tag: "Updated" })
          assert.strictEqual(yield* mcp.readResourceText("fixture://cancelled"), JSON.stringify(["given up"]))
        }),
      verifies("cancellation.client.sent", "cancellation.stdio.notification")
    )

    it.effect(
      "Our client answers questions from tools, prompts and resources in 2026-07-28",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          yield* user({ name: "Ada", topic: "cats", word: "words" })
          assert.strictEqual(yield* call("greet"), "Hello, Ada!")
          assert.strictEqual(yield* mcp.readResourceText("fixture://secret"), "The secret of words")
          const { messages } = yield* mcp.getPromptByName("about")
          assert.deepStrictEqual(messages, [{ role: "user", content: { type: "text", text: "Talk about cats." } }])
          const { answers } = yield* Host
          yield* user({ name: "Ada" })
          answers.createMessage = () => ({
            role: "assistant",
            model: "parrot",
            content: { type: "text", text: "It" }
          })
          answers.url = () => ({ action: "decline" })
          assert.deepStrictEqual(JSON.parse(yield* call("everyone")), {
            user: { action: "accept", content: { name: "Ada" } },
            model: { role: "assistant", model: "parrot", content: { type: "text", text: "It" } },
            roots: { roots: [{ uri: "file:///old", name: "Old" }] },
            page: { action: "decline" }
          })
        }),
      verifies("mrtr.client.answers-all", "mrtr.client.state-not-invented", "mrtr.client.only-retry")
    )

    it.effect(
      "Our client returns each state to its own request in 2026-07-28, round by round",
      () =>
        Effect.gen(function* () {
          const { answers } = yield* Host
          answers.form = ({ message }) => ({
            action: "accept",
            content: message === "Who?" ? { name: "Ada" } : { color: "red" }
          })
          assert.strictEqual(yield* call("rounds"), "Ada likes red")
        }),
      verifies("mrtr.client.state-echoed", "mrtr.state.opaque")
    )

    it.effect("Our client reads resources, gets prompts and completes arguments in 2026-07-28", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const resources = yield* Stream.runCollect(mcp.listResources)
        assert.includeMembers(
          resources.map(({ uri }) => uri),
          ["fixture://touched", "fixture://cancelled"]
        )
        assert.strictEqual((yield* Stream.runCollect(mcp.listResourceTemplates)).length, 1)
        assert.strictEqual(yield* mcp.readResourceText("fixture://item/7"), "Item 7")
        assert.instanceOf(yield* Effect.flip(mcp.readResource("fixture://nowhere")), McpError.McpError)
        assert.strictEqual((yield* Stream.runCollect(mcp.listPrompts)).length, 2)
        const { messages } = yield* mcp.getPromptByName("greet", { team: "red", name: "Ann" })
        assert.deepInclude(messages[0]?.content, { text: "Greet Ann of red." })
        const ref = { type: "ref/prompt", name: "greet" } as const
        const team = yield* mcp.complete({ ref, argument: { name: "team", value: "r" } })
        assert.deepStrictEqual(team.values, ["red"])
        const context = { arguments: { team: "red" } }
        const names = yield* mcp.complete({ ref, argument: { name: "name", value: "" }, context })
        assert.deepStrictEqual(names.values, ["Ann", "Bo"])
        const item = { type: "ref/resource", uri: "fixture://item/{id}" } as const
        const ids = yield* mcp.complete({ ref: item, argument: { name: "id", value: "ap" } })
        assert.deepStrictEqual(ids.values, ["apple", "apricot"])
      })
    )

    it.effect(
      "Our client listens while a resource is watched in 2026-07-28, and caches as hinted",
      () =>
        Effect.gen(function* () {
          const mcp = yield* client
          const uri = "fixture://touched"
          const cached = yield* mcp.readResourceText("fixture://cached")
          const fresh = yield* mcp.readResourceText(uri)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const events = yield* listening(mcp.watchResource(uri))
              assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Watching", uri })
              yield* call("touch")
              assert.deepStrictEqual(yield* Queue.take(events), { _tag: "Updated", uri })
            })
          )
          assert.notStrictEqual(yield* mcp.readResourceText(uri), fresh)
          // Any update may concern a part of the resource, so it is read again, and then cached.
          const again = yield* mcp.readResourceText("fixture://cached")
          assert.notStrictEqual(again, cached)
          yield* call("touch")
          assert.strictEqual(yield* mcp.readResourceText("fixture://cached"), again)
        }),
      verifies(
        "subscriptions.stdio.correlated",
        "caching.ttl.positive",
        "caching.ttl.zero",
        "caching.notification.invalidates"
      )
    )

    it.effect("Our client is notified of a new tool in 2026-07-28", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const changes = yield* listening(mcp.toolChanges)
        yield* untilHeard(changes, (name) => call("grow", { name }))
        const tools = yield* Stream.runCollect(mcp.listTools)
        assert.include(
          tools.map(({ name }) => name),
          "leaf"
        )
        assert.strictEqual(yield* call("leaf"), "I am leaf.")
      })
    )

    it.effect("Our client sends a tool's header argument in 2026-07-28 if the wire has headers", () =>
      Effect.gen(function* () {
        for (const region of ["nord", "sør", " padded ", "=?base64?literal?="]) {
          assert.strictEqual(yield* call("route", { region }), `Routed to ${region}.`)
        }
      })
    )

    it.effect("Our client receives the log messages its requests ask for in 2026-07-28", () =>
      Effect.gen(function* () {
        const mcp = yield* client
        const logs = yield* listening(mcp.logs)
        yield* call("log")
        yield* mcp.setLogLevel("info")
        yield* call("log")
        assert.deepStrictEqual(
          (yield* Queue.takeN(logs, 2)).map(({ data, level }) => [level, data]),
          [
            ["info", { at: "info" }],
            ["error", { at: "error" }]
          ]
        )
      })
    )

    it.effect("Our client drops no server message in 2026-07-28", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* Host).dropped, [])
        assert.strictEqual(yield* using((mcp) => Effect.succeed(mcp.revision.era)), "stateless")
      })
    )
  })
