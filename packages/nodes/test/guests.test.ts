/** Sessions whose requests run at the node where each arrives (`calls: "anywhere"`). */
import { Nodes } from "@effect-mcp/nodes"
import { Nodes as ServerNodes } from "@effect-mcp/server/Nodes"
import { assert, describe, it, vi } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Reply } from "../../server/test/http/support/http.ts"
import { eventsOf, type Opened, openSession, revisions, saidOf } from "../../server/test/http/support/session.ts"
import { processOf } from "../src/relay/NodeId.ts"
import { cluster } from "./support/nodes.ts"

type Version = (typeof revisions)[number]

const nodeOf = ({ result }: any): number => JSON.parse(result.content[0].text).node

/** Three nodes; `lease` as no busy machine lets it run out. */
const three = Effect.fnUntraced(function* (lease: Nodes.Options["lease"] = "20 seconds", options = {}) {
  const network = new Nodes.Network()
  const layerOf = (): Layer.Layer<Nodes.Services, unknown> => Nodes.layerMemory(network, { calls: "anywhere", lease })
  const nodes = yield* cluster(3, layerOf, options)
  const crash = (node: number) =>
    Effect.sync(() => {
      nodes.remove(node)
      network.crash(node)
    })
  let requests = 100
  /** Requests of a session, at one node. */
  const user = ({ id }: Opened, version: Version, headers = {}) => {
    const own = { "mcp-session-id": id, "mcp-protocol-version": version, ...headers }
    const post = (node: number, message: object) =>
      nodes.at(node).fetch({ headers: own, body: JSON.stringify({ jsonrpc: "2.0", ...message }) })
    const request = (node: number, method: string, params: object = {}, id = ++requests) =>
      post(node, { id, method, params })
    const call = (node: number, name: string, id = ++requests) =>
      request(node, "tools/call", { name, arguments: {}, _meta: { progressToken: id } }, id)
    return {
      post,
      request,
      call,
      which: (node: number) => Effect.flatMap(call(node, "which"), ({ json }) => Effect.map(json, nodeOf)),
      get: (node: number, last?: string) =>
        nodes.at(node).fetch({
          method: "GET",
          headers: { ...own, accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) }
        }),
      delete: (node: number) => nodes.at(node).fetch({ method: "DELETE", headers: own })
    }
  }
  return { ...nodes, crash, user }
})

type Nodes3 = Effect.Success<ReturnType<typeof three>>
type User = ReturnType<Nodes3["user"]>

describe("names of nodes", () => {
  it.effect.skipIf(processOf(1) === undefined)(
    "A node names its process only where no guest of another node may outlive it",
    () =>
      Effect.gen(function* () {
        const nameOf = (calls: Nodes.Options["calls"]) =>
          Effect.map(Layer.build(Nodes.layerMemory(new Nodes.Network(), { calls })), (context) =>
            Context.get(context, ServerNodes).directory.node.includes("@")
          )
        assert.deepStrictEqual([yield* nameOf("holder"), yield* nameOf("anywhere")], [true, false])
      })
  )
})

/** Has a node run requests of the session, which the first ones make it do. */
const welcome = (user: User, node: number) => Effect.repeat(user.which(node), { until: (ran: number) => ran === node })

/** A session that the first node holds, and whose requests the second one runs. */
const opened = Effect.fnUntraced(function* (nodes: Nodes3, version: Version) {
  const user = nodes.user(yield* openSession(nodes.at(1), version), version)
  yield* welcome(user, 2)
  return user
})

/** The next message of a stream. */
const said = (reply: Reply) =>
  Effect.map(Effect.repeat(reply.event, { until: ({ data }) => data !== "" && data !== undefined }), ({ data }) => data)

const confirmed = { action: "accept", content: {} }

