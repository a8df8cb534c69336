/**
 * The end of a server with running tasks. Its tools may be created next to the layer of tasks, before it or after it.
 */
import * as Middleware from "@effect-mcp/server/Middleware"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import { tool } from "../support/tools.ts"

const around = Middleware.layer((_, next) => next, { tasks: "execution" })
const orders = {
  "beside the layer of tasks": (features: Parameters<typeof Client.serve>[0]) => Layer.merge(features, Tasks.layer()),
  "built before the task layer": (features: Parameters<typeof Client.serve>[0]) =>
    Layer.provideMerge(Tasks.layer(), features),
  "built after the task layer": (features: Parameters<typeof Client.serve>[0]) =>
    Layer.provideMerge(features, Tasks.layer())
}

describe.each(Object.entries(orders))("Shutdown of servers with tools %s", (_, order) => {
  it.effect("A server shuts down while tasks run, and interrupts them", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const wait = tool("wait", "optional", () => Effect.ensuring(Effect.never, Deferred.succeed(ended, undefined)))
      const scope = yield* Scope.make()
      const server = yield* Scope.provide(Client.serve(order(Layer.merge(wait, around))), scope)
      const client = yield* Client.connect(server)
      yield* client.call("wait")
      yield* quiesce
      const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* quiesce
      yield* TestClock.adjust("1 minute")
      yield* quiesce
      assert.isDefined(closing.pollUnsafe())
      yield* Deferred.await(ended)
    })
  )
})
