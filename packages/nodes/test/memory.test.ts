/** Sessions on several nodes of one process: what a client sees behind a round robin, and what becomes of its session when a node dies. */
import { Nodes } from "@effect-mcp/nodes"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { openSession, revisions } from "../../server/test/http/support/session.ts"
import { cluster, type Cluster } from "./support/nodes.ts"

/** A cluster of three, whose nodes can crash. */
const three = Effect.gen(function* () {
  const network = new Nodes.Network()
  const nodes: Cluster = yield* cluster(3, () => Nodes.layerMemory(network))
  const crash = (node: number) =>
    Effect.sync(() => {
      nodes.remove(node)
      network.crash(node)
    })
  return { ...nodes, crash }
})

const nodeOf = ({ result }: any): number => JSON.parse(result.content[0].text).node

describe.each(revisions)("A session of %s on three nodes", (version) => {
  it.live("is served by the node that opened it, at whichever node a request arrives", () =>
    Effect.gen(function* () {
      const nodes = yield* three
      const session = yield* openSession(nodes.at(2), version)
      const through = yield* openSession({ ...nodes.any, fetch: nodes.any.fetch }, version)
      for (const node of [1, 2, 3]) {
        const headers = { "mcp-session-id": session.id, "mcp-protocol-version": version }
        const body = JSON.stringify({ jsonrpc: "2.0", id: node, method: "tools/call", params: { name: "which" } })
        const reply = yield* nodes.at(node).fetch({ headers, body })
        assert.strictEqual(nodeOf(yield* reply.json), 2)
      }
      assert.strictEqual((yield* (yield* through.call("which")).json).id, 1)
    })
  )

  it.live("has its question answered at another node than the one whose fiber asks", () =>
    Effect.gen(function* () {
      const nodes = yield* three
      const session = yield* openSession(nodes.any, "2025-11-25")
      const call = yield* session.call("ask", {}, 7)
      let asked = yield* call.event
      while (asked.data === "") asked = yield* call.event
      assert.strictEqual(asked.data.method, "elicitation/create")
      const accepted = yield* session.respond(asked.data.id, { action: "accept", content: {} })
      assert.strictEqual(accepted.status, 202)
      const answer = yield* call.event
      assert.strictEqual(answer.data.id, 7)
      assert.isNumber(nodeOf(answer.data))
    })
  )

  it.live("is closed everywhere by one DELETE at any node", () =>
    Effect.gen(function* () {
      const nodes = yield* three
      const session = yield* openSession(nodes.at(1), version)
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": version }
      const deleted = yield* nodes.at(3).fetch({ method: "DELETE", headers })
      assert.strictEqual(deleted.status, 204)
      for (const node of [1, 2, 3]) {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
        assert.strictEqual((yield* nodes.at(node).fetch({ headers, body })).status, 404)
      }
    })
  )

  it.live(
    "is opened again by another node when its own dies: with its subscriptions, and a request that ran gets an error",
    () =>
      Effect.gen(function* () {
        const nodes = yield* three
        const session = yield* openSession(nodes.at(1), version)
        const headers = { "mcp-session-id": session.id, "mcp-protocol-version": version }
        yield* (yield* session.request("resources/subscribe", { uri: "test://count" }, 1)).json
        const body = (name: string, id: number) =>
          JSON.stringify({
            jsonrpc: "2.0",
            id,
            method: "tools/call",
            params: { name, _meta: { progressToken: id } }
          })
        const hanging = yield* nodes.at(2).fetch({ headers, body: body("hang", 2) })
        let event = yield* hanging.event
        while (event.data === "") event = yield* hanging.event
        assert.strictEqual(event.data.method, "notifications/progress")
        yield* nodes.crash(1)
        const error = yield* hanging.event
        assert.deepStrictEqual([error.data.id, error.data.error.code], [2, -31503])
        const next = yield* nodes.at(3).fetch({ headers, body: body("which", 3) })
        assert.strictEqual(nodeOf(yield* next.json), 3)
        const stream = yield* nodes.at(2).fetch({ method: "GET", headers: { ...headers, accept: "text/event-stream" } })
        yield* (yield* nodes.at(3).fetch({ headers, body: body("touch", 4) })).json
        let update = yield* stream.event
        while (update.data === "" || update.data === undefined) update = yield* stream.event
        assert.strictEqual(update.data.method, "notifications/resources/updated")
      })
  )
})

describe("Clients of several nodes", () => {
  it.live("all learn of a list that changed on one node, and of a resource that was updated there", () =>
    Effect.gen(function* () {
      const nodes = yield* three
      const sessions = yield* Effect.forEach([1, 2, 3], (node) => openSession(nodes.at(node)))
      const streams = yield* Effect.forEach(sessions, (session) => session.get())
      for (const session of sessions) {
        yield* (yield* session.request("resources/subscribe", { uri: "test://count" }, 1)).json
      }
      yield* (yield* sessions[0]!.call("grow", {}, 2)).json
      yield* (yield* sessions[1]!.call("touch", {}, 2)).json
      for (const stream of streams) {
        const seen = new Set<string>()
        while (seen.size < 2) {
          const { data } = yield* stream.event
          if (data !== "" && data !== undefined) seen.add(data.method)
        }
        assert.deepStrictEqual([...seen].toSorted(), [
          "notifications/prompts/list_changed",
          "notifications/resources/updated"
        ])
      }
    })
  )
})
