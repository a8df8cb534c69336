/**
 * A Streamable HTTP wire over random histories, compared with a model: handshakes, calls of both eras, answers in each form, streams that
 * end or break, listeners, cancellations and lost sessions, each more than once on the same wire.
 *
 * Every request ends once, messages name the session they belong to, and whatever has ended leaves nothing behind.
 */
import { BusyMap } from "@effect-mcp/core/internal/inFlight"
import type { Inbound, Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Schema, Scope, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import { RemoteEndpoint } from "../../../src/transport/http/Endpoint.ts"
import * as HttpClientSender from "../../../src/transport/http/HttpClientSender.ts"
import * as Streamable from "../../../src/transport/http/Streamable.ts"
import * as History from "../../support/history.ts"
import { meta, sessions } from "./support/peer.ts"

const Command = Schema.Union([
  Schema.TaggedStruct("Initialize", {
    mode: Schema.Literals(["json", "sse", "error"]),
    version: Schema.Literals(sessions),
    named: Schema.Boolean,
    streams: Schema.Boolean
  }),
  Schema.TaggedStruct("Call", { mode: Schema.Literals(History.modes), stateless: Schema.Boolean }),
  Schema.TaggedStruct("Hang", { stateless: Schema.Boolean }),
  Schema.TaggedStruct("Cancel", { which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })) }),
  Schema.TaggedStruct("Notify", {}),
  Schema.TaggedStruct("Say", {}),
  Schema.TaggedStruct("CutStream", { id: Schema.Boolean })
])
type Command = typeof Command.Type

/**
 * Lets time pass until the effect is done: a body arrives when the platform delivers it, and a wait ends with the clock.
 */
const passing = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let turns = 0; fiber.pollUnsafe() === undefined; turns++) {
      // A history that hangs fails, so that it can be shrunk.
      assert.isBelow(turns, 500, "what must happen does not")
      yield* Effect.promise(() => new Promise<void>((done) => setImmediate(done)))
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })

/** The model's state: the expected state of the wire. */
class Model {
  /** The session that requests belong to. */
  session: string | undefined
  version: string | undefined
  /** True after a handshake. Only then does the client send anything besides requests. */
  handshaken = false
  /** True if the server offers streams, or undefined if not known yet. */
  gives: boolean | undefined
  /** True while the session's own stream is open; `last` is its last event id. */
  listening = false
  last: string | undefined
  missed = 0
  id = 0
  sessions = 0
  waiting: Array<{ readonly id: number; readonly stateless: boolean }> = []
}

class Run {
  readonly model = new Model()
  readonly outcomes = new Map<number, Deferred.Deferred<Inbound>>()
  readonly answered: Array<number> = []
  readonly notifications: Queue.Queue<string>
  readonly server: History.Server
  readonly transport: Transport

  constructor(server: History.Server, transport: Transport, notifications: Queue.Queue<string>) {
    this.server = server
    this.transport = transport
    this.notifications = notifications
  }

  take(inbound: Inbound): void {
    if (inbound._tag === "Batch") return
    if (inbound._tag === "Message" && JsonRpc.isNotification(inbound.message)) {
      Queue.offerUnsafe(this.notifications, inbound.message.method)
      return
    }
    const id = inbound._tag === "Message" && "id" in inbound.message ? inbound.message.id : undefined
    const known = inbound._tag === "RequestAborted" ? inbound.id : id
    assert(typeof known === "number")
    this.answered.push(known)
    Deferred.doneUnsafe(this.outcome(known), Effect.succeed(inbound))
  }

  outcome(id: number): Deferred.Deferred<Inbound> {
    const known = this.outcomes.get(id) ?? Deferred.makeUnsafe<Inbound>()
    this.outcomes.set(id, known)
    return known
  }

  send(method: string, params: object): number {
    const id = ++this.model.id
    this.transport.sink.send({ jsonrpc: "2.0", id, method, params: { ...params } }, "data")
    return id
  }

