/**
 * A gateway between a client and a server of the official SDK v2 in 2026-07-28, over HTTP in front and stdio behind.
 */
import { NodeServices } from "@effect/platform-node"
import * as Stdio from "@effect-mcp/client/Stdio"
import { Gateway } from "@effect-mcp/gateway"
import { serve } from "@effect-mcp/interop/reference/node"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { fileURLToPath } from "node:url"
import { answering, call, connect, listening, Modern, textOf, using } from "../support/modern-sdk-v2.ts"
import { capabilities } from "../support/official.ts"

const server = fileURLToPath(new URL("../fixtures/sdk-v2-modern-server.ts", import.meta.url))
const gateway = Layer.merge(
  Gateway.layer({ connector: Stdio.open({ command: process.execPath, args: [server], stderr: "ignore" }) }),
  Logger.layer([])
).pipe(Layer.provide(NodeServices.layer))

const experimental = { "example.com/client": { wide: true } }
const relayed = Effect.gen(function* () {
  const port = yield* serve(gateway, { path: "/mcp" })
  return yield* connect({ url: `http://127.0.0.1:${port}/mcp`, declare: { ...capabilities, experimental } })
})

const logLevel = "io.modelcontextprotocol/logLevel"

layer(Layer.effect(Modern, relayed), { timeout: 60_000, excludeTestServices: true })(
  "A gateway between SDK v2 client and server in 2026-07-28",
  (it) => {
    it.effect("Each side sees the other side's experimental capabilities", () =>
      Effect.gen(function* () {
        const { client } = yield* Modern
        assert.deepStrictEqual(client.getServerCapabilities()?.experimental, { "example.com/server": { depth: 2 } })
        const declared = JSON.parse(textOf(yield* call("declared")))["io.modelcontextprotocol/clientCapabilities"]
        assert.deepStrictEqual(declared.experimental, experimental)
      })
    )

    it.effect("A call's `_meta` is forwarded", () =>
      Effect.gen(function* () {
        const _meta = { "example.com/own": { deep: [1] } }
        assert.deepInclude(JSON.parse(textOf(yield* call("meta", {}, { _meta }))), _meta)
      })
    )

    it.effect("A call's progress is forwarded", () =>
      Effect.gen(function* () {
        const events: Array<unknown> = []
        const onprogress = ({ progress, total }: any) => void events.push([progress, total])
        yield* using((client) => client.callTool({ name: "progress" }, { onprogress }))
        assert.deepStrictEqual(
          events,
          [1, 2, 3].map((step) => [step, 3])
        )
      })
    )

    it.effect("A call's log messages are forwarded from the requested level up, or not at all", () =>
      Effect.gen(function* () {
        const levels: Array<unknown> = []
        const until = yield* listening
        yield* call("log")
        yield* call("log", {}, { _meta: { [logLevel]: "info" } })
        yield* until(({ method, params }: any) => {
          if (method === "notifications/message") levels.push(params.level)
          return params?.level === "error"
        })
        assert.deepStrictEqual(levels, ["info", "error"])
      })
    )

    it.effect("A client's cancellation cancels the call upstream", () =>
      Effect.gen(function* () {
        const until = yield* listening
        const subscription = yield* using((client) => client.listen({ resourceSubscriptions: ["fixture://cancelled"] }))
        const aborter = new AbortController()
        const onprogress = () => aborter.abort("The user closed the window")
        const params = { name: "wait", arguments: { label: "left" } }
        yield* Effect.flip(using((client) => client.callTool(params, { signal: aborter.signal, onprogress })))
        yield* until(({ method }) => method === "notifications/resources/updated")
        const { contents } = yield* using((client) => client.readResource({ uri: "fixture://cancelled" }))
        assert.deepInclude(contents[0], { text: JSON.stringify(["left"]) })
        yield* Effect.promise(() => subscription.close())
      })
    )

    it.effect("A round's questions are forwarded to the client, and its answers to the server", () =>
      Effect.gen(function* () {
        yield* answering("elicitation/create", ({ mode }) =>
          mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } }
        )
        const model = { role: "assistant", model: "parrot", content: { type: "text", text: "It" } }
        yield* answering("sampling/createMessage", () => model)
        yield* answering("roots/list", () => ({ roots: [{ uri: "file:///here" }] }))
        const answers = JSON.parse(textOf(yield* call("everyone")))
        assert.deepInclude(answers.user, { action: "accept", content: { name: "Ada" } })
        assert.deepInclude(answers.model, model)
        assert.deepInclude(answers.roots, { roots: [{ uri: "file:///here" }] })
      })
    )

    it.effect("The client is notified of the server's tool list changes", () =>
      Effect.gen(function* () {
        const until = yield* listening
        const subscription = yield* using((client) => client.listen({ toolsListChanged: true }))
        yield* call("grow", { name: "branch" })
        yield* until(({ method }) => method === "notifications/tools/list_changed")
        assert.strictEqual(textOf(yield* call("branch")), "I am branch.")
        yield* Effect.promise(() => subscription.close())
      })
    )
  }
)
