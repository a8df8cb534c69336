/** Messages of one gateway client reach no other client, and whatever ends leaves nothing behind. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Elicitation, Memory, Peer } from "@effect-mcp/core"
import type { Principal } from "@effect-mcp/core"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, PubSub, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Gateway from "../src/Gateway.ts"
import { Behind, join, layer } from "./support/gateway.ts"
import { everything, play, post } from "./support/post.ts"

const [stateful, stateless] = [Revision.get("2025-11-25")!, Revision.get("2026-07-28")!]
const both = [stateful, stateless]
const text = ({ content }: { readonly content: ReadonlyArray<any> }): string => content[0].text

const user = (name: string) =>
  Elicitation.layer({
    form: ({ message }) => Effect.as(Effect.yieldNow, { action: "accept", content: { name: `${name} to ${message}` } })
  })
const counts = Effect.map(Gateway.Gateway, (gateway) => [gateway.upstreams(), gateway.calls()])

const test = <A, E>(
  title: string,
  upstream: Revision.Revision,
  body: Effect.Effect<A, E, Layer.Success<ReturnType<typeof layer>>>,
  options?: Parameters<typeof layer>[1]
) => it.effect(title, () => Effect.provide(body, Layer.fresh(layer(upstream, options))))

describe.each(both.flatMap((downstream) => both.map((upstream) => ({ downstream, upstream }))))(
  "$downstream.version sessions in front of $upstream.version",
  ({ downstream, upstream }) => {
    test(
      "Concurrent sessions receive their own questions",
      upstream,
      Effect.scoped(
        Effect.gen(function* () {
          const names = Array.from({ length: 8 }, (_, n) => `user ${n}`)
          const answers = yield* Effect.forEach(
            names,
            (name) =>
              Effect.flatMap(Effect.provide(join(downstream), user(name)), (client) =>
                client.callToolByName("greet", { first: name })
              ),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            answers.map(text),
            names.map((name) => `${name} to ${name}? and ${name} to And after ${name} to ${name}??`)
          )
        })
      )
    )

    test(
      "Sessions receive their own logs",
      upstream,
      Effect.scoped(
        Effect.gen(function* () {
          const [talking, silent] = yield* Effect.all([join(downstream), join(downstream)])
          const heard = (client: typeof talking) =>
            Effect.gen(function* () {
              const logs = yield* Queue.unbounded<unknown>()
              yield* Effect.forkScoped(
                Stream.runForEach(client.logs, (message) => Queue.offer(logs, message)),
                { startImmediately: true }
              )
              yield* client.setLogLevel("debug")
              return logs
            })
          const [own, other] = yield* Effect.all([heard(talking), heard(silent)])
          const waiting = yield* Effect.forkChild(silent.callToolByName("hang"))
          yield* Effect.flatMap(Behind, ({ started }) => Deferred.await(started))
          yield* talking.callToolByName("talk")
          yield* Queue.take(own)
          yield* quiesce
          assert.strictEqual(yield* Queue.size(other), 0)
          yield* Fiber.interrupt(waiting)
        })
      )
    )

    test(
      "Ended sessions leave no upstream connection, call or subscription behind",
      upstream,
      Effect.gen(function* () {
        yield* Effect.scoped(
          Effect.gen(function* () {
            const client = yield* Effect.provide(join(downstream), user("Ada"))
            yield* Effect.forkScoped(Stream.runDrain(client.watchResource("test://news")))
            yield* Effect.forkScoped(Stream.runDrain(client.toolChanges))
            yield* client.callToolByName("greet", { first: "x" })
            yield* Effect.forkScoped(client.callToolByName("hang"))
            yield* Effect.flatMap(Behind, ({ started }) => Deferred.await(started))
            assert.deepStrictEqual(yield* counts, [1, 1])
          })
        )
        yield* Effect.flatMap(Behind, ({ interrupted }) => Deferred.await(interrupted))
        yield* quiesce
        assert.deepStrictEqual(yield* counts, [0, 0])
        const { updates, wires } = yield* Behind
        assert.deepStrictEqual([wires, PubSub.sizeUnsafe(updates)], [0, 0])
      })
    )
  }
)

describe.each(both)("Sessionless requests in front of $version", (upstream) => {
  test(
    "Sessionless requests each receive their own questions, even from the same caller",
    upstream,
    Effect.gen(function* () {
      const names = Array.from({ length: 8 }, (_, n) => `call ${n}`)
      const replies = yield* Effect.forEach(
        names,
        (name) => play("greet", { first: name }, (message) => `${name} to ${message}`),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        replies.map(({ result }) => text(result)),
        names.map((name) => `${name} to ${name}? and ${name} to And after ${name} to ${name}??`)
      )
      const { calls } = yield* Behind
      assert.strictEqual(calls.length, names.length)
    })
  )

  test(
    "Sessionless requests receive their own logs on request",
    upstream,
    Effect.gen(function* () {
      const wanting = post("tools/call", { name: "talk" }, { meta: { [Meta.logLevel]: "info" } })
      const [one, none, two] = yield* Effect.all([wanting, post("tools/call", { name: "talk" }), wanting], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        [one, none, two].map(({ before }) => before.map(({ method }) => method)),
        [["notifications/message"], [], ["notifications/message"]]
      )
    })
  )

  test(
    "Sessionless requests share an upstream connection, which is reused and later closed",
    upstream,
    Effect.gen(function* () {
      const plain = { capabilities: {} }
      yield* Effect.all([post("tools/list", {}, plain), post("tools/call", { name: "count" }, plain)], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(yield* counts, [1, 0])
      yield* TestClock.adjust("59 seconds")
      yield* post("prompts/list", {}, plain)
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(yield* counts, [1, 0])
      yield* TestClock.adjust("1 second")
      yield* quiesce
      assert.deepStrictEqual(yield* counts, [0, 0])
      assert.strictEqual((yield* Behind).wires, 0)
    })
  )

  test(
    "Sessionless requests with different principals or declarations do not share an upstream connection",
    upstream,
    Effect.gen(function* () {
      const of = (subject: string): Principal.Principal["Service"] => ({ subject, scopes: [], claims: {} })
      yield* post("tools/list", {}, { envelope: { principal: of("a") } })
      yield* post("tools/list", {}, { envelope: { principal: of("b") } })
      yield* post("tools/list", {}, { envelope: { principal: of("b") }, capabilities: {} })
      yield* post("tools/list", {}, { envelope: { principal: of("b") } })
      assert.deepStrictEqual(yield* counts, [3, 0])
    })
  )

  test(
    "Interrupting a sessionless request ends it at the upstream server",
    upstream,
    Effect.gen(function* () {
      const { interrupted, started } = yield* Behind
      const fiber = yield* Effect.forkChild(post("tools/call", { name: "hang" }))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(interrupted)
      yield* quiesce
      assert.strictEqual((yield* counts)[1], 0)
    })
  )

  test(
    "A sessionless request must have matching headers and arguments",
    upstream,
    Effect.gen(function* () {
      const call = (headers: { readonly [name: string]: string }) =>
        post(
          "tools/call",
          { name: "odd", arguments: { region: "north" } },
          {
            envelope: {
              headers: {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "odd",
                ...headers
              }
            }
          }
        )
      assert.strictEqual((yield* call({ "mcp-param-region": "south" })).error.code, -32020)
      assert.strictEqual((yield* call({})).error.code, -32020)
      assert.strictEqual(text((yield* call({ "mcp-param-region": "north" })).result), "odd")
    })
  )
})

describe("Calls that ask a client in rounds", () => {
  const first = post("tools/call", { name: "greet", arguments: { first: "Ada" } })
  const answer = ({ result }: Effect.Success<typeof first>) =>
    post("tools/call", {
      name: "greet",
      arguments: { first: "Ada" },
      requestState: result.requestState,
      inputResponses: Object.fromEntries(
        Object.keys(result.inputRequests).map((key) => [key, { action: "accept", content: { name: "x" } }])
      )
    })

  test(
    "A waiting call is cancelled upstream if its client takes too long to answer",
    stateful,
    Effect.gen(function* () {
      const { calls } = yield* Behind
      const asked = yield* first
      yield* TestClock.adjust("4 minutes")
      const again = yield* answer(asked)
      assert.strictEqual(again.result.resultType, "input_required")
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual([calls.length, (yield* counts)[1]], [0, 1])
      yield* TestClock.adjust("1 minute")
      yield* quiesce
      assert.deepStrictEqual([...calls], ["gave up on Ada"])
      assert.strictEqual((yield* counts)[1], 0)
      const late = yield* answer(again)
      assert.strictEqual(late.error.code, -32602)
      assert.match(late.error.message, /call that asked has ended/)
    }),
    { roundTimeout: "5 minutes" }
  )

  test(
    "The longest-waiting call is abandoned if too many calls wait",
    stateful,
    Effect.gen(function* () {
      const { calls } = yield* Behind
      const one = yield* first
      const two = yield* first
      yield* quiesce
      assert.deepStrictEqual([...calls], ["gave up on Ada"])
      assert.strictEqual((yield* answer(one)).error.code, -32602)
      assert.strictEqual((yield* answer(two)).result.resultType, "input_required")
    }),
    { maxWaiting: 1 }
  )

  test(
    "A call is answered once, and its state cannot be used again",
    stateful,
    Effect.gen(function* () {
      const second = yield* Effect.flatMap(first, answer)
      assert.strictEqual(text((yield* answer(second)).result), "x and x")
      assert.strictEqual((yield* answer(second)).error.code, -32602)
      assert.deepStrictEqual((yield* Behind).calls, ["greeted x and x"])
    })
  )

  test(
    "A call that asks closes idle connections to make room, or else is rejected",
    stateful,
    Effect.gen(function* () {
      yield* post("tools/list", {}, { capabilities: {} })
      const one = yield* first
      const refused = yield* first
      assert.strictEqual(refused.error.code, -31429)
      assert.strictEqual((yield* answer(one)).result.resultType, "input_required")
    }),
    { capacity: 1 }
  )
})

it.effect("A session is rejected while there is no room, and can open later", () =>
  Effect.gen(function* () {
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* join(stateful)
        const refused = yield* Effect.flip(join(stateful))
        assert.deepInclude(refused, { _tag: "McpError", code: -31429 })
      })
    )
    yield* quiesce
    yield* Effect.scoped(join(stateful))
  }).pipe(Effect.provide(Layer.fresh(layer(stateful, { capacity: 1 }))))
)

describe("Answers from clients that answer in rounds", () => {
  test(
    "An answer in a round can be as large as an image",
    stateful,
    Effect.gen(function* () {
      const picture = "x".repeat(500_000)
      const { result } = yield* play("greet", { first: "Ada" }, (message) => (message === "Ada?" ? picture : "small"))
      assert.strictEqual(text(result), `${picture} and small`)
    })
  )
})

describe("Upstream servers that go away", () => {
  test(
    "A lost server fails its running calls and is reopened for the next request",
    stateful,
    Effect.scoped(
      Effect.gen(function* () {
        const client = yield* join(stateful)
        const { cut, started } = yield* Behind
        const running = yield* Effect.forkChild(Effect.exit(client.callToolByName("hang")))
        yield* Deferred.await(started)
        for (const end of cut.splice(0)) yield* end
        const exit = yield* Fiber.join(running)
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(text(yield* client.callToolByName("add", { a: 1, b: 2 })), `{"sum":3}`)
      })
    ),
    { client: { revisions: ["2025-11-25"], reconnect: false } }
  )

  it.effect("An unreachable server is reported in each request's error", () =>
    Effect.gen(function* () {
      const reply = yield* post("tools/list", {})
      assert.deepInclude(reply.error, { code: -32603 })
      assert.match(reply.error.message, /^The upstream server cannot be reached: /)
    }).pipe(
      Effect.provide(
        Gateway.layer({ connector: Effect.fail({ message: "no such program" }), client: { reconnect: false } })
      )
    )
  )
})

it.effect("A question that belongs to no request fails if no session can be asked", () =>
  Effect.gen(function* () {
    const refused = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
    /** Asks for the roots as early as possible, as some servers do. */
    const connector = Effect.gen(function* () {
      const [client, server] = yield* Memory.pair()
      yield* Peer.make(server, {
        request: ({ request: { method } }) =>
          Effect.succeed(
            method === "initialize"
              ? { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "x", version: "0" } }
              : { tools: [] }
          ),
        notification: ({ method }, _envelope, peer) => {
          if (method !== "notifications/initialized") return
          Effect.runFork(Deferred.into(Effect.exit(peer.request("roots/list")), refused))
        }
      })
      return client
    })
    const listed = post("tools/list", {}, { capabilities: everything })
    const reply = yield* Effect.provide(
      Effect.tap(listed, () => Deferred.await(refused)),
      Gateway.layer({ connector, client: { revisions: ["2025-11-25"] } })
    )
    assert.deepStrictEqual(reply.result.tools, [])
    const error = yield* Effect.flip(yield* Deferred.await(refused))
    assert.deepInclude(error, { _tag: "McpError", code: -32600 })
  })
)