  /** Expects the next posted message to be this one, in that session. */
  readonly posted = Effect.fnUntraced(function* (
    this: Run,
    method: string,
    session: string | undefined,
    version: string | undefined
  ) {
    const post = yield* passing(Queue.take(this.server.posts))
    assert.deepStrictEqual([post.method, post.session, post.version], [method, session, version])
    return post
  })

  readonly ended = Effect.fnUntraced(function* (this: Run, id: number) {
    return yield* passing(Deferred.await(this.outcome(id)))
  })

  readonly initialize = Effect.fnUntraced(function* (this: Run, command: Extract<Command, { _tag: "Initialize" }>) {
    const { model, server } = this
    const { mode, streams, version } = command
    const named = command.named ? `session-${++model.sessions}` : undefined
    const id = this.send("initialize", { protocolVersion: version, mode, named, streams })
    // Its answer determines the session, so it belongs to none itself.
    yield* this.posted("initialize", undefined, undefined)
    const outcome = yield* this.ended(id)
    assert.strictEqual(outcome._tag, mode === "error" ? "RequestAborted" : "Message")
    Object.assign(model, { session: undefined, version: undefined, gives: undefined, handshaken: true })
    Object.assign(model, { listening: false, last: undefined })
    if (mode === "error") return
    Object.assign(model, { session: named, version })
    this.transport.sink.send({ jsonrpc: "2.0", method: "notifications/initialized" }, "data")
    yield* this.posted("notifications/initialized", model.session, model.version)
    assert.isUndefined(yield* passing(Queue.take(server.listens)))
    model.listening = model.gives = streams
  })

  readonly call = Effect.fnUntraced(function* (this: Run, mode: History.Mode, stateless: boolean) {
    const { model } = this
    const id = this.send("tools/call", { name: "a", mode, ...(stateless ? { _meta: meta } : undefined) })
    yield* this.posted("tools/call", stateless ? undefined : model.session, stateless ? "2026-07-28" : model.version)
    if (mode === "hang") {
      model.waiting.push({ id, stateless })
      return
    }
    const resumes = mode === "resume" && !stateless && model.gives !== false
    const answered = mode === "json" || mode === "sse" || mode === "note" || resumes
    const outcome = yield* this.ended(id)
    assert.strictEqual(outcome._tag, answered ? "Message" : "RequestAborted")
    if (resumes) model.gives = true
    if (mode === "note" || mode === "cut") {
      assert.strictEqual(yield* passing(Queue.take(this.notifications)), "notifications/message")
    }
  })

  readonly cancel = Effect.fnUntraced(function* (this: Run, which: number) {
    const { model } = this
    const [call] = model.waiting.splice(which % Math.max(1, model.waiting.length), 1)
    if (call === undefined) return
    this.transport.sink.send(JsonRpc.notification("notifications/cancelled", { requestId: call.id }), "control")
    if (call.stateless || !model.handshaken) return
    const { message } = yield* this.posted("notifications/cancelled", model.session, model.version)
    assert.strictEqual(message.params.requestId, call.id)
  })

  /** Only requests without an answer and the stream of the session are open. */
  readonly settled = Effect.suspend(() => {
    const expected = this.model.waiting.length + (this.model.listening ? 1 : 0)
    return passing(
      Effect.repeat(
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => this.server.open())
        ),
        { until: (open) => open === expected }
      )
    )
  })

  readonly notify = Effect.fnUntraced(function* (this: Run) {
    const { handshaken, session, version } = this.model
    this.transport.sink.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" }, "data")
    if (handshaken) yield* this.posted("notifications/roots/list_changed", session, version)
  })

  /** Sends an event on the session's own stream, with or without an id, and ends the stream unless it `stays`. */
  readonly hear = Effect.fnUntraced(function* (this: Run, stays: boolean, identified: boolean) {
    const { model, server } = this
    const id = identified ? `g:${model.id}` : undefined
    server.say("notifications/tools/list_changed", id)
    assert.strictEqual(yield* passing(Queue.take(this.notifications)), "notifications/tools/list_changed")
    model.last = id ?? model.last
    if (stays) return
    server.cut()
    if (model.last === undefined) model.missed++
    assert.strictEqual(yield* passing(Queue.take(server.listens)), model.last)
  })

  step(command: Command): Effect.Effect<void> {
    switch (command._tag) {
      case "Initialize":
        return this.initialize(command)
      case "Call":
        return this.call(command.mode, command.stateless)
      case "Hang":
        return this.call("hang", command.stateless)
      case "Cancel":
        return this.cancel(command.which)
      case "Notify":
        return this.notify()
      case "Say":
        return this.model.listening ? this.hear(true, false) : Effect.void
      default:
        return this.model.listening ? this.hear(false, command.id) : Effect.void
    }
  }
}

