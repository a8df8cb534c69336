/** Requests of a session: batches, ids, limits and cancellation. */
import * as Progress from "@effect-mcp/core/Progress"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { type Client, echo, isNodes, open } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { callOf, eventsOf, openSession, request, revisions, saidOf } from "./support/session.ts"

const refusal = (reply: Effect.Success<ReturnType<Client["fetch"]>>) =>
  Effect.map(reply.json, ({ error, id }) => [reply.status, error.code, id])
const echoOf = (text: string, id: string | number) => callOf("echo", { text }, id)
const textOf = ({ id, result }: any) => [id, result.content[0].text]

describe("Batches in 2025-03-26", () => {
  const opened = Effect.gen(function* () {
    const puppet = yield* Puppet.make
    const session = yield* openSession(yield* open(Layer.merge(puppet.layer, echo)), "2025-03-26")
    return { puppet, session }
  })

  it.live(
    "A batch gets one array of answers, even if it includes notifications and responses",
    () =>
      Effect.gen(function* () {
        const { session } = yield* opened
        const members = [
          echoOf("one", "a"),
          { jsonrpc: "2.0", method: "notifications/other" },
          request("ping", {}, "b"),
          { jsonrpc: "2.0", id: 99, result: {} },
          { jsonrpc: "2.0", id: "c", method: 1 },
          request("nothing", {}, "d")
        ]
        const reply = yield* session.post(members)
        assert.deepStrictEqual([reply.status, reply.headers["content-type"]], [200, "application/json"])
        const answers = yield* reply.json
        assert.deepStrictEqual(answers.map(({ error, id }: any) => [id, error?.code]).toSorted(), [
          ["a", undefined],
          ["b", undefined],
          ["c", McpError.InvalidRequest],
          ["d", McpError.MethodNotFound]
        ])
      }),
    verifies("http.post.body-batch", "http.post.json-or-sse")
  )

  it.live("A batch of only notifications and responses gets 202", () =>
    Effect.gen(function* () {
      const { session } = yield* opened
      for (const members of [
        [{ jsonrpc: "2.0", method: "notifications/other" }],
        [{ jsonrpc: "2.0", id: 99, result: {} }]
      ]) {
        const reply = yield* session.post(members)
        assert.deepStrictEqual([reply.status, yield* reply.text], [202, ""])
      }
    })
  )

  it.live("A batch with progress streams each answer as soon as it is ready", () =>
    Effect.gen(function* () {
      const { puppet, session } = yield* opened
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.post([
        echoOf("first", "echo"),
        callOf("puppet", { name: "a" }, "puppet", { progressToken: "p" })
      ])
      assert.deepStrictEqual(textOf((yield* reply.event).data), ["echo", "first"])
      assert.strictEqual((yield* reply.event).data.params.progress, 1)
      yield* puppet.tell("a", Puppet.answer("last"))
      assert.deepStrictEqual(saidOf(yield* eventsOf(reply)).map(textOf), [["puppet", "last"]])
    })
  )

  it.live("An empty batch or one with a duplicate id is rejected", () =>
    Effect.gen(function* () {
      const { session } = yield* opened
      assert.deepStrictEqual(yield* refusal(yield* session.post([])), [400, McpError.InvalidRequest, null])
      const twice = [request("ping", {}, 1), request("ping", {}, 1)]
      assert.deepStrictEqual(yield* refusal(yield* session.post(twice)), [400, McpError.InvalidRequest, undefined])
      const others = [request("ping", {}, 1), request("ping", {}, "1")]
      assert.strictEqual((yield* (yield* session.post(others)).json).length, 2)
    })
  )

  it.live("A batch omits cancelled requests and still answers the others", () =>
    Effect.gen(function* () {
      const { puppet, session } = yield* opened
      const calls = ["a", "b"].map((name) => callOf("puppet", { name }, name))
      const all = yield* Effect.forkChild(session.post(calls), { startImmediately: true })
      yield* Queue.takeN(puppet.entered, 2)
      yield* session.notify("notifications/cancelled", { requestId: "a" })
      yield* puppet.tell("b", Puppet.answer("done"))
      assert.deepStrictEqual((yield* (yield* Fiber.join(all)).json).map(textOf), [["b", "done"]])
    })
  )
})

