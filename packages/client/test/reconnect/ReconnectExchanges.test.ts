/** If every request has a separate exchange, one can fail while the conversation continues. */
import { TransportError } from "@effect-mcp/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { all, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { contents, fork, type Opened, recovering, tool, until } from "../support/recovering.ts"
import type * as Scripted from "../support/scripted.ts"

const status = (status: number) => new TransportError({ reason: "Status", message: `HTTP ${status}`, status })
const cut = new TransportError({ reason: "Read", message: "The answer was cut off" })
const gone = new TransportError({ reason: "SessionLost", message: "No such session", status: 404 })
const forgotten = new TransportError({ reason: "SessionLost", message: "No valid session", status: 400 })

/** Fails the newest request of a method that has not failed yet. */
const fail = (server: Opened, method: string, error: TransportError, unsent: boolean) => {
  const request = server.requests(method).at(-1)
  if (request !== undefined) server.inject({ _tag: "RequestAborted", id: request.id, error, unsent })
}

/** Leaves the first `silent` requests without an answer, and answers the others. */
const after = (silent: number, answer: object): Scripted.Answer => {
  let asked = 0
  return () => (asked++ < silent ? Effect.never : answer)
}

describe.each(all)("Failed %s exchanges", (version) => {
  it.effect("An exchange that the server has not seen is soon retried", () =>
    Effect.gen(function* () {
      const { client, server, tries } = yield* recovering({
        version,
        script: () => ({ answers: { "tools/call": after(2, tool) } })
      })
      const call = yield* fork(client.callToolByName("pay"))
      yield* quiesce
      fail(server(0), "tools/call", cut, true)
      yield* Effect.repeat(quiesce, { times: 5 })
      assert.strictEqual(server(0).requests("tools/call").length, 1)
      yield* TestClock.adjust("200 millis")
      yield* quiesce
      fail(server(0), "tools/call", cut, true)
      yield* TestClock.adjust("400 millis")
      yield* Fiber.join(call)
      const ids = server(0)
        .requests("tools/call")
        .map(({ id }) => id)
      assert.strictEqual(new Set(ids).size, 3)
      assert.strictEqual(tries(), 1)
    })
  )

  it.effect("A read-only exchange is retried even if the server has seen it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "resources/read": after(1, contents), "tools/call": after(1, tool) } })
      })
      const read = yield* fork(client.readResource("a:b"))
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* quiesce
      fail(server(0), "resources/read", status(503), false)
      fail(server(0), "tools/call", status(503), false)
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: status(503) })
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(read)
      assert.strictEqual(server(0).requests("resources/read").length, 2)
      assert.strictEqual(server(0).requests("tools/call").length, 1)
    })
  )

  it.effect.each([400, 401, 404])("An exchange that fails with status %d is final", (code) =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "resources/read": () => Effect.never } })
      })
      const read = yield* fork(Effect.flip(client.readResource("a:b")))
      yield* quiesce
      fail(server(0), "resources/read", status(code), true)
      assert.deepInclude(yield* Fiber.join(read), { _tag: "Closed", cause: status(code) })
      assert.strictEqual(server(0).requests("resources/read").length, 1)
    })
  )

  it.effect.each([408, 425, 429])("An exchange is retried if the server was too busy (%d)", (code) =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "tools/call": after(1, tool) } })
      })
      const call = yield* fork(client.callToolByName("pay"))
      yield* quiesce
      fail(server(0), "tools/call", status(code), true)
      yield* quiesce
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(call)
    })
  )

  it.effect("An exchange fails at its deadline even if progress kept it alive", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ answers: { "tools/call": () => Effect.never } })
      })
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* quiesce
      const [request] = server(0).requests("tools/call")
      const progressToken = Modern.declared(request, "progressToken")
      yield* TestClock.adjust("40 seconds")
      server(0).peer.notify("notifications/progress", { progressToken, progress: 1 })
      yield* quiesce
      yield* TestClock.adjust("40 seconds")
      fail(server(0), "tools/call", cut, false)
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: cut })
    })
  )

  it.effect("An exchange is abandoned after the configured number of attempts", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering(
        { version, script: () => ({ answers: { "tools/call": () => Effect.never } }) },
        { reconnect: { attempts: 3 } }
      )
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      for (let n = 1; n <= 3; n++) {
        yield* until(() => server(0).requests("tools/call").length === n)
        fail(server(0), "tools/call", cut, true)
        yield* quiesce
        yield* TestClock.adjust("1 second")
      }
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: cut, unsent: true })
      assert.strictEqual(server(0).requests("tools/call").length, 3)
    })
  )

  it.effect("Exchanges that lost their session open one new session and are resent", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* recovering({
        version,
        script: (n) => ({ answers: { "tools/call": () => (n === 0 ? Effect.never : tool) } })
      })
      const calls = yield* Effect.forEach(Array.from({ length: 100 }), () => fork(client.callToolByName("pay")))
      yield* quiesce
      for (const { id } of server(0).requests("tools/call")) {
        server(0).inject({ _tag: "RequestAborted", id, error: gone, unsent: true })
        yield* quiesce
      }
      yield* Fiber.joinAll(calls)
      assert.strictEqual(opened.length, 2)
      assert.strictEqual(server(1).requests("tools/call").length, 100)
    })
  )

  it.effect("An exchange without a session leaves other requests time to be answered", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* recovering({
        version,
        script: (n) => ({ answers: { "tools/call": () => (n === 0 ? Effect.never : tool) } })
      })
      const [lost, answered, silent] = [
        yield* fork(client.callToolByName("a")),
        yield* fork(client.callToolByName("b")),
        yield* fork(Effect.exit(client.callToolByName("c")))
      ]
      yield* quiesce
      const [a = 0, b = 0] = server(0)
        .requests("tools/call")
        .map(({ id }) => id)
      server(0).inject({ _tag: "RequestAborted", id: a, error: gone, unsent: true })
      yield* Fiber.join(lost)
      server(0).peer.sink.send({ jsonrpc: "2.0", id: b, result: tool }, "control")
      yield* Fiber.join(answered)
      yield* quiesce
      assert.isFalse(server(0).released())
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Exit.isFailure(yield* Fiber.join(silent)))
      yield* quiesce
      assert.isTrue(server(0).released())
      // The end of the old session does not end the new one.
      yield* client.callToolByName("d")
      assert.strictEqual(opened.length, 2)
    })
  )

  it.effect("An exchange whose session seems lost is repeated once, and that answer is final", () =>
    Effect.gen(function* () {
      const { client, opened, server } = yield* recovering({
        version,
        script: (n) => ({ answers: { "tools/call": () => (n === 2 ? tool : Effect.never) } })
      })
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      for (const n of [0, 1]) {
        yield* until(() => opened[n]?.requests("tools/call").length === 1)
        fail(server(n), "tools/call", forgotten, true)
      }
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: forgotten, unsent: true })
      assert.strictEqual(opened.length, 2)
      // The next request may succeed.
      const next = yield* fork(client.callToolByName("pay"))
      yield* until(() => opened[1]?.requests("tools/call").length === 2)
      fail(server(1), "tools/call", forgotten, true)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(next)
    })
  )

  it.effect("An exchange fails immediately if reconnection is off", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering(
        { version, script: () => ({ answers: { "resources/read": () => Effect.never } }) },
        { reconnect: false }
      )
      const read = yield* fork(Effect.flip(client.readResource("a:b")))
      yield* quiesce
      fail(server(0), "resources/read", cut, true)
      assert.deepInclude(yield* Fiber.join(read), { _tag: "Closed", cause: cut })
    })
  )
})

