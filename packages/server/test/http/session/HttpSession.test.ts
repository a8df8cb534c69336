/** A session over HTTP: ended streams, late settlements, and a connection or store that fails. */
import { boundsOf, Shares } from "@effect-mcp/core/internal/inFlight"
import * as Progress from "@effect-mcp/core/Progress"
import { HttpSession } from "../../../src/http/session/HttpSession.ts"
import { SessionResponse } from "../../../src/http/session/SessionResponse.ts"
import { EventStore, makeMemory } from "@effect-mcp/server/EventStore"
import { anonymous } from "@effect-mcp/core/Principal"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Layer, Queue } from "effect"
import { TestClock } from "effect/testing"
import { type InMemory, make, type Sent, until } from "../support/endpoint.ts"
import { echo } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, initialize, revisions } from "../support/session.ts"

/** Opens a session and returns a function that sends its requests. */
const open = Effect.fnUntraced(function* (endpoint: InMemory, version: string) {
  const opened = yield* endpoint.ask({ body: initialize(version) })
  assert.strictEqual(opened.status, 200)
  const own = { "mcp-session-id": String(opened.headers["mcp-session-id"]), "mcp-protocol-version": version }
  return {
    id: own["mcp-session-id"],
    post: (body: unknown) => endpoint.ask({ headers: own, body }),
    get: (lastEventId?: string) => {
      const headers = lastEventId === undefined ? own : { ...own, "last-event-id": lastEventId }
      return endpoint.send({ method: "GET", headers })
    }
  }
})

describe.each(revisions)("Sessions in %s", (version) => {
  it.effect("Beyond 256 ended streams, the oldest is dropped from the store and cannot be resumed", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const memory = makeMemory()
      const endpoint = yield* make(puppet.layer, {}, Layer.succeed(EventStore, memory))
      const session = yield* open(endpoint, version)
      const ends: Array<string> = []
      for (let at = 0; at <= 256; at++) {
        yield* puppet.tell("a", Progress.report(1))
        yield* puppet.tell("a", Puppet.answer("done"))
        const reply = yield* session.post(callOf("puppet", { name: "a" }, at, { progressToken: at }))
        yield* until(() => reply.over, "the end of a call")
        const [first] = reply.events
        ends.push(`${first?.stream}-${first?.seq}`)
      }
      const status = (lastEventId: string) =>
        Effect.gen(function* () {
          const reply = yield* session.get(lastEventId)
          yield* until(() => reply.status !== undefined, "a status")
          return reply.status
        })
      const [oldest = "", second = ""] = ends
      assert.deepStrictEqual([yield* status(oldest), yield* status(second)], [410, 200])
      const kept = yield* Effect.forEach([oldest, second], (event) =>
        Effect.isSuccess(memory.after({ session: session.id, stream: event.split("-")[0] ?? "" }, 0))
      )
      assert.deepStrictEqual(kept, [false, true])
    })
  )

  it.effect("A client that disconnects while its stream is read is no longer counted", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const reading = yield* Queue.unbounded<void>()
      const store = Layer.succeed(EventStore, {
        ...makeMemory(),
        after: () => Effect.andThen(Queue.offer(reading, undefined), Effect.never)
      })
      const endpoint = yield* make(puppet.layer, { sessions: { idle: "30 minutes" } }, store)
      const session = yield* open(endpoint, version)
      yield* puppet.tell("a", Progress.report(1))
      const call = yield* session.post(callOf("puppet", { name: "a" }, 1, { progressToken: 1 }))
      yield* until(() => call.events.some(({ message }) => message !== undefined), "a report")
      const last = call.events.at(-1)
      call.leave()
      const resumed = yield* session.get(`${last?.stream}-${last?.seq}`)
      yield* Queue.take(reading)
      resumed.leave()
      yield* puppet.tell("a", Puppet.answer("done"))
      yield* Queue.take(puppet.ended)
      yield* TestClock.adjust("31 minutes")
      yield* until(() => endpoint.openSessions() === 0, "no session")
    })
  )

  it.effect("An initialize that arrives as the endpoint closes opens no session", () =>
    Effect.gen(function* () {
      const endpoint = yield* make(echo)
      const { arrive } = endpoint.begin({ body: initialize(version) })
      yield* Effect.forkChild(endpoint.end(), { startImmediately: true })
      const reply = yield* arrive
      yield* until(() => reply.status !== undefined, "a status")
      assert.deepStrictEqual([reply.status, endpoint.openSessions()], [503, 0])
    })
  )

  it.effect("Anonymous callers over their address's session share get 429", () =>
    Effect.gen(function* () {
      const endpoint = yield* make(echo, { sessions: { perAddress: 2 } })
      const body = initialize(version)
      const statusOf = (sent: Pick<Sent, "address" | "principal">) =>
        Effect.map(endpoint.ask({ body, ...sent }), ({ status }) => status)
      const address = "10.0.0.1"
      const principal = { subject: "ann", scopes: [], claims: { iss: "issuer" } }
      assert.deepStrictEqual([yield* statusOf({ address }), yield* statusOf({ address })], [200, 200])
      const refused = yield* endpoint.ask({ body, address })
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [429, "1"])
      assert.strictEqual(yield* statusOf({ address: "10.0.0.2" }), 200)
      assert.strictEqual(yield* statusOf({ address, principal }), 200)
    })
  )

  it.effect("A session keeps the address of the client that opened it", () =>
    Effect.gen(function* () {
      const addresses: Array<string | undefined> = []
      const endpoint = yield* make(echo, {}, Layer.empty, (server) => ({
        ...server,
        connect: (...options) =>
          Effect.tap(server.connect(...options), ({ address }) => Effect.sync(() => addresses.push(address)))
      }))
      yield* endpoint.ask({ body: initialize(version), address: "10.0.0.1" })
      assert.deepStrictEqual(addresses, ["10.0.0.1"])
    })
  )

  it.effect("A session that fails to connect takes no slot", () =>
    Effect.gen(function* () {
      let broken = true
      const endpoint = yield* make(echo, { sessions: { capacity: 1 } }, Layer.empty, (server) => ({
        ...server,
        connect: (...options) => (broken ? Effect.die("The connection fails") : server.connect(...options))
      }))
      for (let round = 0; round < 3; round++) {
        assert.strictEqual((yield* endpoint.ask({ body: initialize(version) })).status, 500)
      }
      broken = false
      assert.strictEqual((yield* endpoint.ask({ body: initialize(version) })).status, 200)
    })
  )
})

