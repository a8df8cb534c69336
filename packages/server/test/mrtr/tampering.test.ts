/** A state is accepted unchanged, for its own request, from its caller and in time. Every other state is rejected. */
import { Elicitation, Principal, Prompt, Prompts, Resources, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import { Middleware } from "@effect-mcp/server"
import * as ReplayGuard from "@effect-mcp/server/ReplayGuard"
import * as StateSeal from "@effect-mcp/server/StateSeal"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Deferred, Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { serve, quiesce } from "../support/raw.ts"
import { accept, join, type Modern, open } from "../support/modern.ts"

/** Handlers that ask, and count their runs. */
const counted = () => {
  let runs = 0
  const asks = Effect.suspend(() => {
    runs++
    return Effect.as(Elicitation.confirm("Really?"), "done")
  })
  const tool = (name: string) =>
    Tools.layer(Tool.make(name, { description: "", input: { n: Schema.optionalKey(Schema.Unknown) } }), () => asks)
  const features = Layer.mergeAll(
    tool("one"),
    tool("two"),
    Prompts.layer(Prompt.make("one", { arguments: { n: Schema.optionalKey(Schema.String) } }), () => asks),
    Resources.layerTemplate({ uriTemplate: "ask://{n}", name: "ask" }, () => asks)
  )
  return { features, runs: () => runs }
}

type Request = readonly [method: string, params: object]
const call = (name = "one", args: object = {}): Request => ["tools/call", { name, arguments: args }]

/** Returns the first round of a request, and the params of its retry. */
const start = Effect.fnUntraced(function* (client: Modern, [method, params]: Request) {
  const { inputRequests, requestState } = yield* client.request(method, params)
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accept()]))
  return { requestState: requestState as string, inputResponses }
})
const retry = (client: Modern, [method, params]: Request, state: object) =>
  client.request(method, { ...params, ...state })
const invalid = { code: McpError.InvalidParams, message: "Invalid or expired requestState" }
const refused = Effect.fnUntraced(function* (client: Modern, [method, params]: Request, state: object) {
  const { code, data, message } = yield* client.refused(method, { ...params, ...state })
  assert.deepStrictEqual({ code, message, data }, { ...invalid, data: undefined })
})

