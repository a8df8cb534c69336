/**
 * Random histories of sessions over HTTP against a model of what clients expect: which sessions exist, how requests are answered, and which
 * events a client ends up with. Nothing remains once all sessions have ended.
 */
import * as Progress from "@effect-mcp/core/Progress"
import { EventStore, makeMemory } from "@effect-mcp/server/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric, Queue, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { type Exchange, type InMemory, make, until } from "../support/endpoint.ts"
import { echo } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { callOf, initialize, request, revisions } from "../support/session.ts"

const capacity = 3
const perCaller = 2
const inFlight = 2
/** Minutes. */
const idle = 30
const away = 2

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const At = between(0, 3)
const User = Schema.Literals(["a", "b", ""])
const Command = Schema.Union([
  Schema.TaggedStruct("Open", { user: User }),
  Schema.TaggedStruct("Quick", { session: At }),
  Schema.TaggedStruct("Notify", { session: At }),
  Schema.TaggedStruct("Foreign", { session: At, user: User }),
  Schema.TaggedStruct("Call", { session: At, id: between(1, 3) }),
  Schema.TaggedStruct("Report", { call: At, size: Schema.Literals([1, 70_000]) }),
  Schema.TaggedStruct("Finish", { call: At }),
  /** The client hangs up before it receives the last events that were sent. */
  Schema.TaggedStruct("HangUp", { call: At, lost: between(0, 2) }),
  Schema.TaggedStruct("Resume", { call: At }),
  /** The store loses a stream. */
  Schema.TaggedStruct("Evict", { call: At }),
  Schema.TaggedStruct("Get", { session: At }),
  Schema.TaggedStruct("HangUpGet", { session: At }),
  Schema.TaggedStruct("Delete", { session: At }),
  Schema.TaggedStruct("Wait", { minutes: Schema.Literals([1, 2, 29, 31]) })
])
type Command = typeof Command.Type

interface Held {
  readonly id: string
  readonly user: string
  used: number
  get: Exchange | undefined
  readonly busy: Set<Call>
}

interface Call {
  readonly name: string
  readonly id: number
  readonly session: Held
  stream: string
  /** Contents of its events by position; undefined for a priming event. */
  readonly said: Array<string | undefined>
  /** Number of events that the client has received. */
  has: number
  /** The response that the client reads, or undefined while it is away. */
  exchange: Exchange | undefined
  /** Position of the oldest event that is kept. */
  kept: number
  running: boolean
  /** When its client left, in minutes, or when the call ended. */
  since: number
}

const principalOf = (user: string) =>
  user === "" ? undefined : { subject: user, scopes: [], claims: { iss: "issuer" } }

/** Waits for the next entry. */
const next = <A>(queue: Queue.Queue<A>): Effect.Effect<A> =>
  Effect.andThen(
    until(() => Queue.sizeUnsafe(queue) > 0, "an entry of the queue"),
    Queue.take(queue)
  )

/** The content of an event of a call. */
const wordOf = (message: any): string | undefined =>
  message === undefined ? undefined : message.params !== undefined ? `${message.params.progress}` : "ended"

/** Makes the store lose a stream once the event at that position is in it. */
type Evict = (name: string, seq: number) => Effect.Effect<void>

class Model {
  private now = 0
  private readonly sessions: Array<Held> = []
  private calls: Array<Call> = []
  private named = 0
  private readonly version: string
  private readonly endpoint: InMemory
  private readonly puppet: Puppet.Puppet
  private readonly evict: Evict

  constructor(version: string, endpoint: InMemory, puppet: Puppet.Puppet, evict: Evict) {
    this.version = version
    this.endpoint = endpoint
    this.puppet = puppet
    this.evict = evict
  }

  private send({ id, user }: Held, body: unknown, more: { readonly [name: string]: string } = {}, method = "POST") {
    const headers = { "mcp-session-id": id, "mcp-protocol-version": this.version, ...more }
    return this.endpoint.ask({ method, headers, principal: principalOf(user), body })
  }

