/** User callbacks that throw, reject or return nonsense fail at most their own request. */
import * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import * as ClientObserver from "@effect-mcp/client/ClientObserver"
import * as Consent from "@effect-mcp/client/Consent"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Elicitations from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import * as Samplings from "@effect-mcp/core/Sampling"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { all, connected, quiesce, versions } from "../support/connected.ts"

/** A thrown value whose members throw as well. */
const hostile = (): never => {
  throw new Proxy(new Error("hostile"), {
    get: () => {
      throw new Error("A member of the thrown value throws")
    }
  })
}
const rejects = (): any => Promise.reject(new Error("rejected"))
const bad: ReadonlyArray<readonly [string, () => any]> = [
  ["throws", hostile],
  ["returns a rejected promise", rejects]
]

/** Returned by plain JavaScript functions that should return an Effect. */
const returned: typeof bad = [...bad, ["returns a number", () => 7], ["dies", () => Effect.sync(hostile)]]

const { Elicitation } = Elicitations
const { Sampling } = Samplings

const questions = {
  "sampling/createMessage": { messages: [], maxTokens: 1 },
  "elicitation/create": { message: "?", requestedSchema: { type: "object", properties: {} } }
}

const answers = { "tools/call": () => ({ content: [] }) }

describe.each(all)("Client callbacks in %s", (version) => {
  it.effect.each(bad)("A progress callback that %s affects neither the call nor the connection", ([, onProgress]) =>
    Effect.gen(function* () {
      const { client } = yield* connected({
        version,
        answers: {
          "tools/call": ({ _meta }: any, { peer, request }) => {
            peer.notify("notifications/progress", { progressToken: _meta?.progressToken, progress: 1 }, request.id)
            return { content: [] }
          }
        }
      })
      yield* client.callToolByName("a", {}, { onProgress })
      yield* quiesce
      yield* client.callToolByName("a")
    })
  )

  it.effect.each(bad)(
    "onAnnouncement, onUnknownNotification and dropped callbacks that %s have no effect",
    ([, call]) =>
      Effect.gen(function* () {
        const options = { onAnnouncement: call, onUnknownNotification: call, dropped: call }
        const { client, server } = yield* connected({ version, answers }, options)
        server.peer.notify("notifications/message", { level: "info", data: 1 })
        server.peer.notify("notifications/message", { level: 7 })
        server.peer.notify("notifications/unheard")
        server.send({ jsonrpc: "2.0", id: 99, result: {} })
        yield* quiesce
        yield* client.callToolByName("a")
      })
  )

  it.effect.each(bad)("An observer whose every member %s has no effect", ([, call]) =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      if (versions.includes(version)) yield* Effect.exit(server.peer.request("roots/list"))
      yield* client.callToolByName("a")
      yield* client.callToolByName("a")
    }).pipe(
      Effect.provide(
        ClientObserver.layer(
          Effect.succeed({ request: call, question: call, opened: call, closed: call, reconnected: call })
        )
      ),
      Effect.scoped
    )
  )

  it.effect.each([
    ["throws", hostile],
    ["returns nonsense", () => 5 as any]
  ] as const)("A consent check that %s sends nothing and does not stop the client", ([, ask]) =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({
        version,
        answers: { ...answers, "prompts/list": () => ({ prompts: [] }) }
      })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(client.callToolByName("a"))))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(client.callToolByName("a"))))
      assert.strictEqual(server.requests("tools/call").length, 0)
      yield* client.ping
    }).pipe(Effect.provide(Consent.layer({ ask })))
  )

  it.effect("Consent that resolves to anything but true is a denial", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      const error = yield* Effect.flip(client.callToolByName("a"))
      assert.strictEqual(error._tag, "ConsentDenied")
      assert.strictEqual(server.requests("tools/call").length, 0)
    }).pipe(Effect.provide(Consent.layer({ ask: () => Effect.succeed("no" as unknown as boolean) })))
  )

  it.effect("An audit that throws does not fail the call", () =>
    Effect.gen(function* () {
      const { client } = yield* connected({ version, answers })
      yield* client.callToolByName("a")
    }).pipe(Effect.provide(Consent.layer({ audit: hostile })))
  )

  it.effect.each(returned)("Middleware whose request %s fails only that call", ([, call]) =>
    Effect.gen(function* () {
      let isBroken = false
      const middleware = ClientMiddleware.layer({ request: (_request, next) => (isBroken ? call() : next()) })
      const { client } = yield* Effect.provide(connected({ version, answers }), middleware)
      isBroken = true
      assert.isTrue(Exit.isFailure(yield* Effect.exit(client.callToolByName("a"))))
      isBroken = false
      yield* client.callToolByName("a")
    })
  )

  it.effect("A throwing onSend fails only its own call, and nothing is sent", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(client.callToolByName("a", {}, { onSend: hostile }))))
      yield* client.callToolByName("a")
      const sent = server.heard.filter((message) => "method" in message && message.method === "notifications/cancelled")
      assert.deepStrictEqual(sent, [])
      assert.strictEqual(server.requests("tools/call").length, 1)
    })
  )
})