describe.each(revisions)("sessions of %s whose requests run anywhere", (version) => {
  it.live("A session is served at the node where a request arrives, though another node opened it", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      yield* welcome(user, 3)
      for (const node of [1, 2, 3]) assert.strictEqual(yield* user.which(node), node)
      const batch = yield* user.request(2, "resources/read", { uri: "test://count" })
      assert.strictEqual((yield* batch.json).result.contents[0].text, "1")
    })
  )

  it.live("A session whose requests run anywhere is refused to another user at every node", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const session = yield* openSession(nodes.at(1), version, { headers: { "x-user": "ada" } })
      yield* welcome(nodes.user(session, version, { "x-user": "ada" }), 2)
      for (const headers of [{ "x-user": "eve" }, {}]) {
        const other = nodes.user(session, version, headers)
        for (const node of [1, 2, 3]) assert.strictEqual((yield* other.call(node, "which")).status, 404)
        assert.strictEqual((yield* other.delete(2)).status, 404)
      }
      assert.strictEqual(yield* nodes.user(session, version, { "x-user": "ada" }).which(2), 2)
    })
  )

  it.live("A session has the log level that was set at another node, from the answer on", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      const logged = (node: number) =>
        Effect.map(
          Effect.flatMap(user.call(node, "note"), ({ text }) => text),
          (text) => text.includes("noted")
        )
      assert.isTrue(yield* logged(2))
      for (const [node, level] of [
        [3, "error"],
        [2, "debug"],
        [1, "critical"]
      ] as const) {
        assert.strictEqual((yield* user.request(node, "logging/setLevel", { level })).status, 200)
        assert.strictEqual(yield* logged(2), level === "debug")
        assert.strictEqual(yield* user.which(2), 2)
      }
    })
  )

  it.live("A session ends at all nodes by a DELETE at any node, and a call that runs gets an error", () =>
    Effect.gen(function* () {
      for (const node of [1, 2, 3]) {
        const nodes = yield* three()
        const user = yield* opened(nodes, version)
        const hanging = yield* user.call(2, "hang", 7)
        assert.strictEqual((yield* said(hanging)).method, "notifications/progress")
        assert.strictEqual((yield* user.delete(node)).status, 204)
        // No node waits for another one.
        for (const at of [2, 1, 3]) assert.strictEqual((yield* user.call(at, "which")).status, 404)
        const ends = saidOf(yield* eventsOf(hanging))
        assert.deepStrictEqual(
          ends.map(({ error, id }) => [id, error?.code]),
          [[7, -31503]]
        )
      }
    })
  )

  it.live("A call that runs at one node is cancelled by a notification at any node", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      for (const node of [1, 2, 3]) {
        const hanging = yield* user.call(2, "hang", node)
        assert.strictEqual((yield* said(hanging)).method, "notifications/progress")
        const cancel = { method: "notifications/cancelled", params: { requestId: node } }
        assert.strictEqual((yield* user.post(node, cancel)).status, 202)
        assert.deepStrictEqual(saidOf(yield* eventsOf(hanging)), [])
      }
    })
  )

  it.live("A call that waits for new roots learns of them, at whichever node they are announced", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      const call = yield* Effect.forkScoped(Effect.flatMap(user.call(2, "moved"), ({ json }) => json))
      const announce = user.post(3, { method: "notifications/roots/list_changed" })
      // The call may not have begun.
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(announce, Effect.sleep("50 millis"))))
      assert.strictEqual(nodeOf(yield* Fiber.join(call)), 2)
    })
  )

  it.live("A session has a change of a list once on its stream at a third node, and what a handler sends there", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      const stream = yield* user.get(3)
      yield* (yield* user.call(2, "grow")).json
      assert.strictEqual((yield* said(stream)).method, "notifications/prompts/list_changed")
      yield* (yield* user.call(2, "tell")).json
      assert.deepStrictEqual((yield* said(stream)).params, { level: "error", data: "told by 2" })
    })
  )
})

describe.each(["2025-06-18", "2025-11-25"] as const)("questions of %s whose call runs anywhere", (version) => {
  it.live("A question of a call that runs anywhere is answered at any node", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      for (const node of [3, 1, 2]) {
        const call = yield* user.call(2, "ask", node)
        const asked = yield* said(call)
        assert.strictEqual(asked.method, "elicitation/create")
        assert.strictEqual((yield* user.post(node, { id: asked.id, result: confirmed })).status, 202)
        const answer = yield* said(call)
        assert.deepStrictEqual([answer.id, nodeOf(answer)], [node, 2])
      }
    })
  )

  it.live("A question whose session loses its holding node is answered at the node that takes the session over", () =>
    Effect.gen(function* () {
      const nodes = yield* three("1500 millis")
      const user = yield* opened(nodes, version)
      const call = yield* user.call(2, "ask", 7)
      const asked = yield* said(call)
      yield* nodes.crash(1)
      // The first answers of the new node: it may not know the call yet.
      yield* Effect.repeat(user.post(3, { id: asked.id, result: confirmed }), { until: ({ status }) => status === 202 })
      const answer = yield* said(call)
      assert.deepStrictEqual([answer.id, nodeOf(answer)], [7, 2])
      yield* welcome(user, 2)
      assert.strictEqual((yield* user.delete(3)).status, 204)
      for (const at of [2, 3]) assert.strictEqual((yield* user.call(at, "which")).status, 404)
    })
  )
})