describe.each(revisions)("Bodies in %s", (version) => {
  it.live(
    "An unreadable body gets 400 and an error that explains why",
    () =>
      Effect.gen(function* () {
        const session = yield* openSession(yield* open(echo), version)
        const nobody = version === "2025-11-25" ? undefined : null
        const answers = (body: string) => Effect.flatMap(session.send({ body }), refusal)
        assert.deepStrictEqual(yield* answers("{"), [400, McpError.ParseError, nobody])
        assert.deepStrictEqual(yield* answers("1"), [400, McpError.InvalidRequest, nobody])
        assert.deepStrictEqual(yield* answers(`{"jsonrpc":"2.0","id":5,"method":1}`), [400, McpError.InvalidRequest, 5])
        assert.deepStrictEqual(yield* answers(`{"jsonrpc":"2.0","id":5,"result":{},"error":1}`), [
          400,
          -32600,
          undefined
        ])
        if (version === "2025-03-26") return
        assert.deepStrictEqual(yield* answers(JSON.stringify([request("ping")])), [400, -32600, nobody])
      }),
    version === "2025-03-26"
      ? verifies("http.post.not-accepted")
      : verifies("http.post.not-accepted", "http.post.body-single")
  )
})

describe.each(revisions)("Requests in %s", (version) => {
  it.live("A duplicate request id gets 400 without disturbing the first request", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(Layer.merge(puppet.layer, echo)), version)
      const first = yield* Effect.forkChild(session.call("puppet", { name: "a" }, 1), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      assert.deepStrictEqual(yield* refusal(yield* session.call("echo", { text: "" }, 1)), [400, -32600, 1])
      assert.strictEqual((yield* session.call("echo", { text: "" }, "1")).status, 200)
      yield* puppet.tell("a", Puppet.answer("done"))
      const answer = (yield* (yield* Fiber.join(first)).text).trim().split("\n").at(-1)
      assert.deepStrictEqual(textOf(JSON.parse(String(answer).replace(/^data: /, ""))), [1, "done"])
      assert.strictEqual((yield* session.call("echo", { text: "" }, 1)).status, 200)
    })
  )

  it.live(
    "Cancelling a request closes its POST immediately without an answer",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        yield* puppet.tell("streams", Progress.report(1))
        const streaming = yield* session.follow("puppet", { name: "streams" }, 1)
        const silent = yield* Effect.forkChild(session.call("puppet", { name: "silent" }, 2), {
          startImmediately: true
        })
        yield* Queue.takeN(puppet.entered, 2)
        for (const requestId of [1, 2]) yield* session.notify("notifications/cancelled", { requestId })
        assert.deepStrictEqual(
          saidOf(yield* eventsOf(streaming)).map(({ method }) => method),
          ["notifications/progress"]
        )
        const reply = yield* Fiber.join(silent)
        assert.strictEqual(reply.headers["content-type"], "text/event-stream")
        assert.strictEqual((yield* reply.text).includes("jsonrpc"), false)
        assert.deepStrictEqual(
          (yield* Queue.takeN(puppet.ended, 2)).map(([, how]) => how),
          ["interrupted", "interrupted"]
        )
      }),
    verifies("cancellation.receiver.no-response", "http.disconnect.explicit-cancel")
  )

  it.live(
    "A request over the limits gets 429 with Retry-After, but answers to questions do not",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const client = yield* open(puppet.layer, { inFlight: 2, callerShare: 1, sessions: { inFlight: 1 } })
        const [one, two, three] = [
          yield* openSession(client, version),
          yield* openSession(client, version),
          yield* openSession(client, version)
        ]
        const first = yield* Effect.forkChild(one.call("puppet", { name: "a" }, 1), { startImmediately: true })
        yield* Queue.take(puppet.entered)
        const own = yield* one.request("ping", {}, 2)
        assert.strictEqual(own.headers["retry-after"], "1")
        assert.deepStrictEqual(yield* refusal(own), [429, McpError.LimitExceeded, 2])
        const second = yield* Effect.forkChild(two.call("puppet", { name: "b" }, 1), { startImmediately: true })
        yield* Queue.take(puppet.entered)
        assert.deepStrictEqual(yield* refusal(yield* three.request("ping", {}, 3)), [429, McpError.LimitExceeded, 3])
        assert.strictEqual((yield* one.respond(99, {})).status, 202)
        for (const name of ["a", "b"]) yield* puppet.tell(name, Puppet.answer("done"))
        for (const call of [first, second]) assert.strictEqual((yield* Fiber.join(call)).status, 200)
        assert.strictEqual((yield* three.request("ping", {}, 3)).status, 200)
      }),
    needs(!isNodes, "each node counts its own")
  )
})
