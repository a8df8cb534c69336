/** Which handlers start at once, and in what context. */
import { HandlerContext } from "@effect-mcp/core/internal/HandlerContext"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import type { Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit } from "effect"
import { ServerRequest } from "../../src/request/ServerRequest.ts"

class Service extends Context.Service<Service, { readonly name: string }>()("test/Service") {}
class Ambient extends Context.Service<Ambient, true>()("test/Ambient") {}
const captured = Context.make(Service, { name: "captured" })
const sink: Sink = { send: () => {}, ready: Effect.void, writable: () => true, noAnswer: () => {} }

const requestOf = (base: Context.Context<never> | undefined) => {
  const begun: Array<string> = []
  const exchange = {
    request: JsonRpc.request(1, "tools/call"),
    envelope: {},
    sink,
    onFork: () => void begun.push("begun")
  }
  const unused = () => assert.fail("the handler needs nothing of its era")
  return { begun, request: new ServerRequest(exchange, anonymous, undefined, unused, base) }
}
const name = Effect.map(Service, ({ name }) => name)

describe("A request", () => {
  it("A request starts a handler at once, in the context of its layer, and calls onFork before the first step", () => {
    const { begun, request } = requestOf(Context.make(Ambient, true) as Context.Context<never>)
    const context = new HandlerContext<Service>(captured)
    assert.deepStrictEqual(request.run(name, context), Exit.succeed("captured"))
    assert.deepStrictEqual(begun, ["begun"])
    const ambient = Effect.serviceOption(Ambient)
    assert.deepStrictEqual(
      request.run(
        Effect.map(ambient, ({ _tag }): string => _tag),
        context
      ),
      Exit.succeed("None")
    )
    assert.deepStrictEqual(
      request.run(
        Effect.map(Principal, ({ subject }) => subject),
        new HandlerContext<Principal>(Context.empty())
      ),
      Exit.succeed(undefined)
    )
  })

  it("A request starts no fiber for a handler that is an exit", () => {
    const { begun, request } = requestOf(Context.empty())
    const exit = Exit.succeed(1)
    assert.strictEqual(request.run(exit, new HandlerContext<Service>(captured)), exit)
    assert.deepStrictEqual(begun, [])
  })

  it("A request that is not eager starts no handler before its effect runs", () => {
    for (const base of [undefined, Context.empty()]) {
      const { begun, request } = requestOf(base)
      request.eager = false
      let ran = false
      const handler = Effect.sync(() => (ran = true))
      assert.isFalse(Exit.isExit(request.run(handler, new HandlerContext<RequestContext>(Context.empty()))))
      assert.isFalse(ran)
      assert.deepStrictEqual(begun, [])
    }
    assert.isFalse(requestOf(undefined).request.eager)
  })

  it.effect("A request that is not eager takes the caller of the context, else that of the transport", () =>
    Effect.gen(function* () {
      const { request } = requestOf(Context.empty())
      const other = { subject: "other", scopes: [], claims: {} }
      const subject = () => Effect.provideService(request.withCaller(Effect.succeed), Principal, other)
      assert.strictEqual(yield* subject(), anonymous)
      request.eager = false
      assert.strictEqual(yield* subject(), other)
    })
  )

  it("A request starts none of the next fifteen handlers of a layer at once after a handler that waited", () => {
    const { begun, request } = requestOf(Context.empty())
    const context = new HandlerContext<Service>(captured)
    const isDone = (handler: Effect.Effect<unknown>) => Exit.isExit(request.run(handler, context))
    for (let i = 0; i < 3; i++) assert.isTrue(isDone(Effect.suspend(() => Effect.succeed(i))))
    assert.strictEqual(begun.length, 3)
    for (let i = 0; i < 17; i++) assert.isFalse(isDone(Effect.never))
    assert.strictEqual(begun.length, 5)
    for (let i = 0; i < 15; i++) assert.isFalse(isDone(Effect.suspend(() => Effect.succeed(i))))
    for (let i = 0; i < 3; i++) assert.isTrue(isDone(Effect.suspend(() => Effect.succeed(i))))
    // Another layer has a count of its own.
    assert.isTrue(Exit.isExit(request.run(name, new HandlerContext<Service>(captured))))
  })
})