describe("streams of calls that run anywhere", () => {
  const version = "2025-11-25"
  const cut = Effect.fnUntraced(function* (user: User) {
    const call = yield* user.call(2, "ask", 7)
    const { id } = yield* call.event
    const asked = yield* said(call)
    yield* call.disconnect
    return { asked, last: String(id) }
  })

  it.live("A stream of a call that runs anywhere is resumed at any node", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      const { asked, last } = yield* cut(user)
      for (const node of [1, 2, 3]) {
        const again = yield* user.get(node, last)
        assert.deepStrictEqual(yield* said(again), asked)
        yield* again.disconnect
      }
      const again = yield* user.get(3, last)
      yield* user.post(3, { id: asked.id, result: confirmed })
      assert.deepStrictEqual(yield* said(again), asked)
      assert.strictEqual((yield* said(again)).id, 7)
      assert.deepStrictEqual(saidOf(yield* eventsOf(again)), [])
      assert.strictEqual(saidOf(yield* eventsOf(yield* user.get(1, last))).at(-1).id, 7)
    })
  )

  it.live("A stream of a call ends with one error at any other node when its own node is gone", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const user = yield* opened(nodes, version)
      const { asked, last } = yield* cut(user)
      yield* nodes.crash(2)
      for (const node of [1, 3]) {
        const [first, failure, ...rest] = saidOf(yield* eventsOf(yield* user.get(node, last)))
        assert.deepStrictEqual(first, asked)
        assert.deepStrictEqual([failure.id, failure.error.code, rest], [7, -31503, []])
      }
    })
  )
})

describe("nodes that run requests of another node's session", () => {
  const version = "2025-11-25"

  it.live("A guest node runs no request any more when the holder is dead and a third node may have the session", () =>
    Effect.gen(function* () {
      const nodes = yield* three("1500 millis")
      const user = yield* opened(nodes, version)
      yield* nodes.crash(1)
      yield* Effect.repeat(user.call(3, "which"), { until: ({ status }) => status === 200 })
      assert.strictEqual((yield* user.delete(3)).status, 204)
      assert.strictEqual((yield* user.call(2, "which")).status, 404)
    })
  )

  it.live("A guest node serves a session after the end of another session that drew the same number", () =>
    Effect.gen(function* () {
      let drawn = 0
      const draws = vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
        // The first two numbers are the same.
        if (array instanceof Uint32Array) array[0] = Math.floor(drawn++ / 2) * 16
        return array
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => draws.mockRestore()))
      const nodes = yield* three()
      const ended = yield* opened(nodes, version)
      const lasting = yield* opened(nodes, version)
      assert.strictEqual((yield* ended.delete(1)).status, 204)
      assert.strictEqual(yield* lasting.which(2), 2)
      assert.strictEqual((yield* ended.call(2, "which")).status, 404)
      assert.isAbove(drawn, 2)
    })
  )

  it.live("A guest node leaves a request of 2026-07-28 that names the session to the holder", () =>
    Effect.gen(function* () {
      const nodes = yield* three()
      const session = yield* openSession(nodes.at(1), version)
      yield* welcome(nodes.user(session, version), 2)
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": undefined }
      const answerOf = (node: number) =>
        Effect.flatMap(
          nodes.at(node).post("tools/call", { name: "which", arguments: {} }, headers),
          ({ json, status }) => Effect.map(json, (answer) => ({ status, answer }))
        )
      assert.deepStrictEqual(yield* answerOf(2), yield* answerOf(1))
    })
  )

  it.effect(
    "A guest node keeps the session open at the holder while a call runs at the guest, and while calls come",
    () =>
      Effect.gen(function* () {
        const nodes = yield* three("1 hour", { sessions: { idle: "10 seconds" } })
        const user = yield* opened(nodes, version)
        const passing = Effect.repeat(TestClock.adjust("250 millis"), { times: 80 })
        const hanging = yield* user.call(2, "hang", 7)
        yield* said(hanging)
        yield* passing
        assert.strictEqual((yield* user.call(3, "which")).status, 200)
        yield* user.post(2, { method: "notifications/cancelled", params: { requestId: 7 } })
        yield* Effect.repeat(
          Effect.andThen(
            TestClock.adjust("1 second"),
            Effect.tap(user.which(2), (node) => Effect.sync(() => assert.strictEqual(node, 2)))
          ),
          { times: 15 }
        )
        assert.strictEqual((yield* user.call(3, "which")).status, 200)
        yield* passing
        for (const node of [1, 2, 3]) assert.strictEqual((yield* user.call(node, "which")).status, 404)
      })
  )
})
