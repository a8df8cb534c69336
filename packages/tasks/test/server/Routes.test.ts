/** Where the questions and notifications of a task are sent in a session. */
import { Elicitation, Extension, Extensions, Progress, Roots } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Schemas from "effect/Schema"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import { serve } from "../support/client.ts"
import { able, connect, inMemory, overHttp, transports } from "../support/session.ts"
import { tool } from "../support/tools.ts"

const relatedKey = "io.modelcontextprotocol/related-task"
const withTasks = (features: Parameters<typeof serve>[0], options?: Parameters<typeof Tasks.layer>[0]) =>
  Layer.merge(features, Tasks.layer(options))
const Name = Schemas.Struct({ name: Schemas.String })
const ask = Effect.map(Elicitation.form("Your name?", Name), ({ name }) => name)
const asking = tool("asking", "optional", () => Effect.map(ask, (name) => `Hello ${name}`))
const notes = "com.example/notes"
const Notes = Extension.make(notes, {
  questions: { pick: Extension.question("com.example/notes/pick", { result: { id: Schemas.Int } }) }
})
const picking = tool("picking", "optional", () =>
  Effect.map(Effect.orDie(Extensions.ask(Notes.questions.pick, {})), ({ id }) => `Note ${id}`)
)
const accept = (name: string) => ({ action: "accept", content: { name } })
const text = (result: { readonly [key: string]: any }) => result["content"][0].text
const related = (taskId: unknown) => ({ [relatedKey]: { taskId } })
/** Starts a request that waits. */
const begin = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.tap(Effect.forkChild(effect, { startImmediately: true }), () => quiesce)

