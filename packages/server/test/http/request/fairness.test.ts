/** Limits per caller: the requests, subscriptions and slow bodies of one caller do not take the place of another's. */
import { Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { drip } from "../support/drip.ts"
import { call, type Client, echo, open, type Opening } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, initialize, openSession, revisions } from "../support/session.ts"

/** Provides the principal named in a header. */
const named = HttpRouter.middleware<{ provides: Principal }>()((handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Effect.provideService(handler, Principal, { subject: headers["x-user"], scopes: [], claims: { iss: "issuer" } })
  )
).layer
const around: Opening["around"] = (endpoint) => Layer.provide(endpoint, named)

/** Calls of the puppet by one user in a revision, and a request that is answered at once. */
const callerOf = Effect.fnUntraced(function* (client: Client, version: string, user: string) {
  const headers = { "x-user": user }
  if (version === "2026-07-28") {
    return {
      puppet: (name: string) => client.fetch(call("puppet", { name }, headers)),
      abandon: (name: string) => client.abandon(call("puppet", { name }, headers)),
      echo: client.fetch(call("echo", { text: "" }, headers))
    }
  }
  const session = yield* openSession(
    client,
    revisions.find((one) => one === version),
    { headers }
  )
  let id = 0
  return {
    puppet: (name: string) => session.call("puppet", { name }, ++id),
    abandon: (name: string) => session.abandon({ body: JSON.stringify(callOf("puppet", { name }, ++id)) }),
    echo: Effect.suspend(() => session.call("echo", { text: "" }, ++id))
  }
})

describe.each([...revisions, "2026-07-28"])("Requests in %s", (version) => {
  it.live("A caller over its share of requests gets 429, but another caller does not", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(Layer.merge(puppet.layer, echo), { around, inFlight: 4 })
      const [a, b] = [yield* callerOf(client, version, "a"), yield* callerOf(client, version, "b")]
      const running = yield* Effect.forEach(["1", "2"], (name) =>
        Effect.forkChild(a.puppet(name), { startImmediately: true })
      )
      yield* Queue.takeN(puppet.entered, 2)
      const refused = yield* a.echo
      assert.strictEqual(refused.status, 429)
      const { error } = yield* refused.json
      assert.deepStrictEqual(
        [error.code, error.message],
        [McpError.LimitExceeded, "Too many requests from this caller are in flight (limit 2)"]
      )
      for (let round = 0; round < 3; round++) assert.strictEqual((yield* b.echo).status, 200)
      for (const name of ["1", "2"]) yield* puppet.tell(name, Puppet.answer("done"))
      yield* Effect.forEach(running, Fiber.join)
      assert.strictEqual((yield* a.echo).status, 200)
    })
  )
})

describe.each(revisions)("Sessions in %s", (version) => {
  it.live("Requests that outlive their client count only against that caller", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(Layer.merge(puppet.layer, echo), { around, inFlight: 4, resume: false })
      const [a, b] = [yield* callerOf(client, version, "a"), yield* callerOf(client, version, "b")]
      for (const name of ["1", "2"]) {
        yield* Effect.scoped(Effect.andThen(a.abandon(name), Queue.take(puppet.entered)))
      }
      const status = Effect.map(a.echo, ({ status }) => status)
      yield* Effect.repeat(status, { until: (status) => status === 429 })
      for (let round = 0; round < 3; round++) assert.strictEqual((yield* b.echo).status, 200)
      for (const name of ["1", "2"]) yield* puppet.tell(name, Puppet.answer("done"))
      yield* Queue.takeN(puppet.ended, 2)
      assert.strictEqual(yield* status, 200)
    })
  )
})

describe("Subscriptions in 2026-07-28", () => {
  it.live("A caller over its share of subscriptions gets 429, but another caller does not", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { around, subscriptions: 4 })
      const listen = (user: string) => client.post("subscriptions/listen", { notifications: {} }, { "x-user": user })
      const streams = [yield* listen("a"), yield* listen("a")]
      const refused = yield* listen("a")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(
        (yield* refused.json).error.message,
        "Too many subscriptions from this caller are open (limit 2)"
      )
      assert.strictEqual((yield* listen("b")).status, 200)
      yield* Effect.forEach(streams, ({ disconnect }) => disconnect)
      yield* Effect.repeat(
        Effect.map(listen("a"), ({ status }) => status),
        { until: (status) => status === 200 }
      )
    })
  )
})

describe.each([...revisions, "2026-07-28"])("Slow bodies alongside %s requests", (version) => {
  it.live("Slow bodies are cut off in favour of complete requests", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { inFlight: 3, callerShare: 1 })
      const { echo: ask } = yield* callerOf(client, version, "a")
      const closed = yield* Queue.unbounded<void>()
      for (let round = 0; round < 8; round++) {
        yield* drip(client.port, closed)
        assert.strictEqual((yield* ask).status, 200)
      }
      yield* Queue.takeN(closed, 5)
      assert.strictEqual((yield* ask).status, 200)
    })
  )
})

/** The beginning of a message. */
const beginning = (bytes: number) => `{"padding":"`.padEnd(bytes, "x")

