import { type ClientInput, Tool } from "@effect-mcp/core"
import { McpError, Revision } from "@effect-mcp/protocol"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Option, Schema } from "effect"
import type { Answer } from "../../src/model/Task.ts"
import * as TaskInput from "../../src/run/TaskInput.ts"
import { Journal } from "../../src/store/Journal.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"
import { colliding } from "../../../server/test/support/colliding.ts"

const input = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const revisions = Revision.all.filter(({ version }) => version >= "2025-11-25")
const result = (result: { readonly [key: string]: unknown }): Answer => ({ _tag: "Result", result })
const yes = result({ action: "accept", content: { ok: true } })

const capabilities = { elicitation: { form: {} }, roots: {} }

/** The input of a run of a new task, and the client's view of it. */
const run = Effect.fnUntraced(function* (revision: Revision.Revision) {
  const store = yield* TaskStore
  const journal = yield* Journal
  const { lease, task } = yield* store.create(input, "a")
  let held = lease
  const open = Effect.map(store.get(task.id, "ada"), (found) => [...Option.getOrThrow(found).questions.keys()])
  return {
    client: TaskInput.make({ journal, lease, entries: [], client: { revision, capabilities } }),
    open,
    answer: (key: string, answer: Answer) => store.answer(task.id, "ada", { [key]: answer }),
    /** The input of a later run, on another node. */
    again: Effect.gen(function* () {
      yield* journal.park(held)
      const [claimed] = yield* journal.claim("b", ["tool"], 1)
      if (claimed === undefined) return assert.fail("the task is due")
      held = claimed.lease
      return TaskInput.make({
        journal,
        lease: claimed.lease,
        entries: claimed.entries,
        client: { revision, capabilities }
      })
    })
  }
})

const form = { message: "Sure?", requestedSchema: { type: "object" as const, properties: {} } }

