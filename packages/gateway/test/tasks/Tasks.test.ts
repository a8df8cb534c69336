/**
 * Tasks of the server behind a gateway. Callers that support tasks get tasks of the gateway; for others they are followed to their end.
 */
import { CurrentTaskHandling } from "@effect-mcp/client/internal/relaying"
import type { McpClient } from "@effect-mcp/client/McpClient"
import { Elicitation } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schedule, Stream } from "effect"
import * as Gateway from "../../src/Gateway.ts"
import { join } from "../support/gateway.ts"
import { pollInterval, setup, withTasks } from "../support/tasks.ts"

type Client = McpClient["Service"]

const pairsOf = (downstream: ReadonlyArray<Revision.Revision>) =>
  downstream.flatMap((downstream) =>
    withTasks.map((upstream) => ({ downstream, upstream, title: `${downstream.version} before ${upstream.version}` }))
  )

const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept", content: { name: message === "Who?" ? "Ada" : "Bob" } })
})

/** A client of the gateway that wants tasks if it can have them. */
const run = <A, E>(
  { downstream, upstream }: { readonly downstream: Revision.Revision; readonly upstream: Revision.Revision },
  body: (
    client: Client,
    behind: Effect.Success<ReturnType<typeof setup>>
  ) => Effect.Effect<A, E, Gateway.Gateway | Effect.Services<ReturnType<typeof join>>>
) =>
  Effect.gen(function* () {
    const behind = yield* setup(upstream)
    const client = Effect.provide(join(downstream), user)
    return yield* Effect.provide(
      Effect.flatMap(client, (client) => body(client, behind)),
      behind.gateway
    )
  }).pipe(Effect.scoped, Effect.provideService(CurrentTaskHandling, { asks: false, prefers: true }))

const textOf = (result: any): unknown => result.content[0].text

/** The task that a call is answered with. */
const begin = ({ raw, revision }: Client, name: string, args: object = {}) => {
  const params = { name, arguments: args }
  const sent = revision.era === "stateful" ? { ...params, task: {} } : params
  return Effect.map(raw.request("tools/call", sent), (result: any) =>
    revision.era === "stateful" ? result.task : result
  )
}

const request = ({ raw }: Client, method: string, params: object): Effect.Effect<any, unknown> =>
  raw.request(method, { ...params })

/** Polls a task at its server's interval. */
const readUntil = (client: Client, taskId: string, until: (task: any) => boolean) =>
  Effect.repeat(request(client, "tasks/get", { taskId }), { until, schedule: Schedule.spaced(pollInterval) })

const errorOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.flip(effect), (error) =>
    error instanceof McpError.McpError ? Effect.succeed(error) : Effect.die(error)
  )

describe.each(pairsOf(Revision.all))("Tasks through a gateway, $title", (pair) => {
  it.live("A task returns its result to any caller", () =>
    run(pair, (client) =>
      Effect.gen(function* () {
        for (const name of ["must", "may", "plain"]) {
          assert.strictEqual(textOf(yield* client.callToolByName(name)), "done", name)
        }
        assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
      })
    )
  )

  it.live("A failing task returns its failure or error to any caller", () =>
    run(pair, (client) =>
      Effect.gen(function* () {
        assert.deepInclude(yield* client.callToolByName("fail"), { isError: true })
        const error = yield* errorOf(client.callToolByName("break"))
        assert.deepInclude(error, { code: 4711, message: "broken", data: { why: "so" } })
      })
    )
  )

  if (pair.downstream.rules.elicitation.form) {
    it.live("A task asks any caller's user and continues with the answers", () =>
      run(pair, (client) =>
        Effect.gen(function* () {
          assert.strictEqual(textOf(yield* client.callToolByName("ask")), "Ada and Bob")
        })
      )
    )

    it.live("A task that starts after a question returns its result", () =>
      run(pair, (client, { go }) =>
        Effect.gen(function* () {
          yield* go.open
          assert.strictEqual(textOf(yield* client.callToolByName("begin")), "Ada began")
        })
      )
    )
  }

  it.live("A task is cancelled at the upstream server if its caller gives up", () =>
    run(pair, (client, { interrupted }) =>
      Effect.gen(function* () {
        // A task counts as known once it is announced: a server that has just created one may get the cancellation of its request too late.
        const known = yield* Deferred.make<void>()
        const onProgress = () => void Deferred.doneUnsafe(known, Effect.void)
        const call = yield* Effect.forkChild(client.callToolByName("hang", {}, { onProgress }))
        yield* Deferred.await(known)
        yield* Fiber.interrupt(call)
        yield* Deferred.await(interrupted)
        assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
      })
    )
  )
})

