/** Clients that return for the events of a cut connection. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Roots from "@effect-mcp/core/Roots"
import * as McpError from "@effect-mcp/protocol/McpError"
import { EventStore } from "@effect-mcp/server/EventStore"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import { TestClock } from "effect/testing"
import { type Client, type Event, open, type Reply } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { eventsOf, type Opened, openSession, revisions, saidOf } from "../support/session.ts"

const numbersOf = (events: ReadonlyArray<Event>) =>
  saidOf(events).map(({ params, result }) => params?.progress ?? result.content[0].text)

/** Reads up to the progress event with that number, and returns its event id. */
const upTo = (reply: Reply, progress: number): Effect.Effect<string | undefined, unknown> =>
  Effect.map(Effect.repeat(reply.event, { until: ({ data }) => data?.params?.progress === progress }), ({ id }) => id)

const refusal = (reply: Effect.Success<ReturnType<Client["fetch"]>>) =>
  Effect.map(reply.json, ({ error, id }) => [reply.status, error.code, id])

/** Cuts the call off and waits until the server notices, so that later reports have no connection. */
const cut = Effect.fnUntraced(function* (reply: Reply, session: Opened) {
  yield* reply.disconnect
  for (let turn = 0; turn < 3; turn++) yield* session.request("ping", {}, `turn ${turn}`)
})

describe.each(revisions)("Cut streams in %s", (version) => {
  it.live(
    "A resumed stream continues while its request runs, without lost or repeated events",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer), version)
        const reply = yield* Effect.andThen(
          puppet.tell("a", Progress.report(1)),
          session.follow("puppet", { name: "a" })
        )
        const other = yield* Effect.andThen(
          puppet.tell("b", Progress.report(100)),
          session.follow("puppet", { name: "b" }, 2)
        )
        const id = yield* upTo(reply, 1)
        yield* cut(reply, session)
        yield* puppet.tell("a", Progress.report(2))
        yield* puppet.tell("b", Progress.report(200))
        const back = yield* session.get(id)
        assert.deepStrictEqual([back.status, back.headers["content-type"]], [200, "text/event-stream"])
        const second = yield* upTo(back, 2)
        yield* cut(back, session)
        yield* puppet.tell("a", Puppet.answer("done"))
        yield* puppet.tell("b", Puppet.answer("done, too"))
        assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "done"])
        assert.deepStrictEqual(numbersOf(yield* eventsOf(yield* session.get(second))), ["done"])
        // A client that did not receive the answer may request it again.
        assert.deepStrictEqual(numbersOf(yield* eventsOf(yield* session.get(id))), [2, "done"])
        assert.deepStrictEqual(numbersOf(yield* eventsOf(other)), [100, 200, "done, too"])
      }),
    verifies("http.disconnect.not-cancel", "http.resume.own-stream-only")
  )

  it.live("A resumed stream carries questions, and their answers arrive", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer), version)
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.follow("puppet", { name: "a" })
      const id = yield* upTo(reply, 1)
      yield* cut(reply, session)
      yield* puppet.tell("a", Effect.asVoid(Roots.list))
      yield* puppet.tell("a", Puppet.answer("done"))
      const back = yield* session.get(id)
      const question = (yield* back.event).data
      assert.strictEqual(question.method, "roots/list")
      yield* session.respond(question.id, { roots: [] })
      assert.deepStrictEqual(numbersOf(yield* eventsOf(back)), ["done"])
    })
  )

  it.live("Resuming a stream takes it over from an open connection", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer), version)
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.follow("puppet", { name: "a" })
      const id = yield* upTo(reply, 1)
      const back = yield* session.get(id)
      assert.deepStrictEqual(yield* eventsOf(reply), [])
      yield* puppet.tell("a", Puppet.answer("done"))
      assert.deepStrictEqual(numbersOf(yield* eventsOf(back)), ["done"])
    })
  )

  it.live(
    "An unknown event id or one from another session resumes no stream",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const client = yield* open(puppet.layer)
        const session = yield* openSession(client, version)
        const stranger = yield* openSession(client, version)
        yield* puppet.tell("a", Progress.report(1))
        const reply = yield* session.follow("puppet", { name: "a" })
        const id = (yield* upTo(reply, 1)) ?? ""
        for (const [who, event] of [
          [stranger, id],
          [session, id.replace(/\d+$/, "99")],
          [session, id.replace(/^\w+/, "99")],
          [session, id.replace(/^\w+/, "0")],
          [session, "nonsense"],
          [session, ""]
        ] as const) {
          assert.deepStrictEqual(
            yield* refusal(yield* who.get(event)),
            [410, McpError.InvalidRequest, undefined],
            event
          )
        }
        yield* puppet.tell("a", Puppet.answer("done"))
        assert.deepStrictEqual(numbersOf(yield* eventsOf(reply)), ["done"])
      }),
    verifies("http.resume.own-stream-only", "http.resume.event-id-names-stream")
  )

  it.live("A stream whose events were evicted gets 410, and its newest event is always kept", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const store = EventStore.layerMemory({ maxBytesPerStream: 300 })
      const session = yield* openSession(yield* open(puppet.layer, { store }), version)
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.follow("puppet", { name: "a" })
      const id = yield* upTo(reply, 1)
      for (const step of [2, 3, 4]) yield* puppet.tell("a", Progress.report(step))
      yield* puppet.tell("a", Puppet.answer("x".repeat(1000)))
      const last = (yield* eventsOf(reply)).at(-2)?.id
      assert.strictEqual((yield* session.get(id)).status, 410)
      assert.deepStrictEqual(numbersOf(yield* eventsOf(yield* session.get(last))), ["x".repeat(1000)])
    })
  )
})