describe("Task questions", () => {
  for (const { name, open } of transports) {
    it.effect(
      `A task's question goes to an open tasks/result and sets input_required (${name})`,
      () =>
        Effect.gen(function* () {
          const latch = yield* Latch.make()
          const later = tool("later", "optional", () => Effect.andThen(latch.await, Effect.andThen(ask, Effect.never)))
          const client = yield* open(withTasks(later))
          const { taskId } = yield* client.start("later")
          yield* begin(client.result(taskId))
          yield* latch.open
          const asked = yield* client.nextAsked
          assert.strictEqual(asked.via, name === "in memory" ? "wire" : "tasks/result")
          assert.strictEqual(asked.method, "elicitation/create")
          assert.deepStrictEqual(asked.params._meta, related(taskId))
          assert.strictEqual((yield* client.get(taskId))["status"], "input_required")
          yield* asked.answer(accept("Ada"))
          yield* quiesce
          assert.strictEqual((yield* client.get(taskId))["status"], "working")
          assert.lengthOf(client.asked, 1)
          // A server that stops waits for requests that are open.
          yield* client.request("tasks/cancel", { taskId })
        }),
      verifies(
        "tasks.input.related-task",
        "tasks.related.same-id",
        "tasks.related.key",
        "tasks.input.status",
        "tasks.input.leaves",
        "tasks.status.transitions"
      )
    )

    it.effect(`A task's question is sent on the session stream if no request waits for the result (${name})`, () =>
      Effect.gen(function* () {
        const client = yield* open(withTasks(asking))
        yield* client.open
        const { taskId } = yield* client.start("asking")
        const asked = yield* client.nextAsked
        assert.strictEqual(asked.via, name === "in memory" ? "wire" : "get")
        assert.deepStrictEqual(asked.params._meta, related(taskId))
        yield* asked.answer(accept("Ada"))
        assert.strictEqual(text(yield* client.result(taskId)), "Hello Ada")
        assert.lengthOf(client.asked, 1)
      })
    )

    it.effect(`Later result requests do not repeat a task's question (${name})`, () =>
      Effect.gen(function* () {
        const client = yield* open(withTasks(asking))
        yield* client.open
        const { taskId } = yield* client.start("asking")
        const asked = yield* client.nextAsked
        const results = yield* Effect.all([begin(client.result(taskId)), begin(client.result(taskId))])
        assert.lengthOf(client.asked, 1)
        yield* asked.answer(accept("Ada"))
        for (const result of results) assert.strictEqual(text(yield* Fiber.join(result)), "Hello Ada")
      })
    )

    it.effect(`A task's question is repeated after its tasks/result was abandoned (${name})`, () =>
      Effect.gen(function* () {
        const latch = yield* Latch.make()
        const later = tool("later", "optional", () => Effect.andThen(latch.await, ask))
        const client = yield* open(withTasks(later))
        const { taskId } = yield* client.start("later")
        const first = yield* begin(client.result(taskId))
        yield* latch.open
        const asked = yield* client.nextAsked
        yield* Fiber.interrupt(first)
        const second = yield* begin(client.result(taskId))
        const again = yield* client.nextAsked
        assert.notStrictEqual(again.id, asked.id)
        assert.deepStrictEqual(again.params, asked.params)
        yield* again.answer(accept("Bob"))
        yield* asked.answer(accept("Ada"))
        assert.strictEqual(text(yield* Fiber.join(second)), "Bob")
      })
    )

    it.effect(`A client's rejection of a task's question fails in the handler (${name})`, () =>
      Effect.gen(function* () {
        const client = yield* open(withTasks(asking))
        yield* client.open
        for (const [code, message, failed] of [
          [-1, "Not now", { code: undefined, isError: true }],
          [McpError.InternalError, "No window", { code: McpError.InternalError, isError: undefined }]
        ] as const) {
          const { taskId } = yield* client.start("asking")
          yield* Effect.flatMap(client.nextAsked, ({ refuse }) => refuse(code, message))
          const { error, result } = yield* Effect.match(client.result(taskId), {
            onFailure: (error) => ({ error, result: undefined }),
            onSuccess: (result) => ({ error: undefined, result })
          })
          assert.strictEqual(error instanceof McpError.McpError ? error.code : undefined, failed.code)
          assert.strictEqual(result?.["isError"], failed.isError)
          assert.strictEqual((yield* client.get(taskId))["status"], "failed")
        }
      })
    )
  }

  it.effect("Over HTTP, a task's question waits for a stream that can carry it", () =>
    Effect.gen(function* () {
      const client = yield* overHttp(withTasks(asking))
      const one = yield* client.start("asking")
      yield* quiesce
      assert.strictEqual((yield* client.get(one["taskId"]))["status"], "input_required")
      assert.lengthOf(client.asked, 0)
      const result = yield* begin(client.result(one["taskId"]))
      const asked = yield* client.nextAsked
      assert.strictEqual(asked.via, "tasks/result")
      yield* asked.answer(accept("Ada"))
      assert.strictEqual(text(yield* Fiber.join(result)), "Hello Ada")
      const two = yield* client.start("asking")
      yield* quiesce
      assert.lengthOf(client.asked, 1)
      yield* client.open
      const other = yield* client.nextAsked
      assert.deepStrictEqual([other.via, other.params._meta], ["get", related(two["taskId"])])
    })
  )

  it.effect("Over HTTP, a task's question goes to the newest waiting request first", () =>
    Effect.gen(function* () {
      const latch = yield* Latch.make()
      const later = tool("later", "optional", () => Effect.andThen(latch.await, ask))
      const client = yield* overHttp(withTasks(later))
      const other = yield* client.again
      const { taskId } = yield* client.start("later")
      const mine = yield* begin(client.result(taskId))
      const theirs = yield* begin(other.result(taskId))
      yield* latch.open
      const asked = yield* other.nextAsked
      assert.lengthOf(client.asked, 0)
      yield* Fiber.interrupt(theirs)
      const again = yield* client.nextAsked
      assert.deepStrictEqual(again.params, asked.params)
      yield* again.answer(accept("Ada"))
      assert.strictEqual(text(yield* Fiber.join(mine)), "Ada")
    })
  )

  it.effect("A question on a stream that the client closes is repeated by the next tasks/result", () =>
    Effect.gen(function* () {
      const client = yield* overHttp(withTasks(asking))
      const close = yield* client.listen
      const { taskId } = yield* client.start("asking")
      assert.strictEqual((yield* client.nextAsked).via, "get")
      yield* close
      yield* quiesce
      const result = yield* begin(client.result(taskId))
      const again = yield* client.nextAsked
      assert.strictEqual(again.via, "tasks/result")
      yield* again.answer(accept("Ada"))
      assert.strictEqual(text(yield* Fiber.join(result)), "Hello Ada")
    })
  )

  it.effect("A task's question is repeated if its client disconnects before answering", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* serve(withTasks(asking)))
      const { taskId } = yield* client.start("asking")
      const first = yield* client.nextAsked
      yield* first.refuse(McpError.Interrupted, "The connection is closing")
      const result = yield* begin(client.result(taskId))
      const again = yield* client.nextAsked
      yield* again.answer(accept("Ada"))
      assert.strictEqual(text(yield* Fiber.join(result)), "Hello Ada")
    })
  )

  it.effect("A task's question follows its client to another session once it reads the task", () =>
    Effect.gen(function* () {
      const server = yield* serve(withTasks(asking))
      const principal = { subject: "ada", scopes: [], claims: {} }
      const { taskId } = yield* Effect.scoped(
        Effect.gen(function* () {
          const first = yield* connect(server, { principal })
          const { taskId } = yield* first.start("asking")
          yield* first.nextAsked
          return { taskId }
        })
      )
      const again = yield* connect(server, { principal })
      yield* quiesce
      assert.lengthOf(again.asked, 0)
      assert.strictEqual((yield* again.get(taskId))["status"], "input_required")
      const asked = yield* again.nextAsked
      yield* asked.answer(accept("Ada"))
      assert.strictEqual(text(yield* again.result(taskId)), "Hello Ada")
      assert.lengthOf(again.asked, 1)
    })
  )

  it.effect("Over HTTP, a question moves to the client's new session once the old one has no stream", () =>
    Effect.gen(function* () {
      const first = yield* overHttp(withTasks(asking))
      const hangUp = yield* first.listen
      const { taskId } = yield* first.start("asking")
      yield* first.nextAsked
      const again = yield* first.again
      yield* again.open
      yield* again.get(taskId)
      yield* quiesce
      assert.lengthOf(again.asked, 0)
      yield* hangUp
      yield* quiesce
      yield* again.get(taskId)
      const asked = yield* again.nextAsked
      yield* asked.answer(accept("Ada"))
      assert.strictEqual(text(yield* again.result(taskId)), "Hello Ada")
      assert.lengthOf(first.asked, 1)
    })
  )

  it.effect(
    "A task's question is not asked in an owner's session without the needed capability",
    () =>
      Effect.gen(function* () {
        const client = yield* overHttp(withTasks(asking))
        const { taskId } = yield* client.start("asking")
        const mute = yield* client.withCapabilities({ roots: {}, sampling: {}, elicitation: { url: {} } })
        yield* mute.open
        yield* quiesce
        assert.strictEqual((yield* mute.get(taskId))["status"], "input_required")
        const theirs = yield* begin(mute.result(taskId))
        const mine = yield* begin(client.result(taskId))
        const asked = yield* client.nextAsked
        yield* Fiber.interrupt(mine)
        yield* quiesce
        const again = yield* begin(client.result(taskId))
        const other = yield* client.nextAsked
        assert.notStrictEqual(other.id, asked.id)
        yield* other.answer(accept("Ada"))
        for (const result of [theirs, again]) assert.strictEqual(text(yield* Fiber.join(result)), "Hello Ada")
        assert.lengthOf(mute.asked, 0)
        assert.lengthOf(client.asked, 2)
      }),
    verifies("lifecycle.operation.capabilities-respected")
  )

  it.effect("A session that cannot be asked does not take over a task's questions", () =>
    Effect.gen(function* () {
      const client = yield* overHttp(withTasks(asking))
      const { taskId } = yield* client.start("asking")
      const mute = yield* client.withCapabilities({})
      yield* mute.open
      yield* quiesce
      yield* mute.get(taskId)
      yield* client.open
      const asked = yield* client.nextAsked
      assert.strictEqual(asked.via, "get")
      yield* asked.answer(accept("Ada"))
      assert.strictEqual(text(yield* client.result(taskId)), "Hello Ada")
      assert.lengthOf(mute.asked, 0)
    })
  )

  it.effect("A task's question stays with its session while another cannot be asked", () =>
    Effect.gen(function* () {
      const client = yield* overHttp(withTasks(asking))
      const close = yield* client.listen
      const { taskId } = yield* client.start("asking")
      yield* client.nextAsked
      const mute = yield* client.withCapabilities({})
      const theirs = yield* begin(mute.result(taskId))
      yield* close
      yield* quiesce
      yield* client.open
      const again = yield* client.nextAsked
      yield* again.answer(accept("Ada"))
      assert.strictEqual(text(yield* Fiber.join(theirs)), "Hello Ada")
      assert.lengthOf(mute.asked, 0)
      assert.lengthOf(client.asked, 2)
    })
  )

  it.effect("A session that supports only the first question leaves the next to another session", () =>
    Effect.gen(function* () {
      const both = tool("both", "optional", () => Effect.andThen(Roots.list, ask))
      const client = yield* overHttp(withTasks(both))
      const { taskId } = yield* client.start("both")
      const partial = yield* client.withCapabilities({ roots: {} })
      yield* partial.open
      yield* quiesce
      yield* partial.get(taskId)
      const first = yield* partial.nextAsked
      assert.strictEqual(first.method, "roots/list")
      yield* first.answer({ roots: [] })
      yield* quiesce
      yield* client.open
      yield* client.get(taskId)
      const next = yield* client.nextAsked
      assert.deepStrictEqual([next.method, next.via], ["elicitation/create", "get"])
      yield* next.answer(accept("Ada"))
      assert.strictEqual(text(yield* client.result(taskId)), "Ada")
      assert.lengthOf(partial.asked, 1)
    })
  )

  it.effect("Cancelling a task withdraws its question", () =>
    Effect.gen(function* () {
      const client = yield* inMemory(withTasks(asking))
      const { taskId } = yield* client.start("asking")
      const { id } = yield* client.nextAsked
      yield* client.request("tasks/cancel", { taskId })
      yield* quiesce
      const [cancelled] = client.notes.filter(({ method }) => method === "notifications/cancelled")
      assert.strictEqual(cancelled?.params.requestId, id)
      assert.lengthOf(client.asked, 1)
    })
  )

  it.effect("An extension question is sent with its task in _meta, like built-in questions", () =>
    Effect.gen(function* () {
      const client = yield* inMemory(withTasks(picking), { capabilities: { experimental: { [notes]: {} } } })
      const { taskId } = yield* client.start("picking")
      const asked = yield* client.nextAsked
      assert.strictEqual(asked.method, "com.example/notes/pick")
      assert.deepStrictEqual(asked.params._meta, related(taskId))
      yield* asked.answer({ id: 7 })
      assert.strictEqual(text(yield* client.result(taskId)), "Note 7")
    })
  )

  it.effect("An extension question is not asked in an owner's session that did not declare it", () =>
    Effect.gen(function* () {
      const client = yield* overHttp(withTasks(picking), { capabilities: { experimental: { [notes]: {} } } })
      const { taskId } = yield* client.start("picking")
      const mute = yield* client.withCapabilities(able)
      const theirs = yield* begin(mute.result(taskId))
      const mine = yield* begin(client.result(taskId))
      const asked = yield* client.nextAsked
      yield* asked.answer({ id: 7 })
      for (const result of [theirs, mine]) assert.strictEqual(text(yield* Fiber.join(result)), "Note 7")
      assert.lengthOf(mute.asked, 0)
    })
  )
})