describe.each(pairsOf(withTasks))("A gateway's own tasks, $title", (pair) => {
  const stateful = pair.downstream.era === "stateful"

  it.live("A gateway task shows the upstream task's message while it works", () =>
    run(pair, (client, { go, started }) =>
      Effect.gen(function* () {
        const { extensions, tasks } = client.serverCapabilities
        if (stateful) assert.deepStrictEqual(tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } })
        else assert.deepStrictEqual(extensions, { [Tasks.extension.id]: {} })
        const { status, taskId } = yield* begin(client, "wait")
        assert.strictEqual(status, "working")
        yield* Deferred.await(started)
        const told = yield* readUntil(client, taskId, ({ statusMessage }) => statusMessage !== undefined)
        assert.deepInclude(told, { status: "working", statusMessage: "half" })
        yield* go.open
        const ended = yield* readUntil(client, taskId, ({ status }) => status !== "working")
        assert.strictEqual(ended.status, "completed")
        const result = stateful ? yield* request(client, "tasks/result", { taskId }) : ended.result
        assert.strictEqual(textOf(result), "waited")
      })
    )
  )

  it.live("Cancelling a gateway task cancels it upstream, too", () =>
    run(pair, (client, { interrupted }) =>
      Effect.gen(function* () {
        const { taskId } = yield* begin(client, "hang")
        yield* readUntil(client, taskId, ({ statusMessage }) => statusMessage === "hanging")
        yield* request(client, "tasks/cancel", { taskId })
        assert.strictEqual((yield* request(client, "tasks/get", { taskId })).status, "cancelled")
        yield* Deferred.await(interrupted)
      })
    )
  )

  it.live("A gateway task is unknown to other callers", () =>
    run(pair, (client, { go }) =>
      Effect.gen(function* () {
        const other = yield* join(pair.downstream)
        const { taskId } = yield* begin(client, "wait")
        for (const method of ["tasks/get", "tasks/cancel"]) {
          assert.propertyVal(yield* errorOf(other.raw.request(method, { taskId })), "code", -32602)
        }
        yield* go.open
        assert.strictEqual((yield* request(client, "tasks/get", { taskId })).taskId, taskId)
      })
    )
  )

  if (stateful) {
    it.live("Only a call that requests a task becomes one", () =>
      run(pair, ({ raw }) =>
        Effect.gen(function* () {
          const { content } = (yield* raw.request("tools/call", { name: "may", arguments: {} })) as any // a tool's result
          assert.isDefined(content)
          const { tools } = (yield* raw.request("tools/list")) as any // a list of tools
          const supports = Object.fromEntries(tools.map(({ execution, name }: any) => [name, execution?.taskSupport]))
          const asked = Effect.exit(raw.request("tools/call", { name: "plain", arguments: {}, task: {} }))
          if (pair.upstream.era === "stateless") {
            assert.deepStrictEqual(new Set(Object.values(supports)), new Set(["optional"]))
            assert.strictEqual((yield* asked)._tag, "Success")
          } else {
            assert.deepInclude(supports, { may: "optional", must: "required" })
            assert.strictEqual((yield* asked)._tag, "Failure")
          }
        })
      )
    )
  } else {
    it.live("A gateway task can ask alongside another task of its caller", () =>
      run(pair, (client) =>
        Effect.gen(function* () {
          const names = ["one", "two", "three"]
          const tasks = yield* Effect.forEach(names, (name) => begin(client, "ask", { first: `${name}?` }))
          const asked = yield* Effect.forEach(tasks, ({ taskId }) =>
            Effect.map(
              readUntil(client, taskId, ({ status }) => status === "input_required"),
              ({ inputRequests }) =>
                Object.values<any>(inputRequests).map(({ params }) => [params.message, params._meta ?? {}])
            )
          )
          assert.deepStrictEqual(
            asked,
            names.map((name) => [[`${name}?`, {}]])
          )
        })
      )
    )

    it.live("A task is not announced to a client that did not declare the extension", () =>
      Effect.gen(function* () {
        const { gateway } = yield* setup(pair.upstream)
        const client = yield* Effect.provide(join(pair.downstream, { tasks: false }), gateway)
        assert.propertyVal(yield* errorOf(Stream.runDrain(client.raw.listen({ taskIds: [] }))), "code", -32021)
      }).pipe(Effect.scoped)
    )

    it.live("A task is announced to a subscribed caller", () =>
      run(pair, (client, { go, started }) =>
        Effect.gen(function* () {
          const { taskId } = yield* begin(client, "wait")
          yield* Deferred.await(started)
          const events = client.raw.listen({ taskIds: [taskId, "unknown"] })
          const statuses = yield* Effect.forkChild(
            Stream.runCollect(
              Stream.takeUntil(events, (event) => event._tag === "Notification" && event.params.status === "completed")
            ),
            { startImmediately: true }
          )
          yield* go.open
          const [first, ...states] = yield* Fiber.join(statuses)
          assert.deepStrictEqual(first, { _tag: "Listening", granted: { taskIds: [taskId] } })
          assert.isAbove(states.length, 0)
        })
      )
    )

    it.live("A client that did not declare tasks cannot call a task-only tool", () =>
      Effect.gen(function* () {
        const { gateway } = yield* setup(pair.upstream)
        const client = yield* Effect.provide(join(pair.downstream, { tasks: false }), gateway)
        const error = yield* errorOf(client.callToolByName("must"))
        assert.deepInclude(error, {
          code: -32021,
          data: { requiredCapabilities: { extensions: { [Tasks.extension.id]: {} } } }
        })
        assert.strictEqual(textOf(yield* client.callToolByName("may")), "done")
      }).pipe(Effect.scoped)
    )
  }
})

describe.each(pairsOf(withTasks))("A gateway in front of a server without tasks, $title", (pair) => {
  it.live("Tasks are not offered if the upstream server has none", () =>
    Effect.gen(function* () {
      const { gateway } = yield* setup(pair.upstream, { hasTasks: false })
      const client = yield* Effect.provide(join(pair.downstream), gateway)
      assert.deepStrictEqual(
        [client.serverCapabilities.tasks, client.serverCapabilities.extensions],
        [undefined, undefined]
      )
      assert.strictEqual(textOf(yield* client.callToolByName("may")), "done")
      const undeclared = yield* Effect.provide(join(pair.downstream, { tasks: false }), gateway)
      for (const { raw } of [client, undeclared]) {
        assert.propertyVal(yield* errorOf(raw.request("tasks/get", { taskId: "1" })), "code", -32601)
      }
    }).pipe(Effect.scoped)
  )
})
