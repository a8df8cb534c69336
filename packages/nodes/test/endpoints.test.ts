/** Reopened sessions: only once, at the right endpoint, also next to other endpoints, without room, or after the client has left. */
import { Nodes } from "@effect-mcp/nodes"
import { McpServer } from "@effect-mcp/server"
import { makeNodeListener } from "@effect-mcp/server/internal/sharing"
import { Nodes as Node } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type IncomingMessage } from "node:http"
import { UnknownSessions } from "../src/sessions/UnknownSessions.ts"
import { ResumableStream } from "../../server/src/http/session/ResumableStream.ts"
import { missedEvents } from "../src/sessions/missedEvents.ts"
import { type Event, makeMemory } from "../../server/src/session/EventStore.ts"
import { type Client, clientOf, listen } from "../../server/test/http/support/http.ts"
import { openSession } from "../../server/test/http/support/session.ts"
import { serverOf } from "./support/features.ts"

type Server = McpServer.McpServer["Service"]

const nodeOf = ({ result }: any): number => JSON.parse(result.content[0].text).node
const which = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } })
const headersOf = ({ id }: { readonly id: string }) => ({
  "mcp-session-id": id,
  "mcp-protocol-version": "2025-11-25"
})

const principal = ({ headers }: IncomingMessage) => {
  const subject = headers["x-user"]
  return typeof subject === "string" ? { subject, scopes: [], claims: {} } : undefined
}

/** Nodes that live as long as the scope, with leases that don't expire even on a busy machine. */
const joined = Effect.fnUntraced(function* (network: Nodes.Network, node: number) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const shared = Nodes.layerMemory(network, { lease: "20 seconds" })
  const context = yield* Layer.buildWithScope(Layer.fresh(Layer.provideMerge(serverOf(node), shared)), scope)
  const own = Context.get(context, McpServer.McpServer)
  /** Adds an endpoint of the node. */
  const endpoint = Effect.fnUntraced(function* (options: McpServer.NodeListenerOptions = {}, server: Server = own) {
    const made = makeNodeListener({ drain: 0, principal, ...options })
    const listener = yield* Scope.provide(Effect.provideService(made, McpServer.McpServer, server), scope)
    return clientOf(yield* listen(createServer(listener)), server, scope)
  })
  return { endpoint, server: own, ...Context.get(context, Node), end: Scope.close(scope, Exit.void) }
})

/** A session whose node has ended. */
const orphaned = Effect.fnUntraced(function* (options: Parameters<typeof openSession>[2] = {}) {
  const network = new Nodes.Network()
  const first = yield* joined(network, 1)
  const session = yield* openSession(yield* first.endpoint(), "2025-11-25", options)
  yield* first.end
  return { network, session }
})

/** Ends the lease of the node that holds a session. The node only notices at its next renewal. */
const expire = Effect.fnUntraced(function* (network: Nodes.Network, id: string) {
  const { directory } = yield* joined(network, 9)
  const located = yield* directory.locate(id)
  assert.strictEqual(located._tag, "There")
  if (located._tag === "There") yield* network.store({ lease: 16_000, grace: 4000, kept: 60_000 }).leave(located.node)
})

describe("Two endpoints on one node", () => {
  it.live("An endpoint forwards answers and DELETE to the endpoint that holds the session", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const first = yield* joined(network, 1)
      const beside = yield* first.endpoint()
      const holder = yield* first.endpoint()
      const other = yield* (yield* joined(network, 2)).endpoint()
      const session = yield* openSession(holder)
      const headers = headersOf(session)
      for (const [id, client] of [beside, other].entries()) {
        const call = yield* session.call("ask", {}, id + 7)
        let asked = yield* call.event
        while (asked.data === "") asked = yield* call.event
        const result = { action: "accept", content: {} }
        const body = JSON.stringify({ jsonrpc: "2.0", id: asked.data.id, result })
        assert.strictEqual((yield* client.fetch({ headers, body })).status, 202)
        assert.strictEqual(nodeOf((yield* call.event).data), 1)
      }
      assert.strictEqual((yield* beside.fetch({ method: "DELETE", headers })).status, 204)
      for (const client of [holder, beside, other]) {
        assert.strictEqual((yield* client.fetch({ headers, body: which })).status, 404)
      }
    })
  )
})