describe("Tampered states", () => {
  it.effect(
    "A state is rejected before the handler runs if one character is changed, added or removed (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features, runs } = counted()
        const client = yield* open(features)
        const state = yield* start(client, call())
        const { requestState } = state
        const before = runs()
        const alphabet = "ABCabc019-_.= %\u0000é"
        for (let i = 0; i <= requestState.length; i++) {
          const put = alphabet[i % alphabet.length]!
          const other = put === requestState[i] ? "x" : put
          const changed = [
            requestState.slice(0, i) + other + requestState.slice(i + 1),
            requestState.slice(0, i) + other + requestState.slice(i)
          ]
          if (i < requestState.length) changed.push(requestState.slice(0, i) + requestState.slice(i + 1))
          for (const text of changed) yield* refused(client, call(), { ...state, requestState: text })
        }
        assert.strictEqual(runs(), before)
        assert.strictEqual((yield* retry(client, call(), state)).content[0].text, "done")
      }),
    verifies("mrtr.state.untrusted", "mrtr.state.protected", "mrtr.state.refused")
  )

  const replacements = Arbitrary.all([Arbitrary.schema(Schema.Int), Arbitrary.schema(Schema.String)])
  it.effect("A state with a replaced part is rejected before the handler runs", () =>
    Effect.gen(function* () {
      const { features, runs } = counted()
      const client = yield* open(features)
      const state = yield* start(client, call())
      const { requestState } = state
      const before = runs()
      yield* Arbitrary.checkEffect(
        replacements,
        ([at, put]) => {
          const i = Math.abs(at) % requestState.length
          const text = requestState.slice(0, i) + put + requestState.slice(i + put.length)
          return text === requestState
            ? Effect.succeed(true)
            : Effect.as(refused(client, call(), { ...state, requestState: text }), true)
        },
        { runs: 100, seed: 7 }
      )
      assert.strictEqual(runs(), before)
    })
  )

  it.effect("A malformed state and a forged state get the same error", () =>
    Effect.gen(function* () {
      const { features, runs } = counted()
      const client = yield* open(features)
      const state = yield* start(client, call())
      const other = yield* start(client, call("two"))
      const [version, key, nonce, sealed] = state.requestState.split(".")
      const [, , otherNonce, otherSealed] = other.requestState.split(".")
      const before = runs()
      for (const requestState of [
        "",
        ".",
        "...",
        "1.process..",
        "{}",
        "x".repeat(100_000),
        [version, key, otherNonce, sealed].join("."),
        [version, key, nonce, otherSealed].join("."),
        [version, "other", nonce, sealed].join("."),
        ["2", key, nonce, sealed].join("."),
        [version, key, nonce, sealed, ""].join("."),
        [version, key, nonce, `${sealed}=`].join("."),
        Buffer.from(JSON.stringify({ answers: {}, steps: {}, open: {}, round: 1 })).toString("base64url")
      ]) {
        yield* refused(client, call(), { ...state, requestState })
      }
      assert.strictEqual(runs(), before)
    })
  )

  it.effect(
    "A state from another request, tool, prompt, resource or argument is rejected before the handler runs (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features, runs } = counted()
        const client = yield* open(features)
        const requests: ReadonlyArray<Request> = [
          call("one"),
          call("two"),
          call("one", { n: 1 }),
          call("one", { n: "1" }),
          call("one", { n: [1] }),
          call("one", { n: { a: 1, b: 2 } }),
          call("one", { n: { a: 2, b: 1 } }),
          call("one", { n: null }),
          ["prompts/get", { name: "one" }],
          ["prompts/get", { name: "one", arguments: { n: "1" } }],
          ["resources/read", { uri: "ask://1" }],
          ["resources/read", { uri: "ask://2" }]
        ]
        const states = yield* Effect.forEach(requests, (request) => start(client, request))
        const before = runs()
        for (const [i, request] of requests.entries()) {
          for (const [j, state] of states.entries()) if (i !== j) yield* refused(client, request, state)
        }
        assert.strictEqual(runs(), before)
        for (const [i, request] of requests.entries()) {
          assert.strictEqual((yield* retry(client, request, states[i]!)).resultType, "complete")
        }
      }),
    verifies("mrtr.state.same-request")
  )

  it.effect("A state does not depend on argument order or other _meta keys", () =>
    Effect.gen(function* () {
      const { features } = counted()
      const client = yield* open(features)
      const state = yield* start(client, call("one", { n: { a: 1, b: 2 } }))
      const [method, params] = call("one", { n: { b: 2, a: 1 } })
      const result = yield* client.request(method, { ...params, ...state, _meta: { progressToken: "x" } })
      assert.strictEqual(result.resultType, "complete")
    })
  )

  const principal = (subject: string | undefined, issuer?: string): Principal.Principal["Service"] => ({
    ...Principal.anonymous,
    subject,
    claims: issuer === undefined ? {} : { iss: issuer }
  })
  it.effect(
    "Another principal's state is rejected before the handler runs (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features, runs } = counted()
        const server = yield* serve({ features })
        const clients = yield* Effect.forEach(
          [
            principal("ada", "a.example"),
            principal("ada", "b.example"),
            principal("bob", "a.example"),
            principal("ada"),
            principal(undefined)
          ],
          (who) => join(server, { principal: who })
        )
        const states = yield* Effect.forEach(clients, (client) => start(client, call()))
        const before = runs()
        for (const [i, client] of clients.entries()) {
          for (const [j, state] of states.entries()) if (i !== j) yield* refused(client, call(), state)
        }
        assert.strictEqual(runs(), before)
        for (const [i, client] of clients.entries()) yield* retry(client, call(), states[i]!)
      }),
    verifies("mrtr.state.principal", "elicitation.request.bound")
  )

  it.effect("A state belongs to the caller provided by middleware", () =>
    Effect.gen(function* () {
      const { features, runs } = counted()
      let who: string | undefined = "ada"
      const login = Middleware.layer((_request, next) =>
        Effect.suspend(() =>
          who === undefined ? next : Effect.provideService(next, Principal.Principal, principal(who))
        )
      )
      const client = yield* open(Layer.merge(features, login))
      const state = yield* start(client, call())
      const before = runs()
      for (const other of ["bob", undefined]) {
        who = other
        yield* refused(client, call(), state)
      }
      assert.strictEqual(runs(), before)
      who = "ada"
      assert.strictEqual((yield* retry(client, call(), state)).content[0].text, "done")
    })
  )

  it.effect(
    "An expired state is rejected (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const { features, runs } = counted()
        const client = yield* open(features)
        const state = yield* start(client, call())
        yield* TestClock.adjust("59 minutes")
        yield* retry(client, call(), state)
        const before = runs()
        yield* TestClock.adjust("1 minute")
        yield* refused(client, call(), state)
        assert.strictEqual(runs(), before)
      }),
    verifies("mrtr.state.expires")
  )

  it.effect("Without a guard, a state can be reused until it expires", () =>
    Effect.gen(function* () {
      const { features, runs } = counted()
      const client = yield* open(features)
      const state = yield* start(client, call())
      const before = runs()
      yield* retry(client, call(), state)
      yield* retry(client, call(), state)
      assert.strictEqual(runs(), before + 2)
    })
  )
})

