/**
 * An upstream server that dies during many calls: each call ends with a typed error, whether or not the server returns.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Memory } from "@effect-mcp/core"
import * as McpServer from "@effect-mcp/server/McpServer"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Gateway from "../src/Gateway.ts"
import { Behind, behind, join } from "./support/gateway.ts"

const versions = ["2025-11-25", "2026-07-28"] as const
const pairs = versions.flatMap((downstream) => versions.map((upstream) => ({ downstream, upstream })))

/** A gateway whose upstream server can die, and returns when the latch opens. */
const mortal = (upstream: Revision.Version) =>
  Effect.gen(function* () {
    const server = Context.get(yield* Layer.build(behind), McpServer.McpServer)
    const alive = yield* Latch.make(true)
    const wires: Array<Scope.Closeable> = []
    const gateway = Gateway.layer({
      connector: Effect.gen(function* () {
        yield* alive.await
        const scope = yield* Scope.fork(yield* Effect.scope)
        wires.push(scope)
        const [client, end] = yield* Scope.provide(Memory.pair(), scope)
        yield* server.connect(end)
        return client
      }),
      client: { revisions: [upstream] }
    })
    const die = Effect.andThen(
      alive.close,
      Effect.suspend(() => Effect.forEach(wires.splice(0), (scope) => Scope.close(scope, Exit.void), { discard: true }))
    )
    return { alive, die, gateway: yield* Layer.build(gateway) }
  })

/** Lets a minute pass, second by second, in which the effect must end. */
const passing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(
    effect,
    Effect.andThen(
      Effect.repeat(Effect.andThen(TestClock.adjust("1 second"), quiesce), { times: 60 }),
      Effect.die(new Error("It has not ended within a minute"))
    )
  )

describe.each(pairs)(
  "A gateway ($downstream in front of $upstream) whose upstream server crashes",
  ({ downstream, upstream }) => {
    it.effect("All 50 calls fail with a protocol error", () =>
      Effect.gen(function* () {
        const { die, gateway } = yield* mortal(upstream)
        const client = yield* Effect.provide(join(Revision.get(downstream)!), gateway)
        const calls = yield* Effect.forEach(Array.from({ length: 50 }), () =>
          Effect.forkChild(Effect.exit(client.callToolByName("hang")), { startImmediately: true })
        )
        yield* quiesce
        assert.strictEqual(Context.get(gateway, Gateway.Gateway).calls(), 50)
        yield* die
        const exits = yield* passing(Effect.forEach(calls, Fiber.join))
        for (const exit of exits)
          assert.deepInclude(yield* Effect.flip(exit), { _tag: "McpError", code: McpError.InternalError })
      }).pipe(Effect.provide(Behind.layer))
    )

    it.effect("A call to a lost server fails after a second, and calls work again once it returns", () =>
      Effect.gen(function* () {
        const { alive, die, gateway } = yield* mortal(upstream)
        const client = yield* Effect.provide(join(Revision.get(downstream)!), gateway)
        yield* client.callToolByName("add", { a: 1, b: 2 })
        yield* die
        const call = client.callToolByName("add", { a: 1, b: 2 })
        const ref = { type: "ref/prompt", name: "review" } as const
        const query = client.complete({ ref, argument: { name: "file", value: "" } })
        const requests: ReadonlyArray<Effect.Effect<unknown, ClientError>> = [call, query]
        for (const request of requests) {
          const error = yield* passing(Effect.flip(request))
          assert.deepInclude(error, { _tag: "McpError", code: McpError.InternalError })
          assert.include(error.message, "has not been reopened yet")
        }
        yield* alive.open
        assert.deepInclude(yield* client.callToolByName("add", { a: 1, b: 2 }), { structuredContent: { sum: 3 } })
      }).pipe(Effect.provide(Behind.layer))
    )
  }
)
