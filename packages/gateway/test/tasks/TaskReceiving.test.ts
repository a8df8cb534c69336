/**
 * Questions that the upstream server asks as tasks. The gateway runs them as tasks of its client, if the client runs questions as tasks.
 */
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as TaskReceiver from "@effect-mcp/client/TaskReceiver"
import { Elicitation, Memory, RequestContext, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import * as Gateway from "../../src/Gateway.ts"
import { join } from "../support/gateway.ts"

const Name = Schema.Struct({ name: Schema.String })
const version = "2025-11-25"
const revision = Revision.all.find((one) => one.version === version) ?? assert.fail("no revision")

/** A server that asks as a task, and reports its client's declarations. */
const asking = Tools.layer(Tool.make("ask", { description: "Asks as a task" }), () =>
  Effect.gen(function* () {
    const { clientCapabilities } = yield* RequestContext.RequestContext
    const { name } = yield* Elicitation.form("Who?", Name, { task: { ttl: "1 hour" } })
    return `${name} ${JSON.stringify(clientCapabilities.tasks?.requests ?? null)}`
  })
)

/** A gateway in front of that server, and its client; `made` contains the tasks that the client ran. */
const behind = Effect.fnUntraced(function* (user: Layer.Layer<Elicitation.Elicitation>, runsTasks: boolean) {
  const made: Array<unknown> = []
  const server = Context.get(
    yield* Layer.build(Layer.fresh(McpServer.layer({ name: "behind", version: "1", features: asking }))),
    McpServer.McpServer
  )
  const connector = Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    yield* server.connect(end)
    return client
  })
  const noted = Layer.effect(
    TaskReceiver.TaskReceiver,
    Effect.map(TaskReceiver.TaskReceiver, ({ make }) => ({
      make: Effect.map(make, (receiver): TaskReceiver.Receiver => ({
        capabilities: (answers) => receiver.capabilities(answers),
        create: (method, task, answer) => {
          made.push([method, task])
          return receiver.create(method, task, answer)
        },
        receive: (request) => receiver.receive(request)
      }))
    }))
  )
  const receiver = Layer.provide(noted, TaskReceiver.layerMemory({ pollInterval: "100 millis" }))
  const gateway = yield* Layer.build(
    Layer.fresh(Gateway.layer({ connector, client: { revisions: [version] }, tasks: { pollInterval: "100 millis" } }))
  )
  const joined = Effect.provide(join(revision), runsTasks ? Layer.merge(user, receiver) : user)
  const client: McpClient.McpClient["Service"] = yield* Effect.provide(joined, gateway)
  return { client, made }
})

const textOf = (result: any): unknown => result.content[0].text

describe("Questions as tasks through a gateway in 2025-11-25", () => {
  const answering = Elicitation.layer({
    form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
  })

  it.live("A question becomes a client task if the client runs questions as tasks", () =>
    Effect.gen(function* () {
      const { client, made } = yield* behind(answering, true)
      assert.strictEqual(textOf(yield* client.callToolByName("ask")), 'Ada {"elicitation":{"create":{}}}')
      assert.deepStrictEqual(made, [["elicitation/create", { ttl: 3_600_000 }]])
    }).pipe(Effect.scoped)
  )

  it.live("A question is asked within its request if the client does not run questions as tasks", () =>
    Effect.gen(function* () {
      const { client, made } = yield* behind(answering, false)
      assert.strictEqual(textOf(yield* client.callToolByName("ask")), "Ada null")
      assert.deepStrictEqual(made, [])
    }).pipe(Effect.scoped)
  )

  it.live("A question is withdrawn from the user if its call is interrupted", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const thinking = Elicitation.layer({
        form: () =>
          Effect.onExit(Effect.andThen(Deferred.succeed(asked, undefined), Effect.never), (exit) =>
            Deferred.succeed(ended, exit)
          )
      })
      const { client, made } = yield* behind(thinking, true)
      const call = yield* Effect.forkChild(client.callToolByName("ask"))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(call)
      assert.isTrue(Exit.isFailure(yield* Deferred.await(ended)))
      assert.lengthOf(made, 1)
    }).pipe(Effect.scoped)
  )
})