/** Runs a history; at its end the session is lost, or the wire is closed. */
const live = Effect.fnUntraced(function* (script: ReadonlyArray<Command>, loses: boolean) {
  const spy = vi.spyOn(BusyMap.prototype, "set")
  yield* Effect.addFinalizer(() => Effect.sync(() => spy.mockRestore()))
  const server = yield* History.make
  const scope = yield* Scope.make()
  const endpoint = new RemoteEndpoint(HttpClientSender.make(server.http), new URL("https://mcp.example.com/mcp"))
  const transport = yield* Streamable.make(
    { endpoint, fallback: undefined, learned: () => {} },
    { resume: { delay: 0, minDelay: 0 } }
  ).pipe(Scope.provide(scope))
  const run = new Run(server, transport, yield* Queue.unbounded<string>())
  const reader = yield* Effect.forkChild(
    Effect.exit(Stream.runForEach(transport.incoming, (inbound) => Effect.sync(() => run.take(inbound)))),
    { startImmediately: true }
  )
  let missed = 0
  const listener = yield* Effect.forkChild(
    Stream.runForEach(transport.missed ?? Stream.empty, () => Effect.sync(() => missed++)),
    { startImmediately: true }
  )
  for (const command of script) {
    yield* run.step(command)
    yield* run.settled
  }
  const { model } = run
  if (loses) {
    const id = run.send("tools/call", { name: "a", mode: "gone" })
    yield* run.posted("tools/call", model.session, model.version)
    const outcome = yield* run.ended(id)
    const lost = model.session !== undefined
    assert.deepInclude(outcome, { _tag: "RequestAborted", unsent: true })
    if (outcome._tag === "RequestAborted") assert.strictEqual(outcome.error.reason, lost ? "SessionLost" : "Status")
    // The loss ends the wire, once the other requests have had time to meet it.
    if (lost) assert.isTrue(Exit.isFailure(yield* passing(Fiber.join(reader))))
    if (lost) model.session = undefined
  }
  yield* passing(Scope.close(scope, Exit.void))
  // The stream of gaps ends with the transport.
  yield* passing(Fiber.join(listener))
  yield* Fiber.interrupt(reader)

  assert.strictEqual(missed, model.missed)
  assert.deepStrictEqual(server.deleted, model.session === undefined ? [] : [model.session])
  assert.strictEqual(new Set(run.answered).size, run.answered.length, "a request ends once")
  assert.strictEqual(yield* Queue.size(server.posts), 0, "nothing else was posted")
  assert.strictEqual(yield* Queue.size(server.listens), 0, "nothing else was listened to")
  assert.strictEqual(server.open(), 0, "requests and bodies that are open")
  assert.deepStrictEqual(
    spy.mock.contexts.filter((map) => map instanceof BusyMap && map.size > 0),
    [],
    "exchanges and fibers that are left"
  )
})

describe("Streamable HTTP connections", () => {
  it.effect.prop(
    "Every request ends once, in the right session, in random exchanges",
    { script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 20 }), loses: Schema.Boolean },
    ({ loses, script }) => Effect.scoped(Effect.as(live(script, loses), true)),
    { arbitrary: { runs: 100, size: 30, seed: 20261122 } }
  )
})
