import * as Consent from "@effect-mcp/client/Consent"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, SubscriptionRef } from "effect"
import { asker, refused } from "../support/asking.ts"
import { all, connected, versions } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { answer, asked, codeOf, declared, model, sampling } from "../support/questions.ts"

const home = Roots.layerStatic([{ uri: "file:///home/ada", name: "Home" }])
describe.each(all)("Clients of %s", (version) => {
  it.effect(
    "A client without services declares nothing and has no question methods",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* declared(version), {})
        for (const method of ["roots/list", "sampling/createMessage", "elicitation/create", "no/such"]) {
          assert.strictEqual(yield* codeOf(version, method, sampling), refused(version, -32601), method)
        }
      }),
    verifies("roots.error.not-supported")
  )

  it.effect(
    "A client declares its model and calls it",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* declared(version), { sampling: {} })
        assert.deepStrictEqual(yield* asked(version, "sampling/createMessage", sampling), answer)
      }).pipe(Effect.provide(model())),
    verifies("sampling.capability.declared")
  )

  it.effect(
    "A rejected or failed sampling request is answered with an error",
    () =>
      Effect.gen(function* () {
        const rejected = Sampling.layer(() => Effect.fail(new McpError.McpError({ code: -1, message: "No" })))
        assert.strictEqual(
          yield* codeOf(version, "sampling/createMessage", sampling).pipe(Effect.provide(rejected)),
          -1
        )
        const dead = Sampling.layer(() => Effect.die("no model"))
        // In a call, a defect belongs to the caller.
        if (version !== Modern.version) {
          assert.strictEqual(
            yield* codeOf(version, "sampling/createMessage", sampling).pipe(Effect.provide(dead)),
            -32603
          )
        }
        assert.strictEqual(
          yield* codeOf(version, "sampling/createMessage", { maxTokens: 1 }).pipe(Effect.provide(dead)),
          refused(version, -32602)
        )
      }),
    verifies("sampling.error.rejected", "sampling.error.returned")
  )

  it.effect.each([
    ["base64", { type: "image", data: "A", mimeType: "image/png" }],
    ["media type", { type: "audio", data: "AAAA", mimeType: "wav" }],
    ["priority", { type: "text", text: "", annotations: { priority: 7 } }]
  ] as const)("A client never sends an answer of its model with an invalid %s", ([, content]) =>
    Effect.gen(function* () {
      const wrong = Sampling.layer(() => Effect.succeed({ role: "assistant", model: "double", content }))
      assert.strictEqual(yield* codeOf(version, "sampling/createMessage", sampling).pipe(Effect.provide(wrong)), -32603)
    })
  )

  it.effect(
    "A client declares and lists its roots",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* declared(version), { roots: {} })
        assert.deepStrictEqual(yield* asked(version, "roots/list"), {
          roots: [{ uri: "file:///home/ada", name: "Home" }]
        })
      }).pipe(Effect.provide(home)),
    verifies("roots.capability.declared", "roots.uri.file")
  )

  it.effect.each([
    "https://example.com",
    "home",
    "file:///home/ada/../bob",
    "file:///home/%2e%2E/bob",
    "file:///home/ada/.."
  ])(
    "A client never sends %s as a root",
    (uri) =>
      Effect.gen(function* () {
        assert.strictEqual(
          yield* codeOf(version, "roots/list").pipe(Effect.provide(Roots.layerStatic([{ uri }]))),
          -32603
        )
      }),
    verifies("roots.client.uri-validated", "roots.uri.file", "roots.error.internal")
  )

  it.effect(
    "A client answers with its current roots",
    () =>
      Effect.gen(function* () {
        const ref = yield* SubscriptionRef.make<ReadonlyArray<{ uri: string }>>([{ uri: "file:///home" }])
        yield* Effect.gen(function* () {
          const { ask } = yield* asker(version)
          assert.deepStrictEqual(yield* ask("roots/list"), { roots: [{ uri: "file:///home" }] })
          yield* SubscriptionRef.set(ref, [{ uri: "file:///tmp" }])
          assert.deepStrictEqual(yield* ask("roots/list"), { roots: [{ uri: "file:///tmp" }] })
        }).pipe(Effect.provide(Roots.layerRef(ref)))
      }),
    verifies("roots.client.changes-noticed")
  )

  it.effect(
    "A model only receives the messages of a single sampling request",
    () =>
      Effect.gen(function* () {
        const given: Array<unknown> = []
        const listening = Sampling.layer(({ messages }) =>
          Effect.sync(() => {
            given.push(messages)
            return answer
          })
        )
        const messages = (text: string) => [{ role: "user", content: { type: "text", text } }]
        yield* Effect.gen(function* () {
          const { ask } = yield* asker(version)
          for (const text of ["one", "two"])
            yield* ask("sampling/createMessage", { ...sampling, messages: messages(text) })
        }).pipe(Effect.provide(listening))
        assert.deepStrictEqual(given, [messages("one"), messages("two")])
      }),
    verifies("sampling.messages.not-retained")
  )

  it.effect(
    "A client asks for consent before answering roots and sampling requests",
    () =>
      Effect.gen(function* () {
        const asks: Array<string> = []
        const audits: Array<string> = []
        const policy = Consent.layer({
          // If questions come with a call, the call itself needs consent, too.
          ask: (action) =>
            Effect.sync(() => action._tag === "CallTool" || asks.push(`${action._tag} ${action.server.name}`) < 3),
          audit: (action, outcome) =>
            Effect.sync(() => void (action._tag === "CallTool" || audits.push(`${action._tag} ${outcome._tag}`)))
        })
        yield* Effect.gen(function* () {
          const { ask } = yield* asker(version)
          yield* ask("roots/list")
          yield* ask("sampling/createMessage", sampling)
          for (const method of ["roots/list", "sampling/createMessage"]) {
            const error: unknown = yield* Effect.flip(ask(method, method === "roots/list" ? undefined : sampling))
            assert.strictEqual((error as McpError.McpError).code, -1)
          }
        }).pipe(Effect.provide(Layer.mergeAll(policy, home, model())))
        assert.deepStrictEqual(asks, [
          "ListRoots scripted",
          "CreateMessage scripted",
          "ListRoots scripted",
          "CreateMessage scripted"
        ])
        assert.deepStrictEqual(audits, [
          "ListRoots Success",
          "CreateMessage Success",
          "ListRoots Failure",
          "CreateMessage Failure"
        ])
      }),
    verifies("sampling.security.approval", "roots.client.access-control", "roots.client.permitted-only")
  )
})