describe("Bytes of arriving bodies", () => {
  it.live("Unfinished bodies hold no more bytes than the endpoint allows", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { bodyBytes: 100_000, callerShare: 1 })
      const closed = yield* Queue.unbounded<void>()
      for (let count = 0; count < 10; count++) {
        yield* drip(client.port, closed, { begin: beginning(40_000), length: 1_000_000 })
      }
      // There is room for two.
      yield* Queue.takeN(closed, 8)
      for (let round = 0; round < 3; round++) {
        assert.strictEqual((yield* client.fetch(call("echo", { text: "" }))).status, 200)
      }
      assert.strictEqual(Queue.sizeUnsafe(closed), 0)
    })
  )

  it.live("A caller's unfinished bodies do not cut off another caller's body", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { around, bodyBytes: 200_000 })
      const { body = "", headers } = call("echo", { text: "x".repeat(40_000) })
      const text = String(body)
      const lines = Object.entries({ ...headers, accept: "application/json, text/event-stream", "x-user": "b" })
      const answered = yield* Queue.unbounded<void>()
      const own = yield* drip(client.port, answered, {
        head: lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join(""),
        begin: text.slice(0, 30_000),
        length: text.length
      })
      const closed = yield* Queue.unbounded<void>()
      for (let count = 0; count < 10; count++) {
        yield* drip(client.port, closed, { head: "x-user: a\r\n", begin: beginning(40_000), length: 1_000_000 })
      }
      // Half of the room fits two bodies of the flood.
      yield* Queue.takeN(closed, 8)
      assert.strictEqual(Queue.sizeUnsafe(answered), 0)
      const reply = Effect.callback<string>((resume) => {
        own.on("data", (data) => resume(Effect.succeed(data.toString())))
        own.write(text.slice(30_000))
      })
      assert.match(yield* reply, /^HTTP\/1.1 200 /)
    })
  )

  it.live("A body sent at once that exceeds the endpoint's capacity is cut off", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { bodyBytes: 100_000, callerShare: 1 })
      const closed = yield* Queue.unbounded<void>()
      yield* drip(client.port, closed, { begin: beginning(150_000), length: 150_000 })
      yield* Queue.take(closed)
      assert.strictEqual((yield* client.fetch(call("echo", { text: "" }))).status, 200)
    })
  )
})

describe.each([...revisions, "2026-07-28"])("Bytes of running %s requests", (version) => {
  it.live("A caller over its share of request bytes gets 429, but another caller does not", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(Layer.merge(puppet.layer, echo), { around, bodyBytes: 200_000 })
      const [a, b] = [yield* callerOf(client, version, "a"), yield* callerOf(client, version, "b")]
      const padded = `1${" ".repeat(60_000)}`
      const running = yield* Effect.forkChild(a.puppet(padded), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      const refused = yield* a.puppet(`2${" ".repeat(60_000)}`)
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(
        (yield* refused.json).error.message,
        "Too many bytes of requests from this caller are in flight (limit 100000)"
      )
      assert.strictEqual((yield* a.echo).status, 200)
      assert.strictEqual((yield* b.echo).status, 200)
      yield* puppet.tell(padded, Puppet.answer("done"))
      yield* Fiber.join(running)
    })
  )
})

describe.each(revisions)("Bytes of abandoned %s requests", (version) => {
  it.live("An abandoned request's bytes count against its caller until it ends", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(Layer.merge(puppet.layer, echo), { around, bodyBytes: 200_000, resume: false })
      const a = yield* callerOf(client, version, "a")
      const padded = (name: string) => `${name}${" ".repeat(60_000)}`
      yield* Effect.scoped(Effect.andThen(a.abandon(padded("1")), Queue.take(puppet.entered)))
      assert.strictEqual((yield* a.puppet(padded("2"))).status, 429)
      yield* puppet.tell(padded("1"), Puppet.answer("done"))
      yield* Queue.take(puppet.ended)
      yield* puppet.tell(padded("3"), Puppet.answer("done"))
      assert.strictEqual((yield* a.puppet(padded("3"))).status, 200)
    })
  )
})

describe.each([...revisions, "2026-07-28"])("Other methods alongside %s requests", (version) => {
  it.live("Requests with other HTTP methods take no request slots", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { inFlight: 3, callerShare: 1 })
      const { echo: ask } = yield* callerOf(client, version, "a")
      for (const method of ["GET", "DELETE", "PUT", "OPTIONS", "GET", "DELETE", "GET", "DELETE"]) {
        const { status } = yield* client.fetch({ method })
        assert.isAtLeast(status, 400)
        assert.notStrictEqual(status, 429)
      }
      assert.strictEqual((yield* ask).status, 200)
      // They do not cut off slow bodies either.
      const closed = yield* Queue.unbounded<void>()
      for (let round = 0; round < 4; round++) yield* drip(client.port, closed)
      yield* Queue.take(closed)
      assert.strictEqual((yield* ask).status, 200)
    })
  )
})

describe("Slow bodies", () => {
  it.effect("An unfinished body is cut off after its time limit and frees its slot (2025-11-25)", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { inFlight: 4, bodyTimeout: "30 seconds" })
      const closed = yield* Queue.unbounded<void>()
      yield* drip(client.port, closed)
      yield* drip(client.port, closed)
      const body = JSON.stringify(initialize("2025-11-25"))
      assert.strictEqual((yield* client.fetch({ body })).status, 200)
      yield* Effect.repeat(TestClock.adjust("31 seconds"), { until: () => Queue.sizeUnsafe(closed) >= 2, times: 50 })
      yield* Queue.takeN(closed, 2)
      assert.strictEqual((yield* client.fetch({ body })).status, 200)
    })
  )
})