describe("Sessions in 2025-11-25", () => {
  it.effect("Each connection has a full lifetime", () =>
    Effect.gen(function* () {
      const endpoint = yield* make(echo, { resume: { lifetime: "10 minutes" } })
      const session = yield* open(endpoint, "2025-11-25")
      const first = yield* session.get()
      yield* until(() => first.status !== undefined, "a status")
      yield* TestClock.adjust("5 minutes")
      first.leave()
      const second = yield* session.get()
      yield* until(() => second.status !== undefined, "a status")
      yield* TestClock.adjust("9 minutes")
      // The answer shows that all earlier events were handled.
      assert.strictEqual((yield* session.post(callOf("echo", { text: "" }))).status, 200)
      assert.isFalse(second.over)
      yield* TestClock.adjust("2 minutes")
      yield* until(() => second.over, "the end of the second connection")
    })
  )
})

const configOf = (unread = new Shares(boundsOf(Infinity, 1))) =>
  Effect.map(Clock.Clock, (clock) => ({
    clock,
    context: Context.empty(),
    runFork: Effect.runFork,
    store: undefined,
    manager: undefined,
    sessionless: false,
    window: Duration.minutes(2),
    grace: Duration.seconds(10),
    retry: Duration.seconds(1),
    unwritten: new Shares(boundsOf(Infinity, 1)),
    unread,
    leftBehind: () => {},
    ended: () => {}
  }))

describe("The standalone session stream", () => {
  it.effect("Unread messages are limited across all of a caller's sessions", () =>
    Effect.gen(function* () {
      const kib = 1024
      const unread = new Shares(boundsOf(2000 * kib, 0.5))
      const config = yield* configOf(unread)
      const open = (id: string, address: string) => new HttpSession(id, anonymous, address, config)
      const message = { jsonrpc: "2.0" as const, method: "notifications/x", params: { text: "x".repeat(100 * kib) } }
      const sessions = Array.from({ length: 8 }, (_, at) => open(`${at}`, "10.0.0.1"))
      for (let at = 0; at < 4; at++) for (const { sink } of sessions) sink.send(message, "data")
      // Each session keeps its newest message.
      assert.isTrue(sessions.every(({ sink }) => sink.backlog() >= 100 * kib))
      assert.isAtMost(unread.of("10.0.0.1"), 1000 * kib)
      const other = open("other", "10.0.0.2")
      for (let at = 0; at < 3; at++) other.sink.send(message, "data")
      assert.isAtLeast(other.sink.backlog(), 300 * kib)
      const body = other.sink.standaloneStream().attach()
      assert.strictEqual(unread.of("10.0.0.2"), 0)
      other.sink.standaloneStream().detach(body)
      assert.isAtLeast(unread.of("10.0.0.2"), 300 * kib)
      for (const { sink } of [other, ...sessions]) yield* sink.close("over")
      assert.strictEqual(unread.total, 0)
    })
  )
})

describe("Session POSTs", () => {
  it.effect("A POST that settles late does not end a newer POST with the same id", () =>
    Effect.gen(function* () {
      const config = yield* configOf()
      const { sink } = new HttpSession("id", anonymous, undefined, config)
      const older = new SessionResponse(sink, [1, 2], 2, true)
      older.noAnswer(1)
      const newer = new SessionResponse(sink, 1, 1, false)
      older.noAnswer(1)
      assert.deepStrictEqual([sink.isRunning(1), sink.isRunning(2), sink.running], [true, true, 2])
      newer.noAnswer(1)
      assert.isFalse(sink.isRunning(1))
    })
  )
})