  private sessionAt(at: number): Held | undefined {
    return this.sessions[at % Math.max(this.sessions.length, 1)]
  }

  private callAt(at: number): Call | undefined {
    return this.calls[at % Math.max(this.calls.length, 1)]
  }

  private held(user: string): number {
    return this.sessions.filter((session) => session.user === user).length
  }

  /** The session that ends to make room for another of the user: the longest idle session of the user with the most. */
  private givingWay(user: string): Held | undefined {
    const mayEnd = this.sessions.filter(
      (one) => user !== "" && one.user !== "" && one.busy.size === 0 && this.held(one.user) > this.held(user) + 1
    )
    const isRead = ({ get, ...session }: Held) =>
      get !== undefined || this.calls.some((call) => call.session.id === session.id && call.exchange?.over === false)
    return mayEnd.toSorted((one, two) => Number(isRead(one)) - Number(isRead(two)) || one.used - two.used)[0]
  }

  private readonly open = Effect.fnUntraced(function* (this: Model, user: string) {
    const opened = yield* this.endpoint.ask({ principal: principalOf(user), body: initialize(this.version) })
    const isFull = this.sessions.length >= capacity
    const excess = isFull ? this.givingWay(user) : undefined
    const full = user !== "" && this.held(user) >= perCaller ? 429 : isFull && excess === undefined ? 503 : 200
    assert.strictEqual(opened.status, full, "opening")
    if (full !== 200) return
    if (excess !== undefined) yield* this.gone(excess)
    const id = String(opened.headers["mcp-session-id"])
    const session: Held = { id, user, used: this.now, get: undefined, busy: new Set() }
    this.sessions.push(session)
    const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }
    assert.strictEqual((yield* this.send(session, initialized)).status, 202)
  })

  private readonly call = Effect.fnUntraced(function* (this: Model, session: Held, id: number) {
    session.used = this.now
    const name = `call ${++this.named}`
    yield* this.puppet.tell(name, Progress.report(1))
    const body = callOf("puppet", { name }, id, { progressToken: name })
    const exchange = yield* this.send(session, body)
    const twice = [...session.busy].some((call) => call.id === id)
    const status = session.busy.size >= inFlight ? 429 : twice ? 400 : 200
    assert.strictEqual(exchange.status, status, "calling")
    if (status !== 200) return
    assert.strictEqual(yield* next(this.puppet.entered), name)
    const said = [...(this.version === "2025-11-25" ? [undefined] : []), "1"]
    const call: Call = { name, id, session, stream: "", said, has: 0, exchange, kept: 0, running: true, since: 0 }
    session.busy.add(call)
    this.calls.push(call)
    yield* this.arrived(call)
    call.stream = exchange.events[0]?.stream ?? ""
  })

  /** Checks that all events have arrived, as long as the client reads. */
  private readonly arrived = Effect.fnUntraced(function* (this: Model, call: Call) {
    const { exchange } = call
    if (exchange === undefined) return
    yield* until(() => call.has + exchange.events.length >= call.said.length, `all events of ${call.name}`)
    assert.deepStrictEqual(
      exchange.events.map(({ message }) => wordOf(message)),
      call.said.slice(call.has)
    )
    assert.deepStrictEqual(
      exchange.events.map(({ seq }) => seq),
      call.said.slice(call.has).map((_, at) => call.has + at)
    )
    if (!call.running) yield* until(() => exchange.over, `the end of ${call.name}`)
    if (exchange.over && call.running) assert.fail(`${call.name} ended before its answer`)
  })

  private readonly report = Effect.fnUntraced(function* (this: Model, call: Call, size: number) {
    if (!call.running || call.said.length > 3) return
    const said = yield* Queue.unbounded<void>()
    const progress = call.said.length + 1
    yield* this.puppet.tell(call.name, Progress.report(progress, { message: "x".repeat(size) }))
    yield* this.puppet.tell(call.name, Effect.asVoid(Queue.offer(said, undefined)))
    yield* next(said)
    call.said.push(`${progress}`)
    yield* this.arrived(call)
  })

  private readonly ended = Effect.fnUntraced(function* (this: Model, call: Call, how: "done" | "interrupted") {
    assert.deepStrictEqual(yield* next(this.puppet.ended), [call.name, how])
    yield* this.settle(call)
  })

  private readonly settle = Effect.fnUntraced(function* (this: Model, call: Call) {
    call.running = false
    call.said.push("ended")
    call.since = this.now
    call.session.busy.delete(call)
    call.session.used = this.now
    yield* this.arrived(call)
  })

  private readonly finish = Effect.fnUntraced(function* (this: Model, call: Call) {
    if (!call.running) return
    yield* this.puppet.tell(call.name, Puppet.answer("done"))
    yield* this.ended(call, "done")
  })

  private hangUp(call: Call, lost: number): void {
    if (call.exchange === undefined) return
    // A response that has ended counted as a use of the session when it ended; leaving it later does not.
    if (!call.exchange.over) call.session.used = this.now
    call.exchange.leave()
    const came = call.exchange.events.length
    call.has += Math.max(0, came - lost)
    call.exchange = undefined
    // Without an id a client cannot resume.
    if (call.running) call.since = this.now
  }

  private readonly resume = Effect.fnUntraced(function* (this: Model, call: Call) {
    if (call.has === 0 || call.exchange !== undefined) return
    const { session } = call
    const last = `${call.stream}-${call.has - 1}`
    const exchange = yield* this.send(session, undefined, { "last-event-id": last }, "GET")
    session.used = this.now
    const hasIt = call.kept <= call.has && call.said.length > call.kept
    assert.strictEqual(exchange.status, hasIt ? 200 : 410, `resuming ${call.name} after ${last}`)
    // A client does not come back once it knows that its events are gone.
    if (!hasIt) {
      if (call.running) call.since = this.now
      return
    }
    call.exchange = exchange
    yield* this.arrived(call)
  })

  private readonly get = Effect.fnUntraced(function* (this: Model, session: Held) {
    const before = session.get
    session.get = yield* this.send(session, undefined, {}, "GET")
    session.used = this.now
    assert.strictEqual(session.get.status, 200)
    if (before !== undefined) yield* until(() => before.over, "the end of the older stream")
  })

  private hangUpGet(session: Held): void {
    if (session.get === undefined) return
    session.get.leave()
    session.get = undefined
    session.used = this.now
  }

  private readonly foreign = Effect.fnUntraced(function* (this: Model, session: Held, user: string) {
    if (user === session.user) return
    const thief = { ...session, user }
    assert.strictEqual((yield* this.send(thief, request("ping"))).status, 404)
    for (const method of ["GET", "DELETE"]) {
      assert.strictEqual((yield* this.send(thief, undefined, {}, method)).status, 404)
    }
  })

  private readonly interrupted = Effect.fnUntraced(function* (this: Model, calls: ReadonlyArray<Call>) {
    const ended = yield* Effect.forEach(calls, () => next(this.puppet.ended))
    assert.sameDeepMembers(
      ended,
      calls.map(({ name }) => [name, "interrupted"])
    )
  })

  /** Ends a session: its requests are interrupted, and answered if the client reads. */
  private readonly gone = Effect.fnUntraced(function* (this: Model, session: Held) {
    const running = [...session.busy]
    yield* this.interrupted(running)
    for (const call of this.calls) {
      const { exchange } = call
      if (call.session !== session || exchange === undefined) continue
      yield* until(() => exchange.over, `the end of ${call.name}`)
      if (running.includes(call)) assert.strictEqual(wordOf(exchange.events.at(-1)?.message), "ended")
    }
    const { get } = session
    if (get !== undefined) yield* until(() => get.over, "the end of the session's stream")
    this.calls = this.calls.filter((call) => call.session !== session)
    this.sessions.splice(this.sessions.indexOf(session), 1)
    assert.strictEqual((yield* this.send(session, request("ping"))).status, 404)
  })

  /** Lets one minute pass. */
  private readonly minute = Effect.gen({ self: this }, function* () {
    this.now++
    yield* TestClock.adjust("1 minute")
    const late = this.calls.filter(
      ({ exchange, running, since }) => running && exchange === undefined && this.now - since >= away
    )
    yield* this.interrupted(late)
    for (const call of late) yield* this.settle(call)
    // A stream that the server forgets is forgotten with its call.
    this.calls = this.calls.filter(
      ({ exchange, running, since }) => running || exchange?.over === false || this.now - since < away
    )
    const expired = this.sessions.filter((session) => {
      const isRead = this.calls.some((call) => call.session === session && call.exchange?.over === false)
      const isOpen = session.get !== undefined || session.busy.size > 0 || isRead
      return !isOpen && this.now - session.used >= idle
    })
    for (const session of expired) yield* this.gone(session)
    yield* until(() => this.endpoint.openSessions() === this.sessions.length, "the sessions that ought to be open")
  })

  readonly step = Effect.fnUntraced(function* (this: Model, command: Command) {
    if (command._tag === "Open") {
      yield* this.open(command.user)
      return
    }
    if (command._tag === "Wait") {
      for (let minute = 0; minute < command.minutes; minute++) yield* this.minute
      return
    }
    if ("call" in command) {
      const call = this.callAt(command.call)
      if (call === undefined) return
      if (command._tag === "Report") yield* this.report(call, command.size)
      if (command._tag === "Finish") yield* this.finish(call)
      if (command._tag === "HangUp") this.hangUp(call, command.lost)
      if (command._tag === "Resume") yield* this.resume(call)
      if (command._tag === "Evict") {
        yield* this.evict(`${call.session.id} ${call.stream}`, call.said.length - 1)
        call.kept = call.said.length
      }
      return
    }
    const session = this.sessionAt(command.session)
    if (session === undefined) return
    if (command._tag === "Foreign") {
      yield* this.foreign(session, command.user)
      return
    }
    if (command._tag === "Call") {
      yield* this.call(session, command.id)
      return
    }
    if (command._tag === "Get") {
      yield* this.get(session)
      return
    }
    if (command._tag === "HangUpGet") {
      this.hangUpGet(session)
      return
    }
    session.used = this.now
    if (command._tag === "Quick") {
      const answer = yield* this.send(session, callOf("echo", { text: "hei" }, 99))
      assert.strictEqual(answer.status, session.busy.size >= inFlight ? 429 : 200)
    }
    if (command._tag === "Notify") {
      assert.strictEqual((yield* this.send(session, { jsonrpc: "2.0", method: "notifications/other" })).status, 202)
    }
    if (command._tag === "Delete") {
      assert.strictEqual((yield* this.send(session, undefined, {}, "DELETE")).status, 204)
      yield* this.gone(session)
    }
  })

  readonly finishAll = Effect.gen({ self: this }, function* () {
    while (this.sessions.length > 0) yield* this.step({ _tag: "Delete", session: 0 })
  })
}

