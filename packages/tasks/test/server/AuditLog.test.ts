/** The audit log of tasks: the lines that a server's loggers receive, and that no client receives any. */
import { Once } from "@effect-mcp/core"
import type { Principal } from "@effect-mcp/core/Principal"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Observer from "@effect-mcp/server/Observer"
import { verifies } from "@effect-mcp/spec/verifies"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

const ada: Principal["Service"] = { subject: "ada", scopes: [], claims: { iss: "issuer", token: "secret" } }
const owner = 'principal ["issuer","ada"]'

const night = tool("night", "optional", () => Effect.as(Once.sleep("night", "1 day"), "slept"))

/** A server whose tasks sleep, and expire after an hour. */
const serveNights = Client.serve(Layer.mergeAll(night, Tasks.layer({ ttl: "1 hour" })))

/** Lets a parked task expire. */
const expireOne = Effect.fnUntraced(function* (client: Effect.Success<ReturnType<typeof Client.connect>>) {
  yield* client.call("night")
  yield* quiesce
  yield* TestClock.adjust("30 minutes")
  yield* TestClock.adjust("2 hours")
  yield* quiesce
})

/** The lines about tasks, and a layer that records them. */
const recording = () => {
  const lines: Array<readonly [message: string, annotations: { readonly [name: string]: unknown }]> = []
  const logger = Logger.make(({ fiber, message }) => {
    const text = Array.isArray(message) ? message.join(" ") : String(message)
    if (/^(A task|Tasks?) /.test(text)) lines.push([text, { ...fiber.getRef(References.CurrentLogAnnotations) }])
  })
  const layer = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug"))
  return { layer, take: () => lines.splice(0) }
}
const wait = tool("wait", "optional", () => Effect.never)