describe("Task progress", () => {
  const reports = tool("reports", "optional", () =>
    Effect.gen(function* () {
      yield* Progress.report(1, { total: 2, message: "half" })
      yield* ask
      yield* Effect.onInterrupt(Progress.report(2), () => Progress.report(3))
      return yield* Effect.onInterrupt(Effect.never, () => Progress.report(4))
    })
  )
  const progressOf = (client: { readonly notes: ReadonlyArray<{ readonly method: string; readonly params?: any }> }) =>
    client.notes.flatMap(({ method, params }) => (method === "notifications/progress" ? [params] : []))

  for (const { name, open } of transports) {
    it.effect(
      `A task's progress uses its call's token and names the task (${name})`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(reports))
          yield* client.open
          const { taskId } = yield* client.start("reports", {}, { progressToken: "p" })
          const asked = yield* client.nextAsked
          const half = { progressToken: "p", progress: 1, total: 2, message: "half", _meta: related(taskId) }
          assert.deepStrictEqual(progressOf(client), [half])
          yield* asked.answer(accept("Ada"))
          yield* quiesce
          assert.deepStrictEqual(progressOf(client)[1], { progressToken: "p", progress: 2, _meta: related(taskId) })
          yield* client.request("tasks/cancel", { taskId })
          yield* quiesce
          assert.lengthOf(progressOf(client), 2)
        }),
      verifies("tasks.progress.token-lives-on", "tasks.progress.stops", "tasks.related.key")
    )
  }

  it.effect("A task's progress is sent only with a token and an open stream", () =>
    Effect.gen(function* () {
      const silent = yield* inMemory(withTasks(reports))
      yield* silent.start("reports")
      yield* silent.nextAsked
      assert.deepStrictEqual(progressOf(silent), [])
      const absent = yield* overHttp(withTasks(reports))
      yield* absent.start("reports", {}, { progressToken: "p" })
      yield* quiesce
      yield* absent.open
      yield* absent.nextAsked
      yield* quiesce
      assert.deepStrictEqual(progressOf(absent), [])
    })
  )

  it.effect(
    "A task's progress ends with its time to live",
    () =>
      Effect.gen(function* () {
        const ticks = tool("ticks", "optional", () =>
          Effect.forEach(
            Array.from({ length: 100 }, (_, i) => i + 1),
            (n) => Effect.andThen(Progress.report(n), Effect.sleep("700 millis"))
          ).pipe(Effect.as("Done"))
        )
        const client = yield* inMemory(withTasks(ticks))
        yield* client.start("ticks", { ttl: 2500 }, { progressToken: "p" })
        yield* TestClock.adjust("20 seconds")
        assert.deepStrictEqual(
          progressOf(client).map(({ progress }) => progress),
          [1, 2, 3, 4]
        )
      }),
    verifies("tasks.progress.stops")
  )
})