describe("Call rounds with answered questions", () => {
  /** A call that asks once, and whose next `silent` rounds get no answer. */
  const asking = (silent: number, reconnect?: false) => {
    let begun = 0
    const last = after(silent, tool)
    const script = (): Scripted.Script => ({
      answers: {
        "tools/call": (params, exchange) => {
          if (params.requestState !== undefined) return last(params, exchange)
          begun++
          return { resultType: "input_required", requestState: "one" }
        }
      }
    })
    return Effect.map(recovering({ version: Modern.version, script }, { reconnect }), (recovered) => ({
      ...recovered,
      begun: () => begun
    }))
  }

  it.effect("A round that does not reach the server is resent unchanged", () =>
    Effect.gen(function* () {
      const { begun, client, server } = yield* asking(1)
      const call = yield* fork(client.callToolByName("pay"))
      yield* until(() => server(0).requests("tools/call").length === 2)
      fail(server(0), "tools/call", cut, true)
      yield* quiesce
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(call)
      const [, first, second] = server(0).requests("tools/call")
      assert.deepStrictEqual(second?.params?.requestState, first?.params?.requestState)
      assert.strictEqual(begun(), 1)
    })
  )

  it.effect.each([
    ["the server may have seen the round", cut, false],
    ["the round is rejected", status(403), true]
  ] as const)("A round is not resent and its call does not restart if %s", ([, error, unsent]) =>
    Effect.gen(function* () {
      const { begun, client, server } = yield* asking(1)
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* until(() => server(0).requests("tools/call").length === 2)
      fail(server(0), "tools/call", error, unsent)
      const closed = yield* Fiber.join(call)
      assert.deepInclude(closed, { _tag: "Closed", cause: error })
      assert.isTrue(closed._tag === "Closed" && closed.unsent !== true)
      assert.strictEqual(begun(), 1)
    })
  )

  it.effect("A round fails immediately if its connection is lost", () =>
    Effect.gen(function* () {
      const { begun, client, server, tries } = yield* asking(1)
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* until(() => server(0).requests("tools/call").length === 2)
      fail(server(0), "tools/call", cut, true)
      yield* quiesce
      server(0).end()
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: cut })
      assert.strictEqual(begun(), 1)
      assert.strictEqual(tries(), 1)
    })
  )

  it.effect("A round is not resent if reconnection is off", () =>
    Effect.gen(function* () {
      const { client, server } = yield* asking(1, false)
      const call = yield* fork(Effect.flip(client.callToolByName("pay")))
      yield* until(() => server(0).requests("tools/call").length === 2)
      fail(server(0), "tools/call", cut, true)
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Closed", cause: cut })
    })
  )
})
