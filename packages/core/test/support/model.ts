/**
 * A model of one peer that predicts which requests are answered, based on arriving messages and on what its handlers observe.
 *
 * It never looks into the peer. A request lives from its arrival until its handler has ended. A request that its sender cancels during that
 * time is never answered; every other accepted request is answered exactly once.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Option, Schema, Scope } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Framing from "../../src/transport/Framing.ts"
import type * as Peer from "../../src/peer/Peer.ts"
import type { Single } from "../../src/transport/Transport.ts"
import { cancel, notification, request, type Served, serve, quiesce, success } from "./wire.ts"

const Id = Schema.Literals([0, "", 1, "1", 2, 3, "x"])
// Half of them park, so that permits and queue slots run out.
const Behaviour = Schema.Union([
  Schema.Literals(["park", "stuck"]),
  Schema.Literals(["now", "fail", "die", "throw", "self", "bigint", "ping"])
])
const Index = Schema.Literals([0, 1, 2])
const Ask = Schema.TaggedStruct("Request", { id: Id, does: Behaviour })
const Cancel = Schema.TaggedStruct("Cancel", { id: Id })
const junk = ["{", "[]", "7", `"x"`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":1}`]

const Command = Schema.Union([
  Ask,
  Ask,
  Ask,
  Cancel,
  Cancel,
  Schema.TaggedStruct("Finish", { index: Index, how: Schema.Literals(["succeed", "fail", "die"]) }),
  Schema.TaggedStruct("Batch", {
    members: Schema.Array(Schema.Union([Ask, Ask, Cancel])).check(Schema.isMinLength(1), Schema.isMaxLength(4))
  }),
  Schema.TaggedStruct("Junk", { line: Schema.Literals(junk) }),
  Schema.TaggedStruct("Notify", { method: Schema.Literals(["notifications/initialized", "unknown"]) }),
  Schema.TaggedStruct("Interrupt", { id: Schema.UndefinedOr(Id) }),
  Schema.TaggedStruct("Call", {}),
  Schema.TaggedStruct("CallCancel", { index: Index }),
  Schema.TaggedStruct("Reply", { index: Index, how: Schema.Literals(["result", "error", "malformed"]) }),
  Schema.TaggedStruct("Tick", {})
])
export type Command = typeof Command.Type

export const commands: Arbitrary.Arbitrary<ReadonlyArray<Command>> = Arbitrary.array(Arbitrary.schema(Command), {
  maxLength: 40
})

/** An accepted request of the other side. */
interface Inbound {
  readonly id: typeof Id.Type
  readonly does: string
  how: "succeed" | "fail" | "die"
  /** Lets its handler end, once it runs. */
  gate: Latch.Latch | undefined
  over: boolean
  cancelled: boolean
}

/** A request that the peer sent. */
interface Outbound {
  readonly id: JsonRpc.Id
  readonly fiber: Fiber.Fiber<unknown, Peer.RequestError>
  ended: "result" | "error" | "malformed" | "interrupted" | undefined
}

/** Few enough for a short script to use up. */
const permits = 2
const maxPending = 2

const death = Effect.die("dead")

export class Model {
  readonly calls: Array<Inbound> = []
  readonly asks: Array<Outbound> = []
  running = 0
  anonymous = 0
  notified = 0
  private readonly latest = new Map<JsonRpc.Id, Inbound>()
  private served: Served | undefined

  readonly start: Effect.Effect<void, never, Scope.Scope> = Effect.map(
    serve(({ request: { id, params } }) => Effect.suspend(() => this.handle(id, String(params?.does))), {
      inFlight: permits,
      pending: maxPending,
      batches: () => true,
      unreadableId: () => null
    }),
    (served) => void (this.served = served)
  )

  get peer(): Served {
    return this.served!
  }

  private alive(): ReadonlyArray<Inbound> {
    return this.calls.filter((call) => !call.over)
  }

  private handle(id: JsonRpc.Id, does: string): Effect.Effect<unknown, McpError.McpError> {
    const call = this.latest.get(id)!
    const gate = Latch.makeUnsafe(false)
    call.gate = gate
    this.running++
    const no = Effect.fail(McpError.invalidParams("no"))
    const bodies: { readonly [does: string]: Effect.Effect<unknown, McpError.McpError> } = {
      now: Effect.succeed({}),
      park: Effect.andThen(
        gate.await,
        Effect.suspend((): Effect.Effect<unknown, McpError.McpError> =>
          call.how === "succeed" ? Effect.succeed({}) : call.how === "fail" ? no : death
        )
      ),
      fail: no,
      die: death,
      throw: Effect.sync(() => assert.fail("dead")),
      stuck: Effect.ensuring(Effect.never, gate.await),
      self: Effect.interrupt,
      bigint: Effect.succeed({ big: 1n })
    }
    return Effect.onExit(bodies[does]!, () =>
      Effect.sync(() => {
        this.running--
        call.over = true
      })
    )
  }

  /** Returns the message of a command. Also updates the model for its arrival, so it must be called at that moment. */
  private line(command: typeof Ask.Type | typeof Cancel.Type): object {
    const { id } = command
    const living = this.alive().find((call) => call.id === id)
    if (command._tag === "Cancel") {
      // The id may name a request that the peer sent, which is left to the role.
      if (living === undefined && this.asks.some((ask) => ask.id === id && ask.ended === undefined)) this.notified++
      if (living !== undefined) {
        living.cancelled = true
        if (living.gate === undefined) living.over = true
      }
      return cancel(id)
    }
    if (living === undefined) {
      const waiting = this.alive().filter((call) => call.gate === undefined).length
      const refused = this.alive().length - waiting >= permits && waiting >= maxPending
      const over = refused || command.does === "ping"
      const call: Inbound = { id, does: command.does, how: "succeed", gate: undefined, over, cancelled: false }
      this.calls.push(call)
      this.latest.set(id, call)
    }
    return command.does === "ping" ? request(id, "ping") : request(id, "work", { does: command.does })
  }

