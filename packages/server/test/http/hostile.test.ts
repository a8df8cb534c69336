/** Clients, stores and handlers that misbehave never take the endpoint away from others. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import * as Progress from "@effect-mcp/core/Progress"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import * as Roots from "@effect-mcp/core/Roots"
import { EventStore, makeMemory } from "@effect-mcp/server/EventStore"
import { connect } from "node:net"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Deferred, Effect, Fiber, Latch, Layer, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { call, echo, isFetch, open } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { callOf, eventsOf, initialize, type Opened, openSession, request, saidOf } from "./support/session.ts"

describe("Hostile bodies", () => {
  it.live("A million-member batch is rejected as a whole, in time linear in its length", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const session = yield* openSession(client, "2025-03-26")
      const body = `[${"0,".repeat(1_000_000)}0]`
      for (const send of [client.fetch, session.send]) {
        const reply = yield* send({ body })
        const { error } = yield* reply.json
        assert.deepStrictEqual([reply.status, error.code], [400, McpError.InvalidRequest])
      }
    })
  )
})

type Store = EventStore["Service"]

const storing = (change: (memory: Store) => Partial<Store>) => {
  const memory = makeMemory()
  return Layer.succeed(EventStore, { ...memory, ...change(memory) })
}

/**
 * Reports one, two and three, with the connection cut before the second, then answers. Returns the id of the first event.
 */
const cutCall = Effect.fnUntraced(function* (session: Opened, puppet: Puppet.Puppet, name = "a") {
  yield* puppet.tell(name, Progress.report(1))
  const reply = yield* session.follow("puppet", { name })
  const { id } = yield* Effect.repeat(reply.event, { until: ({ data }) => data?.params?.progress === 1 })
  yield* reply.disconnect
  for (let turn = 0; turn < 3; turn++) yield* session.request("ping", {}, `turn ${turn}`)
  for (const step of [2, 3]) yield* puppet.tell(name, Progress.report(step))
  yield* puppet.tell(name, Puppet.answer("done"))
  yield* Queue.take(puppet.ended)
  return id
})
const stepsOf = (session: Opened, id: string | undefined) =>
  Effect.map(Effect.flatMap(session.get(id), eventsOf), (events) =>
    saidOf(events).map(({ params, result }) => params?.progress ?? result.content[0].text)
  )

describe("Batch members with a bad id", () => {
  it.live("An unreadable batch member does not affect a running request with its id", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer), "2025-03-26")
      yield* puppet.tell("a", Progress.report(1))
      const running = yield* session.follow("puppet", { name: "a" }, 1)
      yield* running.event
      const unreadable = { jsonrpc: "1.0", id: 1, method: "tools/call" }
      const [error] = yield* (yield* session.post([unreadable])).json
      assert.deepStrictEqual([error.id, error.error.code], [1, McpError.InvalidRequest])
      // Also if both arrive together.
      const both = yield* session.post([unreadable, callOf("puppet", { name: "b" }, 1)])
      assert.strictEqual(both.status, 400)
      yield* puppet.tell("b", Effect.asVoid(Roots.list))
      const mixed = yield* session.post([callOf("puppet", { name: "b" }, 2), { ...unreadable, id: 2 }])
      for (const reply of [running, mixed]) {
        if (reply === running) yield* puppet.tell("a", Effect.asVoid(Roots.list))
        const { data } = yield* Effect.repeat(reply.event, { until: ({ data }) => data?.method !== undefined })
        assert.strictEqual(data.method, "roots/list")
        yield* session.respond(data.id, { roots: [] })
      }
      for (const [reply, name] of [
        [running, "a"],
        [mixed, "b"]
      ] as const) {
        yield* puppet.tell(name, Puppet.answer(name))
        assert.strictEqual(saidOf(yield* eventsOf(reply)).at(-1).result.content[0].text, name)
      }
    })
  )
})

