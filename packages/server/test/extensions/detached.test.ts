/** Results of other types, and handlers that run after their request was answered: the building blocks of tasks. */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extensions from "@effect-mcp/core/Extensions"
import * as Progress from "@effect-mcp/core/Progress"
import * as Extension from "@effect-mcp/core/Extension"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Detached from "@effect-mcp/server/Detached"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Queue, Scope } from "effect"
import { declaring, id } from "../support/notes.ts"
import { everyVersion, quiesce, serve, connect } from "../support/raw.ts"
import { open } from "../support/modern.ts"

describe("Tools answered before they run", () => {
  const Slow = Tool.make("slow", { description: "Is slow" })
  const Later = Extension.make(id)

  for (const version of everyVersion()) {
    it.effect(
      `A tool that runs after its answer keeps its request's data (${version})`,
      () =>
        Effect.gen(function* () {
          const release = yield* Deferred.make<void>()
          const events = yield* Queue.unbounded<unknown>()
          const note = (event: unknown) => Queue.offer(events, event)
          const slow = Tools.layer(Slow, () =>
            Effect.gen(function* () {
              yield* Effect.addFinalizer(() => note("closed"))
              yield* Deferred.await(release)
              yield* Progress.report(1)
              yield* Progress.report(1)
              return "done"
            })
          )
          const around = Middleware.layer((request, next) =>
            request.method !== "tools/call"
              ? next
              : Effect.gen(function* () {
                  const facts = yield* Detached.facts
                  const run = Effect.tap(next, (result) => note("content" in result && result.content))
                  yield* Effect.forkDetach(Detached.provide(run, facts, { progress: (n) => note(n) }))
                  return EncodedResult.of(Later, "task", { taskId: "1" })
                })
          )
          const features = Layer.mergeAll(slow, around, Extensions.layer(Later, {}))
          const server = yield* serve({ features })
          const client = yield* connect(server, { version, capabilities: declaring(version) })
          assert.deepStrictEqual(yield* client.call("slow", {}, { progressToken: 1 }), { taskId: "1" })
          yield* quiesce
          assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
          yield* Deferred.succeed(release, undefined)
          yield* quiesce
          assert.deepStrictEqual(yield* Queue.takeAll(events), [1, [{ type: "text", text: "done" }], "closed"])
          assert.deepStrictEqual(client.notes("notifications/progress"), [])
          const stranger = yield* connect(server, { version })
          assert.strictEqual((yield* stranger.refused("tools/call", { name: "slow" })).code, McpError.InternalError)
        }),
      verifies("json-rpc.result.type-set")
    )
  }

  it.effect("An encoded result includes its type in 2026-07-28", () =>
    Effect.gen(function* () {
      const tagged = Middleware.layer((request, next) =>
        request.method === "tools/call" ? Effect.succeed(EncodedResult.of(Later, "task", { taskId: "1" })) : next
      )
      const slow = Tools.layer(Slow, () => Effect.succeed("done"))
      const client = yield* open(Layer.merge(slow, tagged), { capabilities: declaring("2026-07-28") })
      const { resultType, taskId } = yield* client.call("slow")
      assert.deepStrictEqual([resultType, taskId], ["task", "1"])
    })
  )

  it("An encoded result cannot use a type defined by MCP", () => {
    assert.throws(() => EncodedResult.of(Later, "complete", {}), /MCP already defines it/)
  })
})

describe("A scope for work outside requests", () => {
  it.effect("Detached work ends before the feature layers close, even if one failed to build", () =>
    Effect.gen(function* () {
      const ends: Array<string> = []
      const ending = (name: string) => Effect.addFinalizer(() => Effect.sync(() => void ends.push(name)))
      const work = Layer.effectDiscard(
        Effect.andThen(
          ending("layer"),
          Effect.flatMap(Detached.scope, (scope) => Scope.provide(ending("work"), scope))
        )
      )
      const feature = Layer.effectDiscard(ending("feature"))
      const last = Layer.provideMerge(feature, work)
      yield* Effect.scoped(serve({ features: last }))
      assert.deepStrictEqual(ends.splice(0), ["work", "feature", "layer"])
      yield* Effect.exit(
        Effect.scoped(serve({ features: Layer.provideMerge(Layer.effectDiscard(Effect.die("no")), last) }))
      )
      assert.sameMembers(ends.splice(0), ["work", "feature", "layer"])
      yield* Effect.scoped(Layer.build(work))
      assert.deepStrictEqual(ends, ["work", "layer"])
    })
  )
})
