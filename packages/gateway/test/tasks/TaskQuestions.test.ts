/** Questions of tasks that arrive before the answer that turns their call into a task. */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { relatedTask } from "@effect-mcp/tasks/internal/TaskMaker"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { TaskQuestions } from "../../src/tasks/TaskQuestions.ts"
import { CurrentCall, UpstreamCall } from "../../src/call/UpstreamCall.ts"

const revision = Revision.all.find(({ version }) => version === "2025-11-25") ?? assert.fail("no revision")
const ofTask = (taskId: string) => ({
  method: "elicitation/create",
  params: { _meta: { [relatedTask]: { taskId } } },
  revision,
  server: { name: "upstream", version: "1.0.0" },
  relatedTo: undefined
})

describe("Questions from unknown tasks", () => {
  it.effect("An unknown task's question waits ten seconds for its call", () =>
    Effect.gen(function* () {
      const calls = new Set<UpstreamCall<unknown>>()
      const questions = new TaskQuestions(calls)
      const call = yield* UpstreamCall.make<unknown>("call")
      const answer = Effect.map(CurrentCall, (call) => call?.id)
      const ask = Effect.forkChild(
        questions.question(ofTask("t1"), answer, () => answer),
        { startImmediately: true }
      )
      const early = yield* ask
      yield* TestClock.adjust("6 seconds")
      const late = yield* ask
      yield* TestClock.adjust("4 seconds")
      yield* quiesce
      assert.deepInclude(yield* Effect.flip(Fiber.join(early)), { code: McpError.InvalidRequest })
      yield* TestClock.adjust("2 seconds")
      call.taskId = "t1"
      calls.add(call)
      questions.begun(call)
      assert.strictEqual(yield* Fiber.join(late), "call")
    })
  )
})