describe("Faulty event stores", () => {
  it.live("A slow store keeps events in order, and resuming waits for it", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make()
      const store = storing((memory) => ({
        append: (key, events) => Effect.andThen(gate.await, memory.append(key, events))
      }))
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer, { store }))
      const id = yield* cutCall(session, puppet)
      const steps = yield* Effect.forkChild(stepsOf(session, id), { startImmediately: true })
      yield* gate.open
      assert.deepStrictEqual(yield* Fiber.join(steps), [2, 3, "done"])
    })
  )

  it.live("A stream with a lost event answers 410 before the gap and resumes after it", () =>
    Effect.gen(function* () {
      const store = storing((memory) => ({
        append: (key, events) => {
          const lost = events.findIndex(({ text }) => /"progress":[29]/.test(text))
          if (lost < 0) return memory.append(key, events)
          const others = [events.slice(0, lost), events.slice(lost + 1)]
          const kept = Effect.forEach(others, (some) => memory.append(key, some))
          if (!events[lost]!.text.includes('"progress":2')) return Effect.andThen(kept, Effect.die("no"))
          Effect.runSync(kept)
          // Sometimes it throws instead of returning an effect.
          throw new Error("no")
        },
        forget: () => {
          throw new Error("no")
        }
      }))
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { store })
      const session = yield* openSession(client)
      const id = (yield* cutCall(session, puppet)) ?? ""
      assert.strictEqual((yield* session.get(id)).status, 410)
      assert.deepStrictEqual(
        yield* stepsOf(
          session,
          id.replace(/\d+$/, (seq) => `${Number(seq) + 1}`)
        ),
        [3, "done"]
      )
      assert.strictEqual((yield* session.request("ping")).status, 200)
      assert.strictEqual((yield* session.delete).status, 204)
      assert.isTrue(Option.isSome(yield* Effect.timeoutOption(client.shutdown, "8 seconds")))
    })
  )

  it.live("An unreadable store returns 503, and a later attempt resumes the stream", () =>
    Effect.gen(function* () {
      let broken = true
      const store = storing((memory) => ({
        after: (key, seq) => (broken ? Effect.die(new Error("secret")) : memory.after(key, seq))
      }))
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer, { store }))
      const id = yield* cutCall(session, puppet)
      const refused = yield* session.get(id)
      assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [503, "1"])
      assert.notInclude(yield* refused.text, "secret")
      broken = false
      assert.deepStrictEqual(yield* stepsOf(session, id), [2, 3, "done"])
    })
  )

  it.live("Concurrent resumptions of a stream lose no event, even if the store reorders them", () =>
    Effect.gen(function* () {
      const reads: Array<Latch.Latch> = []
      const asked = yield* Queue.unbounded<void>()
      const store = storing((memory) => ({
        after: (key, seq) =>
          Effect.suspend(() => {
            const latch = Latch.makeUnsafe(false)
            const first = reads.push(latch) === 1
            Queue.offerUnsafe(asked, undefined)
            // The newer resumption reads before the last event is stored, the older one after it.
            return first
              ? Effect.andThen(latch.await, memory.after(key, seq))
              : Effect.tap(memory.after(key, seq), () => latch.await)
          })
      }))
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer, { store }))
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.follow("puppet", { name: "a" })
      const { id } = yield* Effect.repeat(reply.event, { until: ({ data }) => data?.params?.progress === 1 })
      const older = yield* Effect.forkChild(session.get(id), { startImmediately: true })
      yield* Queue.take(asked)
      const newer = yield* Effect.forkChild(session.get(id), { startImmediately: true })
      yield* Queue.take(asked)
      yield* puppet.tell("a", Progress.report(2))
      yield* puppet.tell("a", Puppet.answer("done"))
      yield* Queue.take(puppet.ended)
      reads[0]?.openUnsafe()
      assert.deepStrictEqual(saidOf(yield* eventsOf(yield* Fiber.join(older))), [])
      reads[1]?.openUnsafe()
      const events = saidOf(yield* eventsOf(yield* Fiber.join(newer)))
      assert.deepStrictEqual(
        events.map(({ params }) => params?.progress),
        [2, undefined]
      )
    })
  )

  it.effect("A stuck store does not delay requests or shutdown", () =>
    Effect.gen(function* () {
      const appending = yield* Deferred.make<void>()
      const store = storing(() => ({
        append: () => Effect.andThen(Deferred.succeed(appending, undefined), Effect.never)
      }))
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { store })
      const session = yield* openSession(client)
      const stream = yield* session.get()
      yield* Deferred.await(appending)
      const { id } = yield* stream.event
      const coming = yield* Effect.forkChild(session.get(id), { startImmediately: true })
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => coming.pollUnsafe() !== undefined })
      assert.strictEqual((yield* Fiber.join(coming)).status, 503)
      assert.strictEqual((yield* session.request("ping")).status, 200)
      const down = yield* Effect.forkChild(client.shutdown, { startImmediately: true })
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => down.pollUnsafe() !== undefined, times: 60 })
      assert.isDefined(down.pollUnsafe())
    })
  )
})