/** Number of fibers that are alive. */
const counted = () => {
  let fibers = 0
  const context = Context.make(Metric.FiberRuntimeMetrics, {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  })
  return { context, fibers: () => fibers }
}

/** Runs a history, ends all sessions, and counts what remains. */
const run = (version: string, script: ReadonlyArray<Command>) => {
  const { context, fibers } = counted()
  return Effect.gen(function* () {
    const memory = makeMemory()
    /** The newest event of each stream. */
    const kept = new Map<string, number>()
    const forget: EventStore["Service"]["forget"] = (session, stream) =>
      Effect.suspend(() => {
        for (const name of kept.keys()) {
          if (stream === undefined ? name.startsWith(`${session} `) : name === `${session} ${stream}`) kept.delete(name)
        }
        return memory.forget(session, stream)
      })
    const store = Layer.succeed(EventStore, {
      ...memory,
      forget,
      append: (key, events, text) =>
        Effect.suspend(() => {
          kept.set(`${key.session} ${key.stream}`, events.at(-1)?.seq ?? -1)
          return memory.append(key, events, text)
        })
    })
    const evict: Evict = (name, seq) => {
      const [session = "", stream = ""] = name.split(" ")
      const isThere = until(() => kept.get(name) === seq, "the newest event in the store")
      return Effect.andThen(isThere, memory.forget(session, stream))
    }
    const puppet = yield* Puppet.make
    const sessions = { capacity, perCaller, inFlight, idle: `${idle} minutes` as const }
    const options = { sessions, resume: { window: `${away} minutes` as const } }
    const endpoint = yield* make(Layer.merge(puppet.layer, echo), options, store)
    const model = new Model(version, endpoint, puppet, evict)
    yield* model.step({ _tag: "Open", user: "a" })
    yield* model.step({ _tag: "Delete", session: 0 })
    yield* TestClock.adjust("2 minutes")
    const before = fibers()
    for (const command of [...beginning, ...script]) yield* model.step(command)
    yield* model.finishAll
    yield* until(() => endpoint.openSessions() === 0, "no session")
    yield* until(() => kept.size === 0, `nothing kept, not ${[...kept.keys()].join(", ")}`)
    yield* TestClock.adjust("2 minutes")
    yield* until(() => fibers() <= before, `${before} fibers`)
    assert.strictEqual(fibers(), before, "fibers")
  }).pipe(Effect.scoped, Effect.provideContext(context))
}

