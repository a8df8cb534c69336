import * as AppHost from "@effect-mcp/apps/AppHost"
import { Tool, Tools } from "@effect-mcp/core"
import { quiesce } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Queue, Stream } from "effect"
import { hostOf } from "../support/wire.ts"

const Dice = Tool.make("dice", { description: "Rolls a die" })
const features = Tools.layer(Dice, () => Effect.succeed("4"))

it.effect("Tools that change while they are listed are listed again", () =>
  Effect.gen(function* () {
    const { client } = yield* hostOf(features)
    const changes = yield* Queue.unbounded<void>()
    const answered = yield* Latch.make()
    let lists = 0
    const slow: typeof client = {
      ...client,
      toolChanges: Stream.fromQueue(changes),
      listTools: Stream.unwrap(
        Effect.suspend(() => {
          lists++
          return Effect.as(answered.await, client.listTools)
        })
      )
    }
    const { modelTools } = yield* AppHost.make(slow)
    const first = yield* Effect.forkChild(modelTools)
    yield* quiesce
    yield* Queue.offer(changes, undefined)
    yield* quiesce
    yield* answered.open
    yield* Fiber.join(first)
    yield* modelTools
    yield* modelTools
    assert.strictEqual(lists, 2)
  }).pipe(Effect.scoped)
)