describe("Hostile clients", () => {
  it.live("A client that disconnects before its session opens leaves no session behind", () =>
    Effect.gen(function* () {
      const greeted = yield* Deferred.make<void>()
      const onInitialize = () => Effect.andThen(Deferred.succeed(greeted, undefined), Effect.never)
      const client = yield* open(echo, {}, { onInitialize })
      const before = yield* client.server.sessions
      yield* Effect.scoped(
        Effect.andThen(client.abandon({ body: JSON.stringify(initialize("2025-11-25")) }), Deferred.await(greeted))
      )
      const count = Effect.map(
        Effect.andThen(client.fetch({ method: "GET", path: "/health" }), client.server.sessions),
        ({ length }) => length
      )
      yield* Effect.repeat(count, { until: (length) => length === before.length, times: 50 })
      assert.strictEqual(yield* count, before.length)
    })
  )

  it.live("A body arriving byte by byte uses no more memory than its length", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const { body, headers } = call("echo", { text: "ä".repeat(3000) })
      const bytes = new TextEncoder().encode(String(body))
      const all = {
        ...headers,
        "content-type": "application/json",
        "transfer-encoding": "chunked",
        connection: "close"
      }
      const head = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`)
      const parts: Array<Uint8Array> = []
      for (const byte of bytes) parts.push(Buffer.from("1\r\n"), Uint8Array.of(byte), Buffer.from("\r\n"))
      const reply = yield* Effect.callback<string>((resume) => {
        let text = ""
        const socket = connect(client.port, "127.0.0.1", () => {
          socket.write(`POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n${head.join("")}\r\n`)
          socket.write(Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]))
        })
        socket.setEncoding("utf8").on("data", (part) => (text += part.toString()))
        socket.on("close", () => resume(Effect.succeed(text)))
      })
      assert.include(reply, "ä".repeat(3000))
    })
  )

  it.live("A principal that cannot be compared fails only its own request, even behind a router", () =>
    Effect.gen(function* () {
      const odd = HttpRouter.middleware<{ provides: Principal }>()(
        Effect.succeed((handler) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
            Effect.provideService(handler, Principal, {
              ...anonymous,
              subject: "me",
              claims: headers["x-bad"] === undefined ? {} : { iss: 1n }
            })
          )
        )
      ).layer
      const client = yield* open(echo, { around: Layer.provide(odd), inFlight: 1 })
      const session = yield* openSession(client)
      for (let turn = 0; turn < 4; turn++) {
        assert.strictEqual((yield* session.post(request("ping"), { "x-bad": "1" })).status, 500)
      }
      assert.strictEqual((yield* session.request("ping")).status, 200)
    })
  )

  it.live("A client that disconnects during initialize leaves no handler behind", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer)
      const text = ["a", "b"].map((name) => {
        const { body, headers } = call("puppet", { name })
        const all = { ...headers, "content-length": `${body?.length}`, "content-type": "application/json" }
        const head = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`)
        return `POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n${head.join("")}\r\n${String(body)}`
      })
      const socket = connect(client.port, "127.0.0.1", () => socket.write(text.join("")))
      socket.on("error", () => {})
      yield* Queue.takeN(puppet.entered, 2)
      socket.destroy()
      assert.sameDeepMembers(
        [...(yield* Queue.takeN(puppet.ended, 2))],
        [
          ["a", "interrupted"],
          ["b", "interrupted"]
        ]
      )
    })
  )

  it.effect("Abandoned requests count against the limit until they end", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, {
        inFlight: 2,
        callerShare: 1,
        resume: false,
        sessions: { grace: "10 seconds" }
      })
      const session = yield* openSession(client)
      const call = (name: string, id: number) => JSON.stringify(callOf("puppet", { name }, id))
      for (const [name, id] of [
        ["a", 1],
        ["b", 2]
      ] as const) {
        yield* Effect.scoped(Effect.andThen(session.abandon({ body: call(name, id) }), Queue.take(puppet.entered)))
      }
      const ping = Effect.map(session.request("ping", {}, "ping"), ({ status }) => status)
      yield* Effect.repeat(ping, { until: (status) => status === 429, times: 50 })
      assert.strictEqual(yield* ping, 429)
      // Messages that running requests wait for are still accepted.
      assert.strictEqual((yield* session.notify("notifications/cancelled", { requestId: 1 })).status, 202)
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
      assert.strictEqual(yield* ping, 200)
      yield* Effect.repeat(TestClock.adjust("11 seconds"), { until: () => Queue.sizeUnsafe(puppet.ended) > 0 })
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["b", "interrupted"])
    })
  )

  it.effect("The id of an abandoned batch request can be reused", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { resume: false, sessions: { grace: "10 seconds" } })
      const session = yield* openSession(client, "2025-03-26")
      const body = JSON.stringify([callOf("puppet", { name: "a" }, 1), callOf("puppet", { name: "b" }, 2)])
      yield* Effect.scoped(Effect.andThen(session.abandon({ body }), Queue.takeN(puppet.entered, 2)))
      for (let turn = 0; turn < 3; turn++) yield* session.request("ping", {}, `turn ${turn}`)
      yield* puppet.tell("a", Puppet.answer("done"))
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "done"])
      const again = yield* Effect.forkChild(session.call("puppet", { name: "c" }, 1), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      yield* TestClock.adjust("11 seconds")
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["b", "interrupted"])
      yield* puppet.tell("c", Puppet.answer("done"))
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["c", "done"])
      assert.strictEqual((yield* Fiber.join(again)).status, 200)
    })
  )

  it.live(
    "A client that never reads does not delay shutdown",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const client = yield* open(puppet.layer, { drain: "1 millis" })
        const session = yield* openSession(client)
        const message = "x".repeat(900_000)
        for (let step = 1; step <= 20; step++) yield* puppet.tell("a", Progress.report(step, { message }))
        const body = JSON.stringify(callOf("puppet", { name: "a" }, 1, { progressToken: 1 }))
        const reply = yield* session.send({ body, paused: true })
        yield* puppet.tell("b", Progress.report(1))
        const cut = yield* session.follow("puppet", { name: "b" }, 2)
        const { id } = yield* Effect.repeat(cut.event, { until: ({ data }) => data !== "" })
        yield* cut.disconnect
        for (let step = 2; step <= 20; step++) yield* puppet.tell("b", Progress.report(step, { message }))
        const resumed = yield* session.send({
          method: "GET",
          headers: { accept: "text/event-stream", "last-event-id": id },
          paused: true
        })
        assert.deepStrictEqual([reply.status, resumed.status], [200, 200])
        assert.isTrue(Option.isSome(yield* Effect.timeoutOption(client.shutdown, "8 seconds")))
      }),
    needs(!isFetch, "a fetch handler has no hand in the end of its connections")
  )
})