describe("Clients that do not return", () => {
  it.effect("A handler is interrupted two minutes after its client disconnects", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(puppet.layer))
      yield* puppet.tell("a", Progress.report(1))
      const reply = yield* session.follow("puppet", { name: "a" })
      const id = yield* upTo(reply, 1)
      yield* cut(reply, session)
      yield* TestClock.adjust("119 seconds")
      const back = yield* session.get(id)
      yield* cut(back, session)
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual(yield* Queue.size(puppet.ended), 0)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
      const [answer] = saidOf(yield* eventsOf(yield* session.get(id)))
      assert.deepStrictEqual(answer.error, {
        code: McpError.Interrupted,
        message: "The client did not reconnect in time"
      })
      // An answer is kept for the same time.
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual((yield* session.get(id)).status, 410)
    })
  )

  it.effect("Without event ids, a handler is interrupted 10 seconds after its client disconnects", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      for (const [name, resume] of [
        ["early", {}],
        ["never", false]
      ] as const) {
        const session = yield* openSession(yield* open(puppet.layer, { resume }), "2025-06-18")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const body = JSON.stringify({
              jsonrpc: "2.0",
              id: 1,
              method: "tools/call",
              params: { name: "puppet", arguments: { name } }
            })
            yield* session.abandon({ body })
            yield* Queue.take(puppet.entered)
          })
        )
        for (let turn = 0; turn < 3; turn++) yield* session.request("ping", {}, `turn ${turn}`)
        const failed = yield* Queue.unbounded<string>()
        const asked = Effect.matchEffect(Roots.list, {
          onFailure: ({ _tag }) => Queue.offer(failed, _tag),
          onSuccess: () => Queue.offer(failed, "answered")
        })
        yield* puppet.tell(name, Effect.asVoid(asked))
        assert.strictEqual(yield* Queue.take(failed), "Closed")
        yield* TestClock.adjust("9 seconds")
        assert.strictEqual(yield* Queue.size(puppet.ended), 0)
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(yield* Queue.take(puppet.ended), [name, "interrupted"])
      }
    })
  )
})

describe("Handlers that close their stream", () => {
  it.live(
    "A 2025-11-25 handler can close the connection repeatedly for its client to resume",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer))
        yield* puppet.tell("a", Puppet.leave("250 millis"))
        const reply = yield* session.call("puppet", { name: "a" })
        const events = yield* eventsOf(reply)
        assert.deepStrictEqual(
          events.map(({ data, retry }) => [data, retry]),
          [
            ["", 1000],
            [undefined, 250]
          ]
        )
        const id = events[0]?.id
        const back = yield* session.get(id)
        yield* puppet.tell("a", Puppet.leave())
        assert.deepStrictEqual(yield* eventsOf(back), [{ retry: 1000 }])
        const again = yield* session.get(id)
        yield* puppet.tell("a", Puppet.answer("done"))
        assert.deepStrictEqual(numbersOf(yield* eventsOf(again)), ["done"])
      }),
    verifies("http.post-stream.retry-sent", "http.post-stream.priming-event")
  )

  it.live(
    "A connection that cannot be resumed stays open",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        for (const [version, resume] of [
          ["2025-03-26", {}],
          ["2025-06-18", {}],
          ["2025-11-25", false]
        ] as const) {
          const session = yield* openSession(yield* open(puppet.layer, { resume }), version)
          yield* puppet.tell(version, Puppet.leave())
          yield* puppet.tell(version, Puppet.answer("done"))
          const reply = yield* session.call("puppet", { name: version })
          assert.strictEqual((yield* reply.json).result.content[0].text, "done")
        }
      }),
    verifies("http.post-stream.not-closed-early")
  )

  it.effect(
    "A 2025-11-25 connection ends after its lifetime, and the client resumes",
    () =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const session = yield* openSession(yield* open(puppet.layer, { resume: { lifetime: "1 minute" } }))
        yield* puppet.tell("a", Progress.report(1))
        const replies = [yield* session.get(), yield* session.follow("puppet", { name: "a" })]
        for (const reply of replies) assert.deepInclude(yield* reply.event, { data: "", retry: 1000 })
        yield* TestClock.adjust("61 seconds")
        for (const reply of replies) assert.deepInclude((yield* eventsOf(reply)).at(-1), { retry: 1000 })
        // A shutdown would wait for the call, and no time passes here.
        yield* puppet.tell("a", Puppet.answer("done"))
      }),
    verifies("http.get.polling")
  )
})
