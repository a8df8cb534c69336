/** Clients over stdio drive the protocol's own reference server over Streamable HTTP through a proxy. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer, PubSub } from "effect"
import { connect, Official } from "../support/official.ts"
import { using } from "../support/official/calls.ts"
import { overStdio, serverEverything } from "../support/proxy.ts"
import * as v1 from "../support/sdk-v1.ts"
import * as v2 from "../support/sdk-v2.ts"

const textOf = ({ content }: { readonly content: ReadonlyArray<any> }): string =>
  content.map(({ text }) => text).join("\n")

for (const { connector, name } of [
  { name: "The TypeScript SDK v1 client", connector: v1.connector },
  { name: "The TypeScript SDK v2 client", connector: v2.connector }
]) {
  const connected = Effect.flatMap(serverEverything, ({ url }) =>
    connect((host) => connector({ ...host, args: overStdio(url) }))
  )
  layer(Layer.effect(Official, connected), { excludeTestServices: true })(
    `${name} drives server-everything through a stdio to Streamable HTTP proxy`,
    (it) => {
      it.effect(
        "The SDK client sees the upstream server's name, and the tools that depend on client capabilities",
        () =>
          Effect.gen(function* () {
            const { answers, client } = yield* Official
            answers.set("roots/list", () => ({ roots: [{ uri: "file:///project", name: "Work" }] }))
            assert.deepInclude(client.getServerVersion(), { name: "mcp-servers/everything" })
            const tools = yield* using((client) => client.allTools())
            assert.includeMembers(
              tools.map(({ name }) => name),
              ["echo", "get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"]
            )
            assert.strictEqual(
              textOf(yield* using((client) => client.callTool("echo", { message: "hello" }))),
              "Echo: hello"
            )
          })
      )

      it.effect("The SDK client receives progress through a proxy", () =>
        Effect.gen(function* () {
          const events: Array<unknown> = []
          yield* using((client) =>
            client.callTool(
              "trigger-long-running-operation",
              { duration: 0.3, steps: 3 },
              { onprogress: ({ progress, total }) => void events.push([progress, total]) }
            )
          )
          // These clients lose messages that arrive together with the answer.
          const reported = [1, 2, 3].map((step) => [step, 3])
          assert.isNotEmpty(events)
          assert.deepStrictEqual(events, reported.slice(0, events.length))
        })
      )

      it.effect("The SDK client cancels a call through a proxy and continues", () =>
        Effect.gen(function* () {
          const { client } = yield* Official
          const controller = new AbortController()
          const moved = yield* Deferred.make<void>()
          const endless = client.callTool(
            "trigger-long-running-operation",
            { duration: 600, steps: 60_000 },
            { signal: controller.signal, onprogress: () => void Deferred.doneUnsafe(moved, Effect.void) }
          )
          const ended = endless.then(
            () => "answered",
            () => "cancelled"
          )
          yield* Deferred.await(moved)
          controller.abort()
          assert.strictEqual(yield* Effect.promise(() => ended), "cancelled")
          yield* using((client) => client.ping())
        })
      )

      it.effect("The SDK client is asked for its model, user and roots through a proxy", () =>
        Effect.gen(function* () {
          const { answers } = yield* Official
          answers.set("roots/list", () => ({ roots: [{ uri: "file:///project", name: "Work" }] }))
          answers.set("sampling/createMessage", ({ messages }) => ({
            role: "assistant",
            model: "parrot",
            content: { type: "text", text: JSON.stringify(messages) }
          }))
          answers.set("elicitation/create", ({ mode }) =>
            mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada", check: true } }
          )
          const said = yield* using((client) => client.callTool("trigger-sampling-request", { prompt: "Say it" }))
          assert.match(textOf(said), /Say it/)
          const filled = yield* using((client) => client.callTool("trigger-elicitation-request"))
          assert.match(textOf(filled), /Ada/)
          const roots = yield* using((client) => client.callTool("get-roots-list"))
          // The server keeps the roots that it asked for first, here or for its logs.
          assert.match(textOf(roots), /file:\/\/\/(?:project|other)/)
        })
      )

      it.effect("The SDK client receives the server's logs through a proxy", () =>
        Effect.gen(function* () {
          const { answers, notifications } = yield* Official
          answers.set("roots/list", () => ({ roots: [{ uri: "file:///other" }] }))
          const heard = yield* PubSub.subscribe(notifications)
          yield* using((client) => client.setLoggingLevel("debug"))
          yield* using((client) => client.sendRootsListChanged())
          const next: Effect.Effect<any> = Effect.flatMap(PubSub.take(heard), (one) =>
            one.method === "notifications/message" ? Effect.succeed(one.params) : next
          )
          assert.match(String((yield* next).data), /Roots updated/)
        })
      )
    }
  )
}
