/** The context in which handlers run, and handlers that are stopped. */
import { HandlerContext } from "@effect-mcp/core/internal/handlers"
import { anonymous, Principal } from "@effect-mcp/core/Principal"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import type { Sink } from "@effect-mcp/core/Transport"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Latch } from "effect"
import { ServerRequest } from "../../src/request/ServerRequest.ts"

class Service extends Context.Service<Service, { readonly name: string }>()("test/Service") {}
class Ambient extends Context.Service<Ambient, true>()("test/Ambient") {}
const captured = Context.make(Service, { name: "captured" })
const sink: Sink = { send: () => {}, ready: Effect.void, writable: () => true, noAnswer: () => {} }

const name = Effect.map(Service, ({ name }) => name)

const requestOf = (eager = true) => {
  const exchange = { request: JsonRpc.request(1, "tools/call"), envelope: {}, sink }
  const unused = () => assert.fail("the handler needs nothing of its era")
  return new ServerRequest(exchange, anonymous, undefined, unused, eager)
}
const result = (text: string): CallToolResult => ({ content: [{ type: "text", text }] })
const ambient = Context.make(Ambient, true) as Context.Context<never>
/** Runs a request as a peer does. */
const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.runForkWith(ambient)(effect, { uninterruptible: true })

describe("Server requests", () => {
  it("The handler runs in its layer's context, with the request's services", () => {
    const request = requestOf()
    const handler = Effect.gen(function* () {
      const { name } = yield* Service
      const { subject = "anonymous" } = yield* Principal
      const { _tag: outside } = yield* Effect.serviceOption(Ambient)
      return result(`${name} ${subject} ${outside}`)
    })
    const provided = request.provide(request.run(handler, new HandlerContext<Service | Principal>(captured)))
    assert.deepStrictEqual(fork(provided).pollUnsafe(), Exit.succeed(result("captured anonymous None")))
  })

  it("A second handler runs in its own layer's context", () => {
    const request = requestOf()
    const first = request.run(name, new HandlerContext<Service>(captured))
    const second = request.run(name, new HandlerContext<Service>(Context.make(Service, { name: "second" })))
    const both = Effect.map(Effect.all([first, second]), (names) => result(names.join(" ")))
    assert.deepStrictEqual(fork(request.provide(both)).pollUnsafe(), Exit.succeed(result("captured second")))
  })

  it("A handler that is already an exit needs no fiber", () => {
    const request = requestOf()
    const exit = Exit.succeed(result("done"))
    assert.strictEqual(request.provide(request.run(exit, new HandlerContext<Service>(captured))), exit)
  })

  it("The handler starts only when the effect runs", () => {
    for (const eager of [true, false]) {
      const request = requestOf(eager)
      let ran = false
      const handler = Effect.sync(() => (ran = true))
      assert.isFalse(Exit.isExit(request.run(handler, new HandlerContext<RequestContext>(Context.empty()))))
      assert.isFalse(ran)
    }
  })

  it.effect("A non-eager request prefers the caller in the context to the transport's caller", () =>
    Effect.gen(function* () {
      const request = requestOf()
      const other = { subject: "other", scopes: [], claims: {} }
      const subject = () => Effect.provideService(request.withCaller(Effect.succeed), Principal, other)
      assert.strictEqual(yield* subject(), anonymous)
      request.eager = false
      assert.strictEqual(yield* subject(), other)
    })
  )

  for (const eager of [true, false]) {
    const stopped = (handler: Effect.Effect<CallToolResult>) => {
      const request = requestOf(eager)
      let stop = (): void => assert.fail("The handler does not run")
      let released = 0
      const effect = request.stoppable(
        handler,
        () => result("instead"),
        (given) => {
          stop = given
          return () => released++
        }
      )
      const fiber = fork(request.provide(effect))
      return { fiber, stop: () => stop(), released: () => released }
    }

    it(`A stopped request is answered after its handler's finalizers (eager: ${eager})`, () => {
      const finalized = Latch.makeUnsafe(false)
      const { fiber, released, stop } = stopped(Effect.ensuring(Effect.never, finalized.await))
      stop()
      assert.isUndefined(fiber.pollUnsafe())
      finalized.openUnsafe()
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(result("instead")))
      assert.strictEqual(released(), 1)
    })

    it(`A stopped request waits for an uninterruptible handler (eager: ${eager})`, () => {
      const latch = Latch.makeUnsafe(false)
      const { fiber, stop } = stopped(Effect.uninterruptible(Effect.as(latch.await, result("done"))))
      stop()
      assert.isUndefined(fiber.pollUnsafe())
      latch.openUnsafe()
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(result("instead")))
    })

    it(`A request can still be interrupted by its caller (eager: ${eager})`, () => {
      const { fiber, released } = stopped(Effect.never)
      fiber.interruptUnsafe()
      const exit = fiber.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.strictEqual(released(), 1)
    })
  }
})
