/** The questions of a round, and how long it waits for more of them. */
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import * as Journal from "../../src/mrtr/Journal.ts"
import { Questions } from "../../src/mrtr/Questions.ts"
import { quiesce } from "../support/raw.ts"

const settledBeside = (tasks: { readonly ready: number; readonly scheduled: number }) =>
  new Questions({
    journal: Journal.empty,
    client: { revision: Revision.get("2026-07-28")!, capabilities: {} },
    stepTimeout: 1000,
    prematureResponses: {},
    onAsked: () => {},
    tasks
  }).settled

describe("Rounds with questions", () => {
  it.effect("A round waits up to 50 ms for a stalled ready task", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(settledBeside({ ready: 1, scheduled: 1 }))
      yield* quiesce
      yield* TestClock.adjust("49 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.void)
    })
  )
})
