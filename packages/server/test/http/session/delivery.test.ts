/** Which stream carries each message of a session, and the form of a response. */
import * as Log from "@effect-mcp/core/Log"
import * as Progress from "@effect-mcp/core/Progress"
import * as Roots from "@effect-mcp/core/Roots"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { echo, open } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { eventsOf, openSession, revisions, saidOf } from "../support/session.ts"

/** A tool that adds another one, which is announced to every client. */
const growing = Layer.unwrap(
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const registries = yield* Effect.context<McpServer.Registries>()
    let added = 0
    const add = () =>
      Tools.layer(Tool.make(`added${added++}`, { description: "Was added." }), () => Effect.succeed("here"))
    return Tools.layer(Tool.make("grow", { description: "Adds a tool." }), () =>
      Effect.as(Effect.provideContext(Layer.buildWithScope(add(), scope), registries), "grown")
    )
  })
)

/** Every revision supports this question. */
const asking: Puppet.Order = Effect.asVoid(Roots.list)

describe.each(revisions)("Responses in %s", (version) => {
  const primes = version === "2025-11-25"

  it.live(
    "A response with a message before the answer is its own stream, ending with the answer",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        for (const order of [Progress.report(1), Progress.report(2), Puppet.answer("done")]) {
          yield* puppet.tell("a", order)
        }
        const reply = yield* session.follow("puppet", { name: "a" }, 7)
        assert.deepStrictEqual(
          [reply.status, reply.headers["content-type"], reply.headers["x-accel-buffering"]],
          [200, "text/event-stream", "no"]
        )
        const said = saidOf(yield* eventsOf(reply))
        assert.deepStrictEqual(
          said.map(({ id, params, result }) => params ?? [id, result.content[0].text]),
          [{ progressToken: 7, progress: 1 }, { progressToken: 7, progress: 2 }, [7, "done"]]
        )
      }),
    verifies(
      "http.post-stream.ends-with-response",
      "http.post-stream.closes-after-response",
      "http.post-stream.related",
      "http.post.json-or-sse"
    )
  )

  it.live(
    `A response stream ${primes ? "starts with a" : "has no"} priming event, and all event ids differ`,
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        const ids = new Set<string | undefined>()
        for (const name of ["a", "b"]) {
          yield* puppet.tell(name, Progress.report(1))
          yield* puppet.tell(name, Puppet.answer("done"))
          const events = yield* eventsOf(yield* session.follow("puppet", { name }, name))
          for (const { id } of events) ids.add(id)
          assert.strictEqual(events[0]?.data === "", primes)
          assert.strictEqual(events[0]?.retry, primes ? 1000 : undefined)
        }
        assert.strictEqual(ids.has(undefined), false)
        assert.strictEqual(ids.size, primes ? 6 : 4)
      }),
    primes
      ? verifies("http.resume.event-id-unique", "http.post-stream.priming-event")
      : verifies("http.resume.event-id-unique")
  )

  it.live(
    "A response stream carries its request's questions, and their answers are posted",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        const stream = yield* session.get()
        yield* puppet.tell("a", asking)
        yield* puppet.tell("a", Puppet.answer("thanks"))
        const reply = yield* session.call("puppet", { name: "a" }, "asks")
        const { data } = yield* Effect.repeat(reply.event, { until: ({ data }) => data !== "" })
        assert.strictEqual(data.method, "roots/list")
        assert.strictEqual((yield* session.respond(data.id, { roots: [] })).status, 202)
        const [answer] = saidOf(yield* eventsOf(reply))
        assert.deepStrictEqual([answer.id, answer.result.content[0].text], ["asks", "thanks"])
        yield* session.delete
        assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
      }),
    verifies("http.post-stream.related", "http.streams.one-per-message", "http.streams.no-broadcast")
  )

  it.live(
    "Concurrent response streams carry only their own request's messages",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        const stream = yield* session.get()
        const names = ["a", "b", "c", "d"]
        for (const name of names) yield* puppet.tell(name, Progress.report(1))
        const replies = yield* Effect.forEach(names, (name) => session.follow("puppet", { name }, name), {
          concurrency: "unbounded"
        })
        for (const step of [2, 3]) for (const name of names) yield* puppet.tell(name, Progress.report(step))
        for (const name of names) yield* puppet.tell(name, Effect.as(Log.info(name), `by ${name}`))
        for (const [at, reply] of replies.entries()) {
          const name = names[at]
          const said = saidOf(yield* eventsOf(reply)).map(
            ({ params, result }) => params?.progress ?? params?.data ?? result.content[0].text
          )
          assert.deepStrictEqual(said, [1, 2, 3, name, `by ${name}`])
        }
        yield* session.delete
        assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
      }),
    verifies("http.streams.one-per-message", "http.streams.no-broadcast", "http.get.no-response", "http.get.unrelated")
  )
})