/** Sessions and calls for the commands that follow. */
const beginning: ReadonlyArray<Command> = [
  { _tag: "Open", user: "a" },
  { _tag: "Call", session: 0, id: 1 },
  { _tag: "Open", user: "b" },
  { _tag: "Call", session: 1, id: 1 }
]

/** Histories that random generation rarely produces. */
const histories: { readonly [name: string]: ReadonlyArray<Command> } = {
  "A session gives way to a caller with fewer": [
    { _tag: "Open", user: "b" },
    { _tag: "Open", user: "" },
    { _tag: "Delete", session: 0 },
    { _tag: "Open", user: "" },
    { _tag: "Get", session: 1 },
    { _tag: "Wait", minutes: 1 },
    { _tag: "Open", user: "a" },
    { _tag: "Open", user: "" }
  ],
  "A session is used when its stream ends": [
    { _tag: "Finish", call: 0 },
    { _tag: "Get", session: 0 },
    { _tag: "Wait", minutes: 31 },
    { _tag: "HangUpGet", session: 0 },
    { _tag: "Wait", minutes: 29 },
    { _tag: "Quick", session: 0 },
    { _tag: "Wait", minutes: 31 }
  ],
  "A session is used by a notification": [
    { _tag: "Finish", call: 0 },
    { _tag: "Wait", minutes: 29 },
    { _tag: "Notify", session: 0 },
    { _tag: "Wait", minutes: 29 },
    { _tag: "Quick", session: 0 }
  ],
  "A session is not used when its client leaves a response that has ended": [
    { _tag: "Finish", call: 0 },
    { _tag: "Wait", minutes: 1 },
    { _tag: "HangUp", call: 0, lost: 0 },
    { _tag: "Wait", minutes: 29 }
  ],
  "A stream that was resumed to its end is forgotten when its time is over": [
    { _tag: "HangUp", call: 0, lost: 0 },
    { _tag: "Report", call: 0, size: 1 },
    { _tag: "Resume", call: 0 },
    { _tag: "Finish", call: 0 },
    { _tag: "Call", session: 0, id: 1 },
    { _tag: "Wait", minutes: 2 },
    { _tag: "Finish", call: 0 }
  ]
}

describe.each(revisions)("Sessions in %s", (version) => {
  it.effect.each(Object.entries(histories))("A session behaves as the model predicts: %s", ([, script]) =>
    run(version, script)
  )

  it.effect.prop(
    "Sessions behave as the model predicts in random histories and leak nothing",
    { script: Arbitrary.array(Arbitrary.schema(Command), { minLength: 15, maxLength: 60 }) },
    ({ script }) => run(version, script),
    { arbitrary: { runs: 60, size: 60, seed: 20261122 } }
  )
})
