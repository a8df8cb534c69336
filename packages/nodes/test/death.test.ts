/** Sessions whose node dies. */
import { Nodes } from "@effect-mcp/nodes"
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Ref } from "effect"
import { HttpServerResponse } from "effect/http"
import { storeFailed } from "../../server/src/http/response/Responses.ts"
import { openSession, revisions } from "../../server/test/http/support/session.ts"
import type { DirectoryStore } from "../src/directory/DirectoryStore.ts"
import { cluster, type Cluster } from "./support/nodes.ts"

/** A short lease, so that tests don't wait long. */
const lease = "1500 millis"

/** A cluster of three, whose nodes can crash. */
const three = Effect.gen(function* () {
  const network = new Nodes.Network()
  const nodes: Cluster = yield* cluster(3, () => Nodes.layerMemory(network, { lease }))
  const crash = (node: number) =>
    Effect.sync(() => {
      nodes.remove(node)
      network.crash(node)
    })
  return { ...nodes, crash }
})

/** A store that a node can't reach while it is cut off. */
const failing = (store: DirectoryStore, cutOff: Effect.Effect<boolean>): DirectoryStore => {
  const away = new NodesUnavailable({ message: "The store is away" })
  const step =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E | NodesUnavailable> =>
      Effect.flatMap(cutOff, (is): Effect.Effect<A, E | NodesUnavailable> => (is ? Effect.fail(away) : run(...args)))
  return {
    join: step(store.join),
    renew: step(store.renew),
    leave: step(store.leave),
    alive: step(store.alive),
    inherit: step(store.inherit),
    release: step(store.release),
    open: step(store.open),
    claim: step(store.claim),
    save: step(store.save),
    close: step(store.close),
    sweep: step(store.sweep)
  }
}

const nodeOf = ({ result }: any): number => JSON.parse(result.content[0].text).node

describe.each(revisions)("%s sessions on three nodes, one of which crashes", (version) => {
  it.live("A crashed node's session is reopened elsewhere, and its running request fails", () =>
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

describe("Nodes cut off from the store", () => {
  it.live("Requests that need the store get 503 and -31503 during an outage", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const cutOff = yield* Ref.make(false)
      const store = network.store.bind(network)
      network.store = (times) => failing(store(times), Ref.get(cutOff))
      const nodes = yield* cluster(1, () => Nodes.layerMemory(network, { lease: "20 seconds" }))
      const session = yield* openSession(nodes.at(1))
      yield* Ref.set(cutOff, true)
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "client", version: "1" }
      }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })
      const opened = yield* nodes.at(1).fetch({ body })
      assert.deepStrictEqual([opened.status, (yield* opened.json).error.code], [503, -31503])
      const subscribed = yield* session.request("resources/subscribe", { uri: "test://count" }, 2)
      assert.strictEqual((yield* subscribed.json).error.code, -31503)
      const { error } = yield* Effect.promise(() => HttpServerResponse.toWeb(storeFailed).json())
      assert.deepStrictEqual([storeFailed.status, error.code], [503, -31503])
    }).pipe(Effect.provide(Logger.layer([])))
  )

  it.live("A node cut off from the store answers 503 for sessions that moved away", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const cutOff = yield* Ref.make(false)
      const store = network.store.bind(network)
      const layerOf = (node: number) =>
        Layer.suspend(() => {
          network.store = (times) => (node === 1 ? failing(store(times), Ref.get(cutOff)) : store(times))
          return Nodes.layerMemory(network, { lease })
        })
      const nodes = yield* cluster(2, layerOf)
      const session = yield* openSession(nodes.at(1))
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } })
      const called = (node: number) => nodes.at(node).fetch({ headers, body })
      yield* Ref.set(cutOff, true)
      let reply = yield* called(2)
      while (reply.status !== 200 || nodeOf(yield* reply.json) !== 2) {
        yield* Effect.sleep("50 millis")
        reply = yield* called(2)
      }
      const refused = yield* called(1)
      assert.deepStrictEqual([refused.status, (yield* refused.json).error.code], [503, -31503])
      assert.strictEqual((yield* nodes.at(1).fetch({ method: "DELETE", headers })).status, 503)
      yield* Ref.set(cutOff, false)
      assert.strictEqual(nodeOf(yield* (yield* called(1)).json), 2)
    })
  )
})