const nonsense: typeof bad = [
  ...bad,
  ["returns no effect", () => undefined],
  ["dies", () => Effect.sync(hostile)],
  ["succeeds with nonsense", () => Effect.succeed(7)],
  ["succeeds with undefined", () => Effect.succeed(undefined)]
]

describe.each(versions)("Client answers in %s", (version) => {
  it.effect.each(nonsense)("A handler that %s answers its question with an error", ([, call]) =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      for (const [method, params] of Object.entries({ ...questions, "roots/list": {} })) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(server.peer.request(method, params))))
      }
      yield* client.callToolByName("a")
    }).pipe(
      Effect.provide(
        Layer.mergeAll(
          Layer.succeed(Sampling, { capabilities: { tools: true, context: true }, createMessage: call }),
          Layer.succeed(Elicitation, { modes: { form: true, url: true }, elicit: call }),
          Layer.succeed(Roots, {
            list: call === rejects ? Effect.die("none") : Effect.suspend<never, never, never>(call),
            changes: undefined
          })
        )
      )
    )
  )
})

describe.each(versions.filter((version) => version >= "2025-06-18"))("Answer layers in %s", (version) => {
  const answering = (call: () => Effect.Effect<any>) =>
    Layer.merge(Samplings.layer(call), Elicitations.layer({ form: call }))

  it.effect.each(nonsense)("A function that %s answers its question with an error", ([, call]) =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      for (const [method, params] of Object.entries(questions)) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(server.peer.request(method, params))))
      }
      yield* client.callToolByName("a")
    }).pipe(Effect.provide(answering(call)))
  )

  it.effect("A function that never ends delays no other request and can be interrupted", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let open = 0
      const hangs = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => open++),
          () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
          () => Effect.sync(() => open--)
        )
      yield* Effect.gen(function* () {
        const { client, server } = yield* connected({ version, answers })
        const asking = Object.entries(questions).map(([method, params]) => server.peer.request(method, params))
        const asked = yield* Effect.forEach(asking, (question) => Effect.forkChild(question))
        yield* Deferred.await(begun)
        yield* quiesce
        assert.strictEqual(open, 2)
        yield* client.callToolByName("a")
        const [first] = asked
        if (first !== undefined) yield* Fiber.interrupt(first)
        yield* quiesce
        assert.strictEqual(open, 1)
      }).pipe(Effect.provide(answering(hangs)), Effect.scoped)
      assert.strictEqual(open, 0)
    })
  )
})

describe.each(versions)("Middleware around client answers in %s", (version) => {
  it.effect.each(returned)("Middleware whose question %s answers it with an error", ([, question]) =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({ version, answers })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(server.peer.request("roots/list", {}))))
      yield* client.callToolByName("a")
    }).pipe(Effect.provide(ClientMiddleware.layer({ question })))
  )
})

describe("McpClient.connect", () => {
  it.each([
    ["https://example.com/mcp", '"https://example.com/mcp"'],
    [undefined, "undefined"],
    [{ url: "https://example.com/mcp" }, "object"]
  ])("McpClient.connect rejects %o and names the expected type", (given: any, found) => {
    assert.throws(
      () => McpClient.connect(given),
      TypeError,
      `McpClient.connect expects a Transport, but received ${found}`
    )
  })
})