describe.each(revisions)("The standalone GET stream in %s", (version) => {
  it.live(
    "The GET stream carries messages that belong to no request, only once",
    () =>
      Effect.gen(function* () {
        const client = yield* open(growing)
        const [one, other] = [yield* openSession(client, version), yield* openSession(client, version)]
        const streams = [yield* one.get(), yield* other.get()]
        for (const { headers } of streams) assert.strictEqual(headers["content-type"], "text/event-stream")
        assert.strictEqual((yield* one.call("grow")).headers["content-type"], "application/json")
        const heard = yield* Effect.forEach(streams, ({ event }) =>
          Effect.repeat(event, { until: ({ data }) => data !== "" })
        )
        yield* Effect.all([one.delete, other.delete])
        for (const [at, { data }] of heard.entries()) {
          assert.strictEqual(data.method, "notifications/tools/list_changed")
          const stream = streams[at]
          if (stream !== undefined) assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
        }
      }),
    verifies("http.get.sse-or-405", "http.get.unrelated", "http.streams.no-broadcast", "http.endpoint.single")
  )

  it.live("Changes made without a GET stream are announced once when it opens", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* open(growing), version)
      for (let i = 0; i < 3; i++) yield* session.call("grow")
      const stream = yield* session.get()
      const { data } = yield* Effect.repeat(stream.event, { until: ({ data }) => data !== "" })
      assert.strictEqual(data.method, "notifications/tools/list_changed")
      yield* session.delete
      assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
    })
  )

  it.live("A question that belongs to no request is sent on the GET stream, or fails without one", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const session = yield* openSession(client, version)
      const [own] = yield* client.server.sessions
      assert.isDefined(own)
      if (own === undefined) return
      const failed = yield* Effect.flip(own.peer.request("ping"))
      assert.deepInclude(failed, { _tag: "Closed", unsent: true })
      const { event } = yield* session.get()
      const asked = yield* Effect.forkChild(own.peer.request("ping"), { startImmediately: true })
      const { data } = yield* Effect.repeat(event, { until: ({ data }) => data !== "" })
      assert.strictEqual(data.method, "ping")
      yield* session.respond(data.id, {})
      assert.deepStrictEqual(yield* Fiber.join(asked), {})
    })
  )

  it.live("A newer GET stream replaces and ends the older one", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* open(growing), version)
      const older = yield* session.get()
      const newer = yield* session.get()
      assert.deepStrictEqual(saidOf(yield* eventsOf(older)), [])
      yield* session.call("grow")
      const { data } = yield* Effect.repeat(newer.event, { until: ({ data }) => data !== "" })
      assert.strictEqual(data.method, "notifications/tools/list_changed")
    })
  )
})

describe("Long-running requests", () => {
  it.effect("The response becomes a resumable stream after 100 milliseconds in 2025-11-25", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer))
      const call = yield* Effect.forkChild(session.call("puppet", { name: "a" }), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      yield* Effect.repeat(TestClock.adjust("101 millis"), { until: () => call.pollUnsafe() !== undefined })
      const reply = yield* Fiber.join(call)
      assert.deepInclude(yield* reply.event, { data: "", retry: 1000 })
      yield* puppet.tell("a", Puppet.answer("done"))
      const [event] = yield* eventsOf(reply)
      assert.strictEqual(event?.data.result.content[0].text, "done")
    })
  )

  it.effect("The response stays JSON in 2025-03-26 and 2025-06-18, or if no events are stored", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      for (const [version, resume] of [
        ["2025-03-26", {}],
        ["2025-06-18", {}],
        ["2025-11-25", false]
      ] as const) {
        const session = yield* openSession(yield* open(puppet.layer, { resume }), version)
        const call = yield* Effect.forkChild(session.call("puppet", { name: version }), { startImmediately: true })
        yield* Queue.take(puppet.entered)
        yield* TestClock.adjust("1 minute")
        yield* puppet.tell(version, Puppet.answer("done"))
        assert.strictEqual((yield* Fiber.join(call)).headers["content-type"], "application/json")
      }
    })
  )

  it.effect("Silent response and GET streams send comments", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* open(echo, { keepAlive: "10 seconds" }), "2025-06-18")
      const stream = yield* session.get()
      assert.strictEqual(yield* stream.next, ": here")
      const alive = yield* Effect.forkChild(stream.next, { startImmediately: true })
      yield* Effect.repeat(TestClock.adjust("10 seconds"), { until: () => alive.pollUnsafe() !== undefined })
      assert.strictEqual(yield* Fiber.join(alive), ": keep-alive")
    })
  )
})