describe("Nodes that cannot renew their lease", () => {
  it.live("A node without a lease ends a session that another node took over and closed", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const [cutOff, cannotRenew] = [yield* Ref.make(false), yield* Ref.make(false)]
      const store = network.store.bind(network)
      const layerOf = (node: number) =>
        Layer.suspend(() => {
          network.store = (times) => {
            if (node !== 1) return store(times)
            const { inherit, join, renew } = failing(store(times), Ref.get(cannotRenew))
            return { ...failing(store(times), Ref.get(cutOff)), inherit, join, renew }
          }
          return Nodes.layerMemory(network, { lease })
        })
      const nodes = yield* cluster(2, layerOf)
      const session = yield* openSession(nodes.at(1))
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": "2025-11-25" }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } })
      const stream = yield* session.get()
      yield* Ref.set(cannotRenew, true)
      yield* Ref.set(cutOff, true)
      let reply = yield* nodes.at(2).fetch({ headers, body })
      while (reply.status !== 200 || nodeOf(yield* reply.json) !== 2) {
        yield* Effect.sleep("50 millis")
        reply = yield* nodes.at(2).fetch({ headers, body })
      }
      assert.strictEqual((yield* nodes.at(2).fetch({ method: "DELETE", headers })).status, 204)
      while ((yield* nodes.at(2).fetch({ headers, body })).status !== 404) yield* Effect.sleep("10 millis")
      yield* Ref.set(cutOff, false)
      assert.strictEqual((yield* nodes.at(1).fetch({ headers, body })).status, 404)
      // Its streams end with it.
      assert.notInclude(yield* stream.text, "undefined")
    })
  )
})

describe("Sessions of crashed nodes", () => {
  it.live("A crashed node's sessions are reopened once its lease expires", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const store = network.store.bind(network)
      let looks = 0
      network.store = (times) => {
        const inner = store(times)
        return { ...inner, claim: (...args) => Effect.suspend(() => (looks++, inner.claim(...args))) }
      }
      const nodes = yield* cluster(2, () => Nodes.layerMemory(network, { lease }))
      const sessions = yield* Effect.replicateEffect(openSession(nodes.at(1)), 20)
      nodes.remove(1)
      network.crash(1)
      looks = 0
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } })
      const calls = sessions.map(({ id }) =>
        nodes.at(2).fetch({ headers: { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" }, body })
      )
      for (const reply of yield* Effect.all(calls, { concurrency: "unbounded" })) {
        assert.strictEqual(nodeOf(yield* reply.json), 2)
      }
      assert.isAtMost(looks, 10 * sessions.length)
    })
  )

  it.live("A crashed node's session is found only by its own user, on every node", () =>
    Effect.gen(function* () {
      const nodes = yield* three
      const version = "2025-11-25"
      const session = yield* openSession(nodes.at(1), version, { headers: { "x-user": "ada" } })
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": version }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } })
      yield* nodes.crash(1)
      for (const user of ["eve", undefined]) {
        const theirs = user === undefined ? headers : { ...headers, "x-user": user }
        assert.strictEqual((yield* nodes.at(2).fetch({ headers: theirs, body })).status, 404)
      }
      for (const node of [3, 2]) {
        const reply = yield* nodes.at(node).fetch({ headers: { ...headers, "x-user": "ada" }, body })
        assert.strictEqual(nodeOf(yield* reply.json), 3)
        assert.strictEqual(
          (yield* nodes.at(node).fetch({ headers: { ...headers, "x-user": "eve" }, body })).status,
          404
        )
      }
    })
  )
})