describe("Multiple nodes", () => {
  const key = (id: string, byte: number) => ({ id, key: Redacted.make(new Uint8Array(32).fill(byte)) })
  const node = (keys: Parameters<typeof StateSeal.layer>[0], name = "test") =>
    Effect.gen(function* () {
      const { features } = counted()
      return yield* join(yield* serve({ features, name }))
    }).pipe(Effect.provide(StateSeal.layer(keys)))

  it.effect("Nodes that share a key accept each other's states, also after rotation", () =>
    Effect.gen(function* () {
      const one = yield* node([key("a", 1)])
      const two = yield* node([key("b", 2), key("a", 1)])
      const three = yield* node([key("b", 2)])
      const old = yield* start(one, call())
      yield* retry(two, call(), old)
      yield* refused(three, call(), old)
      const fresh = yield* start(two, call())
      yield* retry(three, call(), fresh)
      yield* refused(one, call(), fresh)
    })
  )

  it.effect("Another server's nodes reject a state even with the same key", () =>
    Effect.gen(function* () {
      const one = yield* node([key("a", 1)], "one")
      const two = yield* node([key("a", 1)], "two")
      yield* refused(two, call(), yield* start(one, call()))
    })
  )

  it.effect("Key ids that do not fit into a state are rejected", () =>
    Effect.gen(function* () {
      for (const id of ["", "a.b", "a b"]) {
        assert.strictEqual((yield* Effect.exit(node([key(id, 1)])))._tag, "Failure", id)
      }
    })
  )
})

