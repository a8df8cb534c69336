/** Tools that run as tasks, in the Promise API. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Tasks } from "@effect-mcp/tasks"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue } from "effect"
import { TestClock } from "effect/testing"
import { z } from "zod"
import { toolLayer } from "../src/server/tool.ts"
import { all, clientOf, gate, rejection, serverOf, textOf } from "./support/revisions.ts"

const Handle = z.object({ taskId: z.string(), status: z.string() })
const described = { description: "Writes a report" }
/** Completes after promises that are already resolved have run their reactions. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe.each(["2025-11-25", "2026-07-28"] as const)("Tasks in %s", (revision) => {
  it("A client without tasks follows a call with handles", async () => {
    const server = serverOf()
    const { promise, resolve } = gate<string>()
    server.tool("report", { ...described, task: "required" }, () => promise)
    server.add(Tasks.layer({ handles: { answerWithin: 0 } }))
    const client = await clientOf(server, revision, { tasks: false })
    const names = (await all(client.listTools())).map(({ name }) => name)
    assert.includeMembers([...names], ["report", "tasks_status", "tasks_result", "tasks_cancel"])
    const { taskId } = await client.callTyped("report", {}, Handle)
    assert.deepInclude(await client.callTyped("tasks_status", { taskId }, Handle), { taskId, status: "working" })
    resolve("Done")
    await turn()
    assert.strictEqual(textOf(await client.callTool("tasks_result", { taskId })), "Done")
  })

  it("A handle's large result becomes a link that only its caller can read", async () => {
    const server = serverOf({ limits: { bytes: 100, spill: true } })
    server.tool("report", { ...described, task: "optional" }, async () => "0123456789".repeat(20))
    server.add(Tasks.layer({ handles: { answerWithin: 0 } }))
    const as = (subject: string) => clientOf(server, revision, { tasks: false, principal: { subject } })
    const ada = await as("ada")
    const { taskId } = await ada.callTyped("report", {}, Handle)
    await turn()
    const { content } = await ada.callTool("tasks_result", { taskId })
    const link = content.find((block) => block.type === "resource_link")
    const uri = link?.type === "resource_link" ? link.uri : ""
    assert.strictEqual((await ada.readText(uri)).length, 200)
    const eve = await as("eve")
    assert.include(String(await rejection(eve.readText(uri))), "not found")
    for (const tool of ["tasks_status", "tasks_result", "tasks_cancel"]) {
      const guess = await eve.callTool(tool, { taskId })
      assert.isTrue(guess.isError)
      assert.deepStrictEqual(guess.content, (await eve.callTool(tool, { taskId: "guessed" })).content)
    }
  })

  it("Cancelling a task aborts the handler's signal", async () => {
    const server = serverOf()
    const { promise, resolve } = gate<unknown>()
    server.tool(
      "report",
      { ...described, task: "optional" },
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(resolve(signal.reason))))
    )
    server.add(Tasks.layer({ handles: { answerWithin: 0 } }))
    const client = await clientOf(server, revision, { tasks: false })
    const { taskId } = await client.callTyped("report", {}, Handle)
    assert.include(textOf(await client.callTool("tasks_cancel", { taskId })), "was cancelled")
    assert.include(String(await promise), "AbortError")
  })

  it("A client with tasks waits for the result", async () => {
    const server = serverOf()
    server.tool("report", { ...described, task: "required" }, async () => "Done")
    server.add(Tasks.layer())
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("report")), "Done")
  })

  it.effect("A question of a parked task never rejects, and the next run receives its answer", () =>
    Effect.gen(function* () {
      let runs = 0
      const seen: Array<string> = []
      const rules = { cancelGrace: 2000, onError: undefined }
      const ask = toolLayer(
        "ask",
        { ...described, task: "required" },
        async (_, { ask }) => {
          runs++
          try {
            return (await ask("Which?", z.object({ name: z.string() }))).name
          } catch (error) {
            seen.push(String(error))
            throw error
          }
        },
        rules
      )
      const asked = yield* Queue.unbounded<string>()
      const answers = yield* Queue.unbounded<string>()
      const user = Elicitation.layer({
        form: ({ message }) =>
          Effect.gen(function* () {
            yield* Queue.offer(asked, message)
            return { action: "accept" as const, content: { name: yield* Queue.take(answers) } }
          })
      })
      const call = Effect.gen(function* () {
        const client = yield* McpTest.connect(Layer.merge(ask, Tasks.layer()), revision)
        return yield* client.callToolByName("ask", {}, { timeout: "1 hour", maxTotal: "1 hour" })
      })
      const calling = yield* Effect.forkChild(Effect.scoped(Effect.provide(call, user)), { startImmediately: true })
      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* Queue.take(asked), "Which?")
      for (let seconds = 0; seconds < 60; seconds += 5) yield* Effect.andThen(TestClock.adjust("5 seconds"), quiesce)
      assert.deepStrictEqual(seen, [])
      yield* Queue.offer(answers, "Ada")
      for (let seconds = 0; seconds < 5; seconds++) yield* Effect.andThen(TestClock.adjust("1 second"), quiesce)
      const { content } = yield* Fiber.join(calling)
      assert.deepStrictEqual(content, [{ type: "text", text: "Ada" }])
      assert.strictEqual(runs, 2)
      assert.deepStrictEqual(seen, [])
    })
  )
})

describe("The options of tasks", () => {
  it("Rejects another value of task", () => {
    assert.throws(
      () => serverOf().tool("t", { ...described, task: JSON.parse('"always"') }, () => ""),
      'The tool "t": the option "task" must be one of optional, required, but is "always"'
    )
  })

  it("Rejects taskAfter without an optional task", () => {
    assert.throws(() => serverOf().tool("t", { ...described, taskAfter: 5 }, () => ""), 'requires task: "optional"')
  })

  it("Returns the result of a call that ends within taskAfter", async () => {
    const server = serverOf()
    server.tool("report", { ...described, task: "optional", taskAfter: 60_000 }, async () => "Done")
    server.add(Tasks.layer())
    const client = await clientOf(server, "2026-07-28")
    assert.strictEqual(textOf(await client.callTool("report")), "Done")
  })
})