describe("Leaving nodes", () => {
  it.live("A leaving node hands over idle sessions at once and busy ones after their call", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const first = yield* joined(network, 1)
      const holder = yield* first.endpoint({ drain: "30 seconds" })
      const other = yield* (yield* joined(network, 2)).endpoint()
      const [idle, busy] = [yield* openSession(holder), yield* openSession(holder)]
      const call = yield* busy.call("ask", {}, 7)
      let asked = yield* call.event
      while (asked.data === "") asked = yield* call.event
      const whichOf = (session: { readonly id: string }) =>
        Effect.flatMap(other.fetch({ headers: headersOf(session), body: which }), ({ json }) =>
          Effect.map(json, nodeOf)
        )
      const leaving = yield* Effect.forkScoped(first.end)
      yield* Effect.repeat(whichOf(idle), { until: (node) => node === 2 })
      assert.isUndefined(leaving.pollUnsafe())
      // The busy session stays where its call runs.
      assert.strictEqual(yield* whichOf(busy), 1)
      const body = JSON.stringify({ jsonrpc: "2.0", id: asked.data.id, result: { action: "accept", content: {} } })
      assert.strictEqual((yield* other.fetch({ headers: headersOf(busy), body })).status, 202)
      assert.strictEqual(nodeOf((yield* call.event).data), 1)
      yield* Fiber.join(leaving)
      assert.strictEqual(yield* whichOf(busy), 2)
    })
  )
})

describe("Sessions of lost nodes", () => {
  it.live("A session whose node is gone is reopened once, even if the client disconnects", () =>
    Effect.gen(function* () {
      const { network, session } = yield* orphaned()
      const second = yield* joined(network, 2)
      const began = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      let opened = 0
      const slow: Server = {
        ...second.server,
        connect: (transport, options) => second.server.connect(transport, options),
        restore: (opening, record) => {
          opened++
          Deferred.doneUnsafe(began, Effect.void)
          return Effect.andThen(Deferred.await(goOn), second.server.restore(opening, record))
        }
      }
      const client = yield* second.endpoint({}, slow)
      const beside = yield* second.endpoint({}, slow)
      const sent = { headers: headersOf(session), body: which }
      const leaving = yield* Scope.fork(yield* Effect.scope)
      yield* Scope.provide(client.abandon({ ...sent, method: "POST" }), leaving)
      yield* Deferred.await(began)
      const waiting = yield* Effect.forkScoped(
        Effect.all([client.fetch(sent), beside.fetch(sent)], { concurrency: "unbounded" })
      )
      yield* Scope.close(leaving, Exit.void)
      // Once it answers a later request, the server has noticed that the client left.
      yield* client.fetch({ method: "PUT" })
      yield* Deferred.succeed(goOn, undefined)
      for (const reply of yield* Fiber.join(waiting)) {
        assert.strictEqual(nodeOf(yield* reply.json), 2)
      }
      assert.strictEqual(opened, 1)
    })
  )

  it.live("A session gets 503 from a node that fails to open it and can be retried there", () =>
    Effect.gen(function* () {
      const { network, session } = yield* orphaned()
      const second = yield* joined(network, 2)
      let fails = true
      const failing: Server = {
        ...second.server,
        connect: (transport, options) => second.server.connect(transport, options),
        restore: (opening, record) => (fails ? Effect.die("not yet") : second.server.restore(opening, record))
      }
      const client = yield* second.endpoint({}, failing)
      const sent = { headers: headersOf(session), body: which }
      assert.strictEqual((yield* client.fetch(sent)).status, 503)
      fails = false
      assert.strictEqual(nodeOf(yield* (yield* client.fetch(sent)).json), 2)
    })
  )

  it.live("A full node leaves a lost node's session to another node", () =>
    Effect.gen(function* () {
      const { network, session } = yield* orphaned()
      const full = yield* (yield* joined(network, 2)).endpoint({ sessions: { capacity: 0 } })
      const third = yield* (yield* joined(network, 3)).endpoint()
      const sent = { headers: headersOf(session), body: which }
      assert.strictEqual((yield* full.fetch(sent)).status, 503)
      assert.strictEqual(nodeOf(yield* (yield* third.fetch(sent)).json), 3)
    })
  )

  it.live("A lost node's session is reopened only for its owner", () =>
    Effect.gen(function* () {
      const { network, session } = yield* orphaned({ headers: { "x-user": "ada" } })
      const second = yield* (yield* joined(network, 2)).endpoint()
      const third = yield* (yield* joined(network, 3)).endpoint()
      const sent = (user: string) => ({ headers: { ...headersOf(session), "x-user": user }, body: which })
      assert.strictEqual((yield* second.fetch(sent("eve"))).status, 404)
      assert.strictEqual(nodeOf(yield* (yield* third.fetch(sent("ada"))).json), 3)
    })
  )

  it.live("A session keeps its new node's events when the old node closes its copy", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const first = yield* joined(network, 1)
      const old = yield* first.endpoint()
      const session = yield* openSession(old)
      yield* expire(network, session.id)
      const client = yield* (yield* joined(network, 2)).endpoint()
      const headers = headersOf(session)
      const stream = yield* client.fetch({ method: "GET", headers: { ...headers, accept: "text/event-stream" } })
      assert.strictEqual((yield* stream.event).id, "0.2-0")
      const kept = Effect.map(
        Effect.exit(network.events.after({ session: session.id, stream: "0.2" }, -1)),
        Exit.isSuccess
      )
      assert.isTrue(yield* kept)
      assert.strictEqual((yield* old.fetch({ method: "DELETE", headers })).status, 204)
      yield* first.end
      assert.isTrue(yield* kept)
    })
  )
})