describe.each(versions)("Client sessions in %s", (version) => {
  it.effect("A question received while the handshake ends is answered", () =>
    Effect.gen(function* () {
      const answered: Array<unknown> = []
      yield* connected({
        version,
        answers: {
          initialize: (_, { peer }) => {
            // Sent before the answer to initialize.
            peer.sink.send({ jsonrpc: "2.0", id: "early", method: "roots/list" }, "data")
            return Effect.succeed({
              protocolVersion: version,
              capabilities: {},
              serverInfo: { name: "eager", version: "1" }
            })
          }
        }
      }).pipe(
        Effect.flatMap(({ client, server }) =>
          Effect.map(client.ping, () => answered.push(...server.heard.filter((m) => "id" in m && m.id === "early")))
        )
      )
      assert.deepStrictEqual(answered, [
        { jsonrpc: "2.0", id: "early", result: { roots: [{ uri: "file:///home/ada", name: "Home" }] } }
      ])
    }).pipe(Effect.provide(home))
  )

  it.effect(
    "A ping is answered immediately even while a question hangs",
    () =>
      Effect.gen(function* () {
        const { server } = yield* connected({ version })
        yield* Effect.forkChild(server.peer.request("sampling/createMessage", sampling as never))
        assert.deepStrictEqual(yield* server.peer.request("ping"), {})
      }).pipe(Effect.provide(Sampling.layer(() => Effect.never))),
    verifies("ping.receiver.empty-response")
  )

  it.effect(
    "A question cancelled by the server is stopped",
    () =>
      Effect.gen(function* () {
        let running = 0
        const busy = Sampling.layer(() =>
          Effect.acquireUseRelease(
            Effect.sync(() => running++),
            () => Effect.never,
            () => Effect.sync(() => running--)
          )
        )
        yield* Effect.gen(function* () {
          const { client, server } = yield* connected({ version })
          server.peer.sink.send({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: sampling }, "data")
          yield* server.peer.request("ping")
          assert.strictEqual(running, 1)
          server.peer.notify("notifications/cancelled", { requestId: "q" })
          yield* client.ping
          yield* server.peer.request("ping")
          assert.strictEqual(running, 0)
          assert.isFalse(server.heard.some((message) => "id" in message && message.id === "q"))
        }).pipe(Effect.provide(busy))
      }),
    verifies(
      "cancellation.receiver.stops",
      "cancellation.receiver.frees-resources",
      "cancellation.receiver.no-response"
    )
  )

  it.effect(
    "A client that declared listChanged notifies the server of root changes",
    () =>
      Effect.gen(function* () {
        const ref = yield* SubscriptionRef.make<ReadonlyArray<{ uri: string }>>([])
        yield* Effect.gen(function* () {
          assert.deepStrictEqual(yield* declared(version), { roots: { listChanged: true } })
          const { server } = yield* connected({ version })
          assert.strictEqual((yield* server.notification).method, "notifications/initialized")
          yield* SubscriptionRef.set(ref, [{ uri: "file:///tmp" }])
          assert.strictEqual((yield* server.notification).method, "notifications/roots/list_changed")
          assert.deepStrictEqual(yield* server.peer.request("roots/list"), { roots: [{ uri: "file:///tmp" }] })
        }).pipe(Effect.provide(Roots.layerRef(ref)))
      }),
    verifies("roots.list-changed.sent")
  )
})