for (const revision of revisions) {
  describe(`Task input in ${revision.version}`, () => {
    it.effect("A task's question stays open until it is answered, and its answer is decoded", () =>
      Effect.gen(function* () {
        const { answer, client, open } = yield* run(revision)
        const asked = yield* Effect.forkChild(client.ask("elicitation/create", form, { key: "sure" }), {
          startImmediately: true
        })
        assert.deepStrictEqual(yield* open, ["sure"])
        yield* answer("sure", yes)
        assert.deepStrictEqual(yield* open, [])
        assert.deepStrictEqual(yield* Fiber.join(asked), { action: "accept", content: { ok: true } })
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("Questions with the same name get separate keys", () =>
      Effect.gen(function* () {
        const { answer, client, open } = yield* run(revision)
        const ask = client.ask("elicitation/create", form, { key: "sure" })
        const both = yield* Effect.forkChild(Effect.all([ask, ask], { concurrency: 2 }), { startImmediately: true })
        assert.deepStrictEqual(yield* open, ["sure", "sure#2"])
        yield* answer("sure", result({ action: "maybe" }))
        yield* quiesce
        assert.deepStrictEqual(yield* open, ["sure#2", "sure#3"])
        yield* answer("sure#2", yes)
        yield* answer("sure#3", yes)
        assert.strictEqual((yield* Fiber.join(both)).length, 2)
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("An answer that never decodes fails the question after three attempts", () =>
      Effect.gen(function* () {
        const { answer, client } = yield* run(revision)
        const asked = yield* Effect.forkChild(Effect.flip(client.ask("elicitation/create", form, { key: "sure" })), {
          startImmediately: true
        })
        for (const key of ["sure", "sure#2", "sure#3"]) {
          yield* answer(key, result({}))
          yield* quiesce
        }
        assert.include((yield* Fiber.join(asked)).message, "Invalid response from the client")
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("A declined question fails with Declined, and a client error fails it", () =>
      Effect.gen(function* () {
        const { answer, client } = yield* run(revision)
        const ask = (key: string) =>
          Effect.forkChild(Effect.flip(client.ask("elicitation/create", form, { key })), { startImmediately: true })
        const [first, second] = [yield* ask("a"), yield* ask("b")]
        yield* answer("a", { _tag: "Error", code: -1, message: "no" })
        yield* answer("b", { _tag: "Error", code: -32603, message: "broken" })
        assert.strictEqual((yield* Fiber.join(first))._tag, "Declined")
        assert.instanceOf(yield* Fiber.join(second), McpError.McpError)
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("A question for an undeclared capability is not recorded", () =>
      Effect.gen(function* () {
        const { client, open } = yield* run(revision)
        const failed = client.ask("sampling/createMessage", { messages: [], maxTokens: 1 })
        assert.strictEqual((yield* Effect.flip(failed))._tag, "CapabilityMissing")
        assert.deepStrictEqual(yield* open, [])
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("An extension question waits like any other and is repeated after an invalid answer", () =>
      Effect.gen(function* () {
        const { answer, client, open } = yield* run(revision)
        const question: ClientInput.ExtensionQuestion<number> = {
          method: "com.example/pick",
          params: { from: 3 },
          decode: (answer) => {
            const picked = isJsonObject(answer) ? answer["picked"] : undefined
            return typeof picked === "number"
              ? Effect.succeed(picked)
              : Effect.fail(new Tool.InvalidValue({ message: "no number" }))
          }
        }
        const ask = (key: string) =>
          Effect.forkChild(client.askExtension(question, { key }), { startImmediately: true })
        const [first, second] = [yield* ask("pick"), yield* ask("other")]
        assert.deepStrictEqual(yield* open, ["pick", "other"])
        yield* answer("pick", result({ picked: "two" }))
        yield* quiesce
        assert.deepStrictEqual(yield* open, ["other", "pick#2"])
        yield* answer("pick#2", result({ picked: 2 }))
        yield* answer("other", { _tag: "Error", code: -32001, message: "busy" })
        assert.strictEqual(yield* Fiber.join(first), 2)
        assert.include(yield* Effect.flip(Fiber.join(second)), { code: -32001, message: "busy" })
        const inStep = client.once("pick", Schema.Int, client.askExtension(question))
        assert.include((yield* Effect.flip(inStep)).message, "inside a step")
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("A later run on another node receives the recorded steps and answers", () =>
      Effect.gen(function* () {
        const { again, answer, client, open } = yield* run(revision)
        let steps = 0
        const handler = (client: Effect.Success<typeof again>) =>
          Effect.gen(function* () {
            const n = yield* client.once(
              "count",
              Schema.Int,
              Effect.sync(() => ++steps)
            )
            const { action } = yield* client.ask("elicitation/create", form, { key: "sure" })
            const last = yield* client.ask("elicitation/create", form, { key: "last" })
            return [n, action, last.action]
          })
        const first = yield* Effect.forkChild(handler(client), { startImmediately: true })
        yield* answer("sure", yes)
        yield* quiesce
        yield* Fiber.interrupt(first)
        const second = yield* Effect.forkChild(handler(yield* again), { startImmediately: true })
        assert.deepStrictEqual(yield* open, ["last"])
        yield* answer("last", yes)
        assert.deepStrictEqual(yield* Fiber.join(second), [1, "accept", "accept"])
        assert.strictEqual(steps, 1)
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("A changed question is asked again, whatever its key", () =>
      Effect.gen(function* () {
        for (const key of [undefined, "sure"]) {
          for (const [shown, done] of colliding) {
            const { again, answer, client, open } = yield* run(revision)
            const ask = (client: Effect.Success<typeof again>, message: string) =>
              Effect.forkChild(client.ask("elicitation/create", { ...form, message }, { key }), {
                startImmediately: true
              })
            const first = yield* ask(client, shown)
            const [name = ""] = yield* open
            yield* answer(name, yes)
            yield* Fiber.join(first)
            const second = yield* ask(yield* again, done)
            const [changed = ""] = yield* open
            assert.notStrictEqual(changed, name)
            assert.notStrictEqual(changed, "")
            yield* answer(changed, result({ action: "decline" }))
            assert.strictEqual((yield* Fiber.join(second)).action, "decline")
            const third = yield* ask(yield* again, done)
            assert.strictEqual((yield* Fiber.join(third)).action, "decline")
          }
        }
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("A step that asks and a duplicate step name are defects", () =>
      Effect.gen(function* () {
        const { client } = yield* run(revision)
        const asking = client.once("ask", Schema.Unknown, client.ask("roots/list", undefined))
        assert.include((yield* Effect.flip(asking)).message, "inside a step")
        yield* client.once("twice", Schema.Int, Effect.succeed(1))
        const twice = yield* Effect.exit(client.once("twice", Schema.Int, Effect.succeed(1)))
        assert.strictEqual(twice._tag, "Failure")
      }).pipe(Effect.provide(Memory.layer()))
    )

    it.effect("Roots are requested once for all fibers that need them", () =>
      Effect.gen(function* () {
        const { answer, client, open } = yield* run(revision)
        const roots = client.ask("roots/list", undefined)
        const both = yield* Effect.forkChild(Effect.all([roots, roots], { concurrency: 2 }), { startImmediately: true })
        const [key = ""] = yield* open
        assert.deepStrictEqual(yield* open, [key])
        yield* answer(key, result({ roots: [] }))
        assert.deepStrictEqual(yield* Fiber.join(both), [{ roots: [] }, { roots: [] }])
      }).pipe(Effect.provide(Memory.layer()))
    )
  })
}