  private single(command: typeof Ask.Type | typeof Cancel.Type): Single {
    return Framing.decode(JSON.stringify(this.line(command))) as Single // `line` never returns an array.
  }

  step(command: Command): Effect.Effect<void> {
    const { peer, receive } = this.peer
    switch (command._tag) {
      case "Tick":
        return quiesce
      case "Call":
        return Effect.map(Effect.forkDetach(peer.request("ask"), { startImmediately: true }), (fiber) => {
          this.asks.push({ fiber, id: this.peer.messages().at(-1).id, ended: undefined })
        })
      default:
        return Effect.sync(() => this.act(command, peer, receive))
    }
  }

  private act(
    command: Exclude<Command, { readonly _tag: "Tick" | "Call" }>,
    peer: Peer.Peer,
    receive: Served["receive"]
  ): void {
    switch (command._tag) {
      case "Request":
      case "Cancel":
        return peer.receive(this.single(command))
      case "Batch": {
        // Each member is created when the peer reaches it, because its meaning depends on the members before it.
        const members: Array<Single> = []
        for (const [index, member] of command.members.entries()) {
          Object.defineProperty(members, index, { get: () => this.single(member), enumerable: true })
        }
        return peer.receive({ _tag: "Batch", members })
      }
      case "Finish": {
        const parked = this.alive().filter((call) => call.gate !== undefined)[command.index]
        if (parked === undefined) return
        parked.how = command.how
        return void parked.gate?.openUnsafe()
      }
      case "Junk":
        this.anonymous++
        return receive(command.line)
      case "Notify":
        this.notified++
        return receive(notification(command.method))
      case "Interrupt": {
        for (const call of this.alive()) {
          if ((command.id === undefined || call.id === command.id) && call.gate === undefined) call.over = true
        }
        return void peer.interrupt("an operator", command.id)
      }
      case "CallCancel": {
        const asked = this.asks.filter(({ ended }) => ended === undefined)[command.index]
        if (asked === undefined) return
        asked.ended = "interrupted"
        return asked.fiber.interruptUnsafe()
      }
      case "Reply": {
        const asked = this.asks[command.index]
        if (asked === undefined) return
        // A second reply, or a reply to an abandoned request, must change nothing.
        asked.ended ??= command.how
        if (command.how === "result") return receive(success(asked.id, "answer"))
        return receive({
          jsonrpc: "2.0",
          id: asked.id,
          error: command.how === "error" ? { code: 1, message: "no" } : {}
        })
      }
    }
  }

  /** The answers that were sent, with batches flattened. */
  private answers(): ReadonlyArray<any> {
    return this.peer
      .messages()
      .flat()
      .filter((message) => !("method" in message))
  }

  /** Checks the invariants that hold at every moment. */
  checkNow(): void {
    for (const id of Id.literals) {
      const most = this.calls.filter((call) => call.id === id && !call.cancelled).length
      assert.isAtMost(
        this.answers().filter((answer) => answer.id === id).length,
        most,
        `answers to ${JSON.stringify(id)}`
      )
    }
    assert.isAtMost(this.running, permits)
  }

  /** Lets every handler end or cancels it. Afterwards, everything that waited for a permit must have run. */
  readonly drain: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (let round = 0; round < permits + maxPending; round++) {
      for (const call of this.alive().filter(({ gate }) => gate !== undefined)) {
        call.gate?.openUnsafe()
        if (call.does === "stuck") this.peer.receive(this.line({ _tag: "Cancel", id: call.id }))
      }
      yield* quiesce
    }
    assert.deepStrictEqual(this.alive(), [])
  })

  /** Ends the conversation and checks the final invariants. */
  readonly finish = (scope: Scope.Closeable): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      for (const call of this.calls) call.gate?.openUnsafe()
      yield* Fiber.join(closing)
      for (const id of Id.literals) {
        const expected = this.calls.filter((call) => call.id === id && !call.cancelled).length
        const got = this.answers().filter((answer) => answer.id === id).length
        assert.strictEqual(got, expected, `answers to ${JSON.stringify(id)}`)
      }
      assert.strictEqual(this.answers().filter((answer) => answer.id === null).length, this.anonymous)
      assert.strictEqual(this.peer.notified.length, this.notified)
      assert.strictEqual(this.running, 0, "handlers that still run")
      assert.deepStrictEqual(yield* this.peer.peer.inFlight, [])
      assert.strictEqual(this.peer.peer.outstanding(), 0)
      yield* this.checkAsks()
    })

  private checkAsks(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const told = this.peer.messages().filter((message) => message.method === "notifications/cancelled")
      assert.sameMembers(
        told.map((message) => message.params.requestId),
        this.asks.filter(({ ended }) => ended === "interrupted").map(({ id }) => id)
      )
      for (const { ended, fiber } of this.asks) {
        const exit = yield* Fiber.await(fiber)
        const outcome = Exit.isSuccess(exit)
          ? exit.value
          : Option.match(Exit.findErrorOption(exit), { onNone: () => "interrupted", onSome: ({ _tag }) => _tag })
        const expected = { result: "answer", error: "McpError", malformed: "McpError", interrupted: "interrupted" }
        assert.strictEqual(outcome, ended === undefined ? "Closed" : expected[ended])
      }
    })
  }
}