describe("Task status", () => {
  for (const { name, open } of transports) {
    it.effect(
      `A task's status is sent whenever it changes (${name})`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(withTasks(asking))
          yield* client.open
          const { taskId } = yield* client.start("asking")
          const asked = yield* client.nextAsked
          yield* quiesce
          const waiting = yield* client.get(taskId)
          yield* asked.answer(accept("Ada"))
          yield* quiesce
          const told = client.notes.filter(({ method }) => method === "notifications/tasks/status")
          assert.deepStrictEqual(told[0]?.params, waiting)
          assert.deepStrictEqual(told.at(-1)?.params, yield* client.get(taskId))
          assert.deepStrictEqual(
            told.map(({ params }) => params.status).filter((status) => status !== "working"),
            ["input_required", "completed"]
          )
        }),
      verifies("tasks.related.not-in-status")
    )
  }

  it.effect(
    "Reading a task over HTTP is answered without a stream",
    () =>
      Effect.gen(function* () {
        const client = yield* overHttp(withTasks(asking))
        const { taskId } = yield* client.start("asking")
        yield* quiesce
        yield* client.get(taskId)
        assert.include(client.types["tasks/get"], "application/json")
        assert.include(client.types["tools/call"], "application/json")
      }),
    verifies("tasks.http.get-not-streamed", "tasks.http.transport-rules")
  )
})

it.effect("A task sends no notification or question before its client knows the task", () =>
  Effect.gen(function* () {
    const eager = tool("eager", "optional", () => Effect.andThen(Progress.report(1), ask))
    const client = yield* inMemory(withTasks(eager))
    yield* client.start("eager", {}, { progressToken: "p" })
    yield* client.nextAsked
    assert.deepStrictEqual(client.order.slice(0, 2), ["answer", "answer"])
    assert.include(client.order, "notifications/progress")
  })
)