describe("Guarded states", () => {
  const guarded = (capacity?: number) =>
    Layer.fresh(ReplayGuard.layerMemory(capacity === undefined ? {} : { capacity, perCaller: capacity }))

  it.effect("A principal that often declines does not block other principals (2026-07-28)", () =>
    Effect.gen(function* () {
      const { features } = counted()
      const server = yield* serve({ features })
      const of = (subject: string) => join(server, { principal: { subject, scopes: [], claims: { iss: "i" } } })
      const eager = yield* of("eager")
      const other = yield* of("other")
      yield* retry(eager, call(), yield* start(eager, call()))
      const [method, params] = call()
      const error = yield* eager.refused(method, { ...params, ...(yield* start(eager, call())) })
      assert.strictEqual(error.code, McpError.LimitExceeded)
      yield* retry(other, call(), yield* start(other, call()))
    }).pipe(Effect.provide(Layer.fresh(ReplayGuard.layerMemory({ capacity: 10 }))))
  )

  it.effect(
    "A guarded state runs once, and every retry gets the same reply (2026-07-28)",
    () =>
      Effect.gen(function* () {
        let paid = 0
        const pay = Tools.layer(Tool.make("one", { description: "" }), () =>
          Effect.andThen(
            Elicitation.confirm("Pay?"),
            Effect.sync(() => `paid ${++paid}`)
          )
        )
        const client = yield* open(pay)
        const state = yield* start(client, call())
        const replies = yield* Effect.all([retry(client, call(), state), retry(client, call(), state)], {
          concurrency: "unbounded"
        })
        const declined = Object.fromEntries(
          Object.keys(state.inputResponses).map((key) => [key, { action: "decline" }])
        )
        replies.push(yield* retry(client, call(), { ...state, inputResponses: declined }))
        assert.deepStrictEqual(
          replies.map(({ content }) => content[0].text),
          ["paid 1", "paid 1", "paid 1"]
        )
      }).pipe(Effect.provide(guarded())),
    verifies("mrtr.state.single-use")
  )

  it.effect("A guarded state can be used again if its first use was interrupted", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let runs = 0
      const slow = Tools.layer(Tool.make("one", { description: "" }), () =>
        Effect.andThen(
          Elicitation.confirm("Pay?"),
          Effect.suspend(() =>
            ++runs === 1 ? Effect.andThen(Deferred.succeed(started, undefined), Effect.never) : Effect.succeed("done")
          )
        )
      )
      const client = yield* open(slow)
      const state = yield* start(client, call())
      const first = yield* Effect.forkChild(retry(client, call(), state))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(first)
      yield* quiesce
      assert.strictEqual((yield* retry(client, call(), state)).content[0].text, "done")
    }).pipe(Effect.provide(guarded()))
  )

  it.effect("A request waiting for the first use of its state can be cancelled", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const slow = Tools.layer(Tool.make("one", { description: "" }), () =>
        Effect.andThen(Elicitation.confirm("Pay?"), Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      )
      const server = yield* serve({ features: slow })
      const client = yield* join(server)
      const state = yield* start(client, call())
      yield* Effect.forkChild(retry(client, call(), state))
      yield* Deferred.await(started)
      const second = yield* Effect.forkChild(retry(client, call(), state))
      yield* quiesce
      assert.lengthOf(yield* server.requests.list, 2)
      yield* Fiber.interrupt(second)
      yield* quiesce
      assert.lengthOf(yield* server.requests.list, 1)
    }).pipe(Effect.provide(guarded()))
  )

  it.effect("A request whose state is slow to open can be cancelled", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: counted().features })
      const client = yield* join(server)
      const opening = yield* Effect.forkChild(retry(client, call(), { requestState: "sealed", inputResponses: {} }))
      yield* quiesce
      assert.lengthOf(yield* server.requests.list, 1)
      yield* Fiber.interrupt(opening)
      yield* quiesce
      assert.deepStrictEqual(yield* server.requests.list, [])
    }).pipe(
      Effect.provideService(StateSeal.StateSeal, { seal: () => Effect.succeed("sealed"), open: () => Effect.never })
    )
  )

  it.effect("New guarded states are rejected when too many are kept, until some expire", () =>
    Effect.gen(function* () {
      const { features } = counted()
      const client = yield* open(features)
      const states = [yield* start(client, call()), yield* start(client, call()), yield* start(client, call())]
      yield* retry(client, call(), states[0]!)
      yield* retry(client, call(), states[1]!)
      const [method, params] = call()
      const error = yield* client.refused(method, { ...params, ...states[2] })
      assert.strictEqual(error.code, McpError.LimitExceeded)
      yield* TestClock.adjust("1 hour")
      yield* retry(client, call(), yield* start(client, call()))
    }).pipe(Effect.provide(guarded(2)))
  )
})
