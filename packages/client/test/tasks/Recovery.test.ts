/** Tasks whose connection is lost meanwhile. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Closed } from "@effect-mcp/client/ClientError"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { quiesce } from "../support/connected.ts"
import { fork, recovering } from "../support/recovering.ts"
import * as Modern from "../support/modern.ts"
import { ended, generations, type Script, scriptOf, sum } from "../support/tasks.ts"

describe.each(generations)("Task recovery in %s", (version) => {
  const hanging = () => Effect.never
  const lost = (first: Script["answers"], next: Partial<Script> = {}) =>
    recovering({
      version,
      script: (n) => scriptOf({ version, ...(n === 0 ? { answers: first } : next) })
    })

  it.effect("A task is read on the next connection if the first is lost", () =>
    Effect.gen(function* () {
      const { client, server } = yield* lost({ "tasks/get": hanging })
      const call = yield* fork(client.callToolByName("add"))
      yield* quiesce
      yield* TestClock.adjust(500)
      yield* quiesce
      assert.lengthOf(server(0).requests("tasks/get"), 1)
      server(0).cut()
      assert.deepStrictEqual((yield* ended(call)).structuredContent, sum.structuredContent)
      assert.lengthOf(server(1).requests("tools/call"), 0)
    })
  )

  it.effect("A task receives its answer on the next connection", () =>
    Effect.gen(function* () {
      const form = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } }
      const asks = ["input_required", { inputRequests: { a: { method: "elicitation/create", params: form } } }] as const
      const { client, server } = yield* recovering({
        version,
        script: (n) =>
          scriptOf(
            n === 0
              ? { version, states: [asks], answers: { "tasks/update": hanging, "tasks/result": hanging } }
              : { version, states: [asks, ["completed", { result: sum }]] }
          )
      })
      const call = yield* fork(client.callToolByName("add"))
      yield* quiesce
      yield* TestClock.adjust(500)
      yield* quiesce
      server(0).cut()
      assert.deepStrictEqual((yield* ended(call)).structuredContent, sum.structuredContent)
      const method = version === Modern.version ? "tasks/update" : "tasks/result"
      assert.lengthOf(server(0).requests(method), 1)
      assert.lengthOf(server(1).requests(method), 1)
    }).pipe(Effect.provide(Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: {} }) })))
  )

  it.effect("A call whose answer is lost fails instead of creating a second task", () =>
    Effect.gen(function* () {
      const { client, server } = yield* lost({ "tools/call": hanging })
      const call = yield* fork(Effect.flip(client.callToolByName("add")))
      yield* quiesce
      server(0).cut()
      assert.instanceOf(yield* ended(call), Closed)
    })
  )
})
