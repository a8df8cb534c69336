/** The revisions up to 2025-11-25 without sessions: each POST is independent. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Log from "@effect-mcp/core/Log"
import * as Progress from "@effect-mcp/core/Progress"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { type Client, echo, open } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, eventsOf, initialize, request, revisions, saidOf } from "../support/session.ts"

const post = (client: Client, version: string, body: unknown, headers = {}) =>
  client.fetch({ headers: { "mcp-protocol-version": version, ...headers }, body: JSON.stringify(body) })
const resource = Resources.layer({ uri: "test://one", name: "one" }, Effect.succeed("one"))

describe.each(revisions)("Sessionless endpoints in %s", (version) => {
  it.live("initialize returns no session id and declares no session-based capability", () =>
    Effect.gen(function* () {
      const client = yield* open(Layer.merge(echo, resource), { sessions: false }, { dynamic: true })
      const reply = yield* client.fetch({ body: JSON.stringify(initialize(version)) })
      assert.deepStrictEqual([reply.status, reply.headers["mcp-session-id"]], [200, undefined])
      const { result } = yield* reply.json
      assert.strictEqual(result.protocolVersion, version)
      assert.deepStrictEqual(result.capabilities, { tools: {}, resources: {}, prompts: {}, completions: {} })
      assert.strictEqual(
        (yield* post(client, version, { jsonrpc: "2.0", method: "notifications/initialized" })).status,
        202
      )
    })
  )

  it.live.each([{}, { sessions: false }] as const)("A POST that only accepts JSON gets 406 with %o", (options) =>
    Effect.gen(function* () {
      const client = yield* open(echo, options)
      const accept = "application/json"
      const opening = yield* client.fetch({ headers: { accept }, body: JSON.stringify(initialize(version)) })
      assert.strictEqual(opening.status, 406)
      const posted = yield* post(client, version, callOf("echo", { text: "" }), { accept })
      assert.strictEqual(posted.status, 406)
      assert.include((yield* posted.json).error.message, "text/event-stream")
    })
  )

  it.live("Each POST is answered independently and leaves nothing behind", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { sessions: false })
      for (const text of ["one", "two"]) {
        const reply = yield* post(client, version, callOf("echo", { text }))
        assert.deepStrictEqual([reply.status, reply.headers["mcp-session-id"]], [200, undefined])
        assert.strictEqual((yield* reply.json).result.content[0].text, text)
      }
      assert.strictEqual((yield* post(client, version, request("ping"))).status, 200)
      assert.deepStrictEqual(yield* client.server.sessions, [])
    })
  )

  it.live("Two concurrent requests with the same id are answered on their own POSTs", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { sessions: false })
      const calls = yield* Effect.forEach(["a", "b"], (name) =>
        Effect.forkChild(post(client, version, callOf("puppet", { name }, 1)), { startImmediately: true })
      )
      yield* Queue.takeN(puppet.entered, 2)
      for (const name of ["b", "a"]) yield* puppet.tell(name, Puppet.answer(name))
      const answers = yield* Effect.forEach(calls, (call) => Effect.flatMap(Fiber.join(call), ({ json }) => json))
      assert.deepStrictEqual(
        answers.map(({ result }) => result.content[0].text),
        ["a", "b"]
      )
    })
  )

  it.live("Progress is sent on the POST's stream, which ends with the answer", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { sessions: false })
      yield* puppet.tell("a", Progress.report(1))
      yield* puppet.tell("a", Log.info("unheard"))
      const reply = yield* post(client, version, callOf("puppet", { name: "a" }, 1, { progressToken: "p" }))
      assert.strictEqual(reply.headers["mcp-session-id"], undefined)
      // Its session lasts as long as the stream.
      assert.strictEqual((yield* client.server.sessions).length, 1)
      yield* puppet.tell("a", Puppet.answer("done"))
      const [progress, answer, ...more] = saidOf(yield* eventsOf(reply))
      assert.deepStrictEqual(
        [progress.method, answer.result.content[0].text, more],
        ["notifications/progress", "done", []]
      )
      assert.deepStrictEqual(yield* client.server.sessions, [])
    })
  )

  it.live("A method that needs a session is rejected with the reason", () =>
    Effect.gen(function* () {
      const client = yield* open(Layer.merge(echo, resource), { sessions: false }, { dynamic: true })
      for (const [method, params] of [
        ["resources/subscribe", { uri: "test://one" }],
        ["resources/unsubscribe", { uri: "test://one" }],
        ["logging/setLevel", { level: "debug" }]
      ] as const) {
        const { error } = yield* (yield* post(client, version, request(method, params))).json
        assert.strictEqual(error.code, McpError.MethodNotFound)
        assert.strictEqual(error.message, `${method} requires a session, but this endpoint has none (sessions: false)`)
      }
    })
  )

  it.live("A handler's questions fail with CapabilityMissing and create no session", () =>
    Effect.gen(function* () {
      const asks = Tools.layer(Tool.make("asks", { description: "Asks." }), () =>
        Effect.gen(function* () {
          const { clientInfo, sessionId } = yield* RequestContext
          const { ask } = yield* ClientInput
          const missing = yield* Effect.orDie(Effect.flip(ask("roots/list", {})))
          return JSON.stringify([sessionId ?? null, clientInfo ?? null, missing._tag, missing.message])
        })
      )
      const client = yield* open(asks, { sessions: false })
      const { result } = yield* (yield* post(client, version, callOf("asks"))).json
      assert.deepStrictEqual(JSON.parse(result.content[0].text), [
        null,
        null,
        "CapabilityMissing",
        "Cannot send requests to the client, because this endpoint has no sessions (sessions: false)"
      ])
    })
  )

  it.live("GET and DELETE get 405, responses get 400 and session ids get 404", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { sessions: false })
      for (const method of ["GET", "DELETE"]) {
        const headers = { accept: "text/event-stream", "mcp-protocol-version": version }
        const reply = yield* client.fetch({ method, headers })
        assert.deepStrictEqual([reply.status, reply.headers["allow"]], [405, "POST"])
      }
      const response = yield* post(client, version, { jsonrpc: "2.0", id: 1, result: {} })
      assert.strictEqual(response.status, 400)
      const stale = yield* post(client, version, request("ping"), { "mcp-session-id": "gone" })
      assert.strictEqual(stale.status, 404)
    })
  )

  it.live("An unsupported revision gets 400 with the supported revisions", () =>
    Effect.gen(function* () {
      const others = revisions.filter((one) => one !== version)
      const client = yield* open(echo, { sessions: false }, { revisions: others })
      const reply = yield* post(client, version, request("ping"))
      assert.strictEqual(reply.status, 400)
      assert.deepStrictEqual((yield* reply.json).error.data, { supported: others })
    })
  )

  it.live("Disconnecting interrupts a sessionless call", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { sessions: false })
      yield* Effect.scoped(
        Effect.andThen(
          client.abandon({
            headers: { "mcp-protocol-version": version },
            body: JSON.stringify(callOf("puppet", { name: "a" }))
          }),
          Queue.take(puppet.entered)
        )
      )
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
    })
  )
})

it.live("Without sessions, a POST without a version defaults to 2025-03-26, including batches", () =>
  Effect.gen(function* () {
    const client = yield* open(echo, { sessions: false })
    const reply = yield* client.fetch({
      body: JSON.stringify([request("ping", {}, 1), callOf("echo", { text: "a" }, 2)])
    })
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual((yield* reply.json).map(({ id }: { readonly id: number }) => id).toSorted(), [1, 2])
    assert.deepStrictEqual(yield* client.server.sessions, [])
  })
)

it.live("A sessionless endpoint still serves 2026-07-28 and limits anonymous callers by address", () =>
  Effect.gen(function* () {
    const client = yield* open(echo, { sessions: false }, { rateLimit: { "tools/call": 1 } })
    assert.strictEqual((yield* client.post("tools/list")).status, 200)
    const codes = yield* Effect.forEach([1, 2, 3, 4], () =>
      Effect.map(
        Effect.flatMap(post(client, "2025-11-25", callOf("echo", { text: "a" })), ({ json }) => json),
        ({ error }) => error?.code
      )
    )
    assert.include(codes, McpError.LimitExceeded)
  })
)
