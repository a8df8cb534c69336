/**
 * Random connection losses against a model of which requests must be answered, which may run only once, and which updates a watcher must
 * not miss.
 */
import type * as McpClient from "@effect-mcp/client/McpClient"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Schema, Scope, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { all, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { recovering } from "../support/recovering.ts"
import type * as Scripted from "../support/scripted.ts"

const Command = Schema.Union([
  // A call that may run only once, or a read; `parks` waits for an `Answer`.
  Schema.TaggedStruct("Ask", { method: Schema.Literals(["call", "read"]), parks: Schema.Boolean }),
  Schema.TaggedStruct("Ask", { method: Schema.Literals(["call", "read"]), parks: Schema.Boolean }),
  Schema.TaggedStruct("Answer", {}),
  Schema.TaggedStruct("Update", {}),
  Schema.TaggedStruct("Update", {}),
  Schema.TaggedStruct("Cut", {}),
  Schema.TaggedStruct("End", {}),
  // The server ends only the subscriptions (2026-07-28).
  Schema.TaggedStruct("Unsubscribe", {}),
  // The next `times` connections cannot be opened.
  Schema.TaggedStruct("Refuse", { times: Schema.Literals([1, 2, 3]) }),
  Schema.TaggedStruct("Tick", {}),
  // Lets everything happen that can; without it, the next command interrupts the last.
  Schema.TaggedStruct("Settle", {})
])

type Command = typeof Command.Type

interface Asked {
  readonly method: "call" | "read"
  readonly fiber: Fiber.Fiber<Exit.Exit<unknown, McpClient.ClientError>>
}

const refused = new TransportError({ reason: "Open", message: "Nobody listens" })
const uri = "a:b"

/** The shared state behind all connections: a resource with a version, and a counter of each call's runs. */
class World {
  version = 0
  refusals = 0
  readonly runs = new Map<number, number>()
  answer = Deferred.makeUnsafe<void>()
  private readonly tellers = new Set<() => void>()
  private readonly enders = new Set<() => void>()

  script = (): Scripted.Script | TransportError => {
    if (this.refusals > 0) {
      this.refusals--
      return refused
    }
    const done = (result: object, parks: unknown) =>
      parks === true ? Effect.as(Deferred.await(this.answer), result) : Effect.succeed(result)
    return {
      answers: {
        "tools/call": ({ arguments: args }) => {
          const { n, parks } = args as { readonly n: number; readonly parks: boolean }
          this.runs.set(n, (this.runs.get(n) ?? 0) + 1)
          return done({ content: [], resultType: "complete" }, parks)
        },
        "resources/read": ({ uri }) =>
          done({ contents: [], resultType: "complete", ttlMs: 0, cacheScope: "private" }, uri === "parks:"),
        "resources/subscribe": (_, { peer }) => {
          this.tellers.add(() => peer.notify("notifications/resources/updated", { uri }))
          return {}
        },
        "resources/unsubscribe": () => ({}),
        "subscriptions/listen": ({ notifications }, { peer, request: { id } }) => {
          const _meta = { [Meta.subscriptionId]: id }
          const ended = Deferred.makeUnsafe<void>()
          const tell = () => peer.notify("notifications/resources/updated", { uri, _meta })
          this.tellers.add(tell)
          this.enders.add(() => (this.tellers.delete(tell), Deferred.doneUnsafe(ended, Effect.void)))
          peer.notify("notifications/subscriptions/acknowledged", { notifications, _meta })
          return Effect.as(Deferred.await(ended), Modern.complete({ _meta }))
        }
      }
    }
  }

  update(): void {
    this.version++
    for (const tell of this.tellers) tell()
  }

  unsubscribe(): void {
    for (const end of this.enders) end()
    this.enders.clear()
  }

  answerAll(): void {
    Deferred.doneUnsafe(this.answer, Effect.void)
    this.answer = Deferred.makeUnsafe()
  }
}

const live = Effect.fnUntraced(function* (script: ReadonlyArray<Command>, version: (typeof all)[number]) {
  const world = new World()
  const scope = yield* Scope.make()
  const { client, opened } = yield* recovering(
    { version, script: world.script },
    { reconnect: { attempts: 100, resends: 100, maxDelay: "1 second" } }
  ).pipe(Scope.provide(scope))
  const asked: Array<Asked> = []
  const ask = (method: Asked["method"], parks: boolean): Effect.Effect<unknown, McpClient.ClientError> => {
    const n = asked.length
    return method === "call" ? client.callToolByName("pay", { n, parks }) : client.readResource(parks ? "parks:" : uri)
  }
  let seen = -1
  const watch = yield* Effect.forkChild(
    Effect.exit(Stream.runForEach(client.watchResource(uri), () => Effect.sync(() => (seen = world.version)))),
    { startImmediately: true }
  )
  const run: { readonly [T in Command["_tag"]]: (command: Extract<Command, { _tag: T }>) => Effect.Effect<unknown> } = {
    Ask: ({ method, parks }) =>
      Effect.map(Effect.forkChild(Effect.exit(ask(method, parks)), { startImmediately: true }), (fiber) =>
        asked.push({ method, fiber })
      ),
    Answer: () => Effect.sync(() => world.answerAll()),
    Update: () => Effect.sync(() => world.update()),
    Cut: () => Effect.sync(() => opened.at(-1)?.cut()),
    End: () => Effect.sync(() => opened.at(-1)?.end()),
    Unsubscribe: () => Effect.sync(() => world.unsubscribe()),
    Refuse: ({ times }) => Effect.sync(() => (world.refusals = times)),
    Tick: () => TestClock.adjust("1 second"),
    Settle: () => quiesce
  }
  for (const command of script) yield* run[command._tag](command as never)
  // From now on no connection is lost, so everything that can end ends.
  for (let turn = 0; turn < 30; turn++) {
    yield* quiesce
    world.answerAll()
    yield* TestClock.adjust("1 second")
  }
  for (const [n, { fiber, method }] of asked.entries()) {
    const exit = fiber.pollUnsafe()
    assert.isDefined(exit, `${method} ${n} hangs`)
    const outcome = yield* Fiber.join(fiber)
    const runs = world.runs.get(n) ?? 0
    if (method === "read") assert.isTrue(Exit.isSuccess(outcome), `Read ${n} failed`)
    else if (Exit.isSuccess(outcome)) assert.strictEqual(runs, 1)
    else {
      // A request that may have run is not sent again.
      assert.isAtMost(runs, 1)
      assert.strictEqual((yield* Effect.flip(outcome))._tag, "Closed")
    }
  }
  assert.isUndefined(watch.pollUnsafe())
  assert.strictEqual(seen, world.version)
  yield* Scope.close(scope, Exit.void)
  yield* quiesce
  assert.isTrue(Exit.isFailure(yield* Fiber.join(watch)))
  assert.isTrue(opened.every(({ released }) => released()))
  return opened.length
})

describe("Random loss of the server", () => {
  it.effect.prop(
    "A client survives random connection losses: reads complete, no call is repeated, watches reopen",
    { script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 25 }), version: Schema.Literals(all) },
    ({ script, version }) => live(script, version),
    { arbitrary: { runs: 150, size: 30 } }
  )
})