describe("Streams of lost nodes", () => {
  it.live("A stream is resumed from an event id of any node that held it", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const first = yield* joined(network, 1)
      const client = yield* first.endpoint()
      const session = yield* openSession(client)
      const get = ({ fetch }: Client, last?: string) => {
        const resumed = last === undefined ? {} : { "last-event-id": last }
        return fetch({ method: "GET", headers: { ...headersOf(session), accept: "text/event-stream", ...resumed } })
      }
      const grow = which.replace("which", "grow")
      assert.strictEqual((yield* (yield* get(client)).event).id, "0-0")
      yield* first.end
      const second = yield* joined(network, 2)
      const between = yield* second.endpoint()
      const grown = Effect.fnUntraced(function* (at: Client, last: string) {
        const stream = yield* get(at, "0-0")
        yield* (yield* at.fetch({ headers: headersOf(session), body: grow })).json
        let event = yield* stream.event
        while (event.id !== last) event = yield* stream.event
        yield* stream.disconnect
      })
      yield* grown(between, "0.2-0")
      yield* second.end
      const last = yield* (yield* joined(network, 3)).endpoint()
      yield* grown(last, "0.3-0")
      const again = yield* get(last, "0-0")
      const ids: Array<string> = []
      while (ids.length < 2) {
        const { id } = yield* again.event
        if (id !== undefined && id !== "") ids.push(id)
      }
      assert.deepStrictEqual(ids, ["0.2-0", "0.3-0"])
    })
  )

  it.effect("A stream whose node is gone ends with an error for its request", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytesPerStream: 1000 })
      const written = (event: Event) => Effect.runSync(store.append({ session: "s", stream: "1" }, [event]))
      const log = { append: written, after: () => Effect.succeed([]) }
      const session = { id: "s", owner: "", epoch: 2, session: undefined }
      const owner = { attached: () => {}, detached: () => {} }
      const stream = new ResumableStream({ name: "1", log, owner, requests: [5] })
      for (let n = 0; n < 6; n++) {
        stream.write(JSON.stringify({ text: "x".repeat(300), n }))
        yield* Effect.yieldNow
      }
      assert.isTrue(Exit.isFailure(yield* Effect.exit(store.after({ session: "s", stream: "1" }, 1))))
      for (const seq of [3, 4, 5]) {
        const text = yield* missedEvents(store, session, { stream: "1", seq })
        assert.strictEqual(text.split("\nid: 1-").length - 1, 5 - seq)
        assert.include(text, '"id":5')
        assert.include(text, "-31503")
      }
      assert.isTrue(Exit.isFailure(yield* Effect.exit(missedEvents(store, session, { stream: "1", seq: 0 }))))
    })
  )
})

describe("Unknown sessions", () => {
  it.effect("A caller can look up a limited number of unknown sessions per second, and any number of known ones", () =>
    Effect.gen(function* () {
      const unknown = new UnknownSessions(yield* Clock.Clock)
      const ask = (caller: string, isUnknown: boolean) => unknown.counted(caller, Effect.void, () => isUnknown)
      for (let n = 0; n < 2 * unknown.limit; n++) yield* ask("a", false)
      assert.isFalse(unknown.isTired("a"))
      for (let n = 0; n < unknown.limit; n++) yield* ask("a", true)
      assert.isTrue(unknown.isTired("a"))
      assert.isFalse(unknown.isTired("b"))
      yield* TestClock.adjust("1 second")
      assert.isFalse(unknown.isTired("a"))
    })
  )
})
