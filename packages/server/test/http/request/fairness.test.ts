/** Limits of one caller: requests, subscriptions and slow bodies of one do not take the place of another. */
import { Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { slowestOf } from "../../../src/http/request/InFlightRequests.ts"
import { drip } from "../support/drip.ts"
import { call, type Client, echo, open, type Opening } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, initialize, openSession, revisions } from "../support/session.ts"

/** Provides the principal that a header names. */
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

describe.each([...revisions, "2026-07-28"])("Requests of %s", (version) => {
  it.live("A caller whose requests take its share of the endpoint gets 429, and another is answered", () =>
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
        [McpError.LimitExceeded, "More than 2 requests of this caller are in flight"]
      )
      for (let round = 0; round < 3; round++) assert.strictEqual((yield* b.echo).status, 200)
      for (const name of ["1", "2"]) yield* puppet.tell(name, Puppet.answer("done"))
      yield* Effect.forEach(running, Fiber.join)
      assert.strictEqual((yield* a.echo).status, 200)
    })
  )
})

describe.each(revisions)("A session of %s", (version) => {
  it.live("Requests that go on without their client count for its caller, and for no other", () =>
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

describe("Subscriptions of 2026-07-28", () => {
  it.live("A caller that has its share of the subscriptions gets 429 for one more, and another gets one", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { around, subscriptions: 4 })
      const listen = (user: string) => client.post("subscriptions/listen", { notifications: {} }, { "x-user": user })
      const streams = [yield* listen("a"), yield* listen("a")]
      const refused = yield* listen("a")
      assert.strictEqual(refused.status, 429)
      assert.strictEqual((yield* refused.json).error.message, "More than 2 subscriptions of this caller are open")
      assert.strictEqual((yield* listen("b")).status, 200)
      yield* Effect.forEach(streams, ({ disconnect }) => disconnect)
      yield* Effect.repeat(
        Effect.map(listen("a"), ({ status }) => status),
        { until: (status) => status === 200 }
      )
    })
  )
})

describe.each([...revisions, "2026-07-28"])("Slow bodies beside requests of %s", (version) => {
  it.live("Slow bodies are cut off for requests that come whole", () =>
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

describe.each([...revisions, "2026-07-28"])("Other methods beside requests of %s", (version) => {
  it.live("Requests of other methods take no place of those that are limited, however many there were", () =>
    Effect.gen(function* () {
      const client = yield* open(echo, { inFlight: 3, callerShare: 1 })
      const { echo: ask } = yield* callerOf(client, version, "a")
      for (const method of ["GET", "DELETE", "PUT", "OPTIONS", "GET", "DELETE", "GET", "DELETE"]) {
        const { status } = yield* client.fetch({ method })
        assert.isAtLeast(status, 400)
        assert.notStrictEqual(status, 429)
      }
      assert.strictEqual((yield* ask).status, 200)
      // Nor do they make room for more slow bodies.
      const closed = yield* Queue.unbounded<void>()
      for (let round = 0; round < 4; round++) yield* drip(client.port, closed)
      yield* Queue.take(closed)
      assert.strictEqual((yield* ask).status, 200)
    })
  )
})

describe("A slow body", () => {
  it("The oldest body of the caller with most of them gives way", () => {
    const bodies = ["a", "b", "b", "c", "b", "a"].map((caller, at) => ({ caller, at }))
    assert.strictEqual(slowestOf(bodies)?.at, 1)
    assert.strictEqual(slowestOf(bodies.slice(3))?.at, 0 + 3)
    assert.strictEqual(slowestOf([]), undefined)
  })

  it.effect("A body that does not end is cut off after its time, and takes no place (2025-11-25)", () =>
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