describe("Task audit log", () => {
  it.effect("The audit log covers every event of 2026-07-28 tasks, with owners", () =>
    Effect.gen(function* () {
      const { layer, take } = recording()
      const go = yield* Deferred.make<void>()
      const done = tool("done", "optional", () => Effect.as(Deferred.await(go), "secret result"))
      const features = Layer.mergeAll(wait, done, Tasks.layer({ perOwner: 2, ttl: "1 hour" }))
      const server = yield* Effect.provide(Client.serve(features), layer)
      const client = yield* Client.connect(server, { principal: ada })
      const id = (yield* client.call("done", { word: "secret argument" }))["taskId"]
      const made = { "mcp.task.id": id, "mcp.task.owner": owner }
      assert.deepStrictEqual(take(), [["Task created", { ...made, "mcp.task.tool": "done" }]])
      yield* client.get(id)
      assert.deepStrictEqual(take(), [["Task read", made]])
      yield* Deferred.succeed(go, undefined)
      yield* quiesce
      assert.deepStrictEqual(take(), [["Task ended", { ...made, "mcp.task.end": "result" }]])

      const stranger = yield* Client.connect(server)
      yield* stranger.refused("tasks/get", { taskId: id })
      const [[message, { "mcp.task.owner": by, ...rest }] = ["", {}]] = take()
      assert.strictEqual(message, "Task request rejected: the caller has no such task")
      assert.match(String(by), /^connection \w+$/)
      assert.deepStrictEqual(rest, { "mcp.task.id": id })

      const waiting = (yield* client.call("wait"))["taskId"]
      const expiring = (yield* client.call("wait"))["taskId"]
      take()
      yield* client.refused("tools/call", { name: "wait", arguments: {} })
      assert.deepStrictEqual(
        take().map(([message, { "mcp.task.owner": by }]) => [message.slice(0, 21), by]),
        [["Task request rejected", owner]]
      )
      yield* client.request("tasks/cancel", { taskId: waiting })
      yield* quiesce
      assert.deepStrictEqual(take(), [["Task cancelled", { ...made, "mcp.task.id": waiting }]])
      yield* TestClock.adjust("2 hours")
      yield* quiesce
      assert.deepStrictEqual(take(), [["Task ended", { ...made, "mcp.task.id": expiring, "mcp.task.end": "expired" }]])
    })
  )

  it.effect("A parked task's expiry is recorded once, with its owner", () =>
    Effect.gen(function* () {
      const { layer, take } = recording()
      const sleeps = tool("sleeps", "optional", () => Effect.as(Once.sleep("night", "3 hours"), "slept"))
      const server = yield* Effect.provide(Client.serve(Layer.mergeAll(sleeps, Tasks.layer({ ttl: "1 hour" }))), layer)
      const client = yield* Client.connect(server, { principal: ada })
      const id = (yield* client.call("sleeps"))["taskId"]
      yield* quiesce
      take()
      // Long enough to be parked, so that no fiber runs for the task when its time ends.
      yield* TestClock.adjust("30 minutes")
      yield* TestClock.adjust("2 hours")
      yield* quiesce
      const ended = { "mcp.task.id": id, "mcp.task.owner": owner, "mcp.task.end": "expired" }
      assert.deepStrictEqual(take(), [["Task ended", ended]])
    })
  )

  // Cases: calls that become tasks at once, and calls within middleware of the program.
  const around = Middleware.layer((_request, next) => next)
  for (const [ways, more] of [
    ["at once", Layer.empty],
    ["within middleware", around]
  ] as const) {
    it.effect(`A task that starts ${ways} runs once even if observers and loggers throw`, () =>
      Effect.gen(function* () {
        let runs = 0
        const states: Array<string> = []
        const counted = tool("counted", "optional", () => Effect.sync(() => `Run ${++runs}`))
        const observer = Observer.layer(
          Effect.succeed({
            task: ({ state }) => {
              states.push(state)
              throw new Error("No connection")
            }
          })
        )
        const logger = Logger.make(() => {
          throw new Error("No room")
        })
        const features = Layer.mergeAll(counted, more, Tasks.layer())
        const server = yield* Effect.provide(Client.serve(features), Layer.merge(observer, Logger.layer([logger])))
        const client = yield* Session.connect(server, { principal: ada })
        const { taskId } = yield* client.start("counted")
        yield* quiesce
        assert.strictEqual((yield* client.get(taskId))["status"], "completed")
        assert.deepStrictEqual((yield* client.result(taskId))["content"], [{ type: "text", text: "Run 1" }])
        yield* TestClock.adjust("1 minute")
        yield* quiesce
        assert.strictEqual(runs, 1)
        assert.deepStrictEqual(states, ["created", "completed"])
        const listed = (yield* client.request("tasks/list"))["tasks"]
        assert.deepStrictEqual(
          listed.map(({ taskId }: { readonly taskId: string }) => taskId),
          [taskId]
        )
      })
    )
  }

  it.effect("A parked task's expiry is reported even if an observer threw on an earlier one", () =>
    Effect.gen(function* () {
      const states: Array<string> = []
      const observer = Observer.layer(
        Effect.succeed({
          task: ({ state }) => {
            states.push(state)
            if (states.length === 2) throw new Error("No connection")
          }
        })
      )
      const client = yield* Client.connect(yield* Effect.provide(serveNights, observer))
      yield* expireOne(client)
      yield* expireOne(client)
      assert.deepStrictEqual(states, ["created", "expired", "created", "expired"])
    })
  )

  it.effect("A parked task's expiry is logged even if a logger threw on an earlier one", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => {
        const text = String(message)
        if (!/^(Task ended|A task audit log|Failed to report|The task store)/.test(text)) return
        lines.push(text.slice(0, 16))
        if (lines.length < 3) throw new Error("No room")
      })
      const client = yield* Client.connect(yield* Effect.provide(serveNights, Logger.layer([logger])))
      yield* expireOne(client)
      yield* expireOne(client)
      assert.deepStrictEqual(lines, ["Task ended", "A task audit log", "Task ended"])
    })
  )

  it.effect(
    "The audit log of 2025-11-25 tasks sends no line to the client",
    () =>
      Effect.gen(function* () {
        const { layer, take } = recording()
        const done = tool("done", "optional", () => Effect.succeed("done"))
        const server = yield* Effect.provide(Client.serve(Layer.mergeAll(done, Tasks.layer())), layer)
        const client = yield* Session.connect(server, { principal: ada })
        const { taskId } = yield* client.start("done")
        yield* client.get(taskId)
        yield* client.request("tasks/list")
        yield* client.result(taskId)
        yield* quiesce
        const lines = take()
        assert.deepStrictEqual(
          lines.map(([message]) => message),
          ["Task created", "Task ended", "Task read", "Tasks listed", "Task read"]
        )
        assert.deepStrictEqual(new Set(lines.map(([, annotations]) => annotations["mcp.task.owner"])), new Set([owner]))
        assert.deepStrictEqual(
          client.notes.filter(({ method }) => method === "notifications/message"),
          []
        )
      }),
    verifies("tasks.audit.receiver", "tasks.audit.context")
  )
})
