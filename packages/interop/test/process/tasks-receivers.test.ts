/** Third-party clients that run our server's questions as tasks of 2025-11-25: the official ext-tasks and SDK v1. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client as ClientV2 } from "@modelcontextprotocol/client"
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio"
import { bindTaskReceiver } from "@modelcontextprotocol/ext-tasks/receiver"
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { clientInfo } from "../support/official.ts"
import { fileOf } from "../support/our-client.ts"

const command = {
  command: process.execPath,
  args: [fileOf("../fixtures/asking-as-task-server.ts")],
  env: compileCache,
  stderr: "ignore" as const
}
const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } }
const user = { action: "accept" as const, content: { name: "Ada" } }
const model = { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "Said as a task" } }

interface Connected {
  readonly call: (name: string) => Effect.Effect<unknown>
  /** The ids of the tasks that the client has created. */
  readonly made: ReadonlyArray<string>
}

const extTasks: Effect.Effect<Connected, never, Scope.Scope> = Effect.gen(function* () {
  const made: Array<string> = []
  const capabilities = { elicitation: { form: {} }, sampling: {}, tasks }
  const client = new ClientV2(clientInfo, { capabilities, versionNegotiation: { mode: "legacy" } })
  const noted =
    <A>(answer: A) =>
    async (_request: unknown, { taskId }: { readonly taskId: string }) => {
      made.push(taskId)
      return answer
    }
  const receiver = bindTaskReceiver(client, {
    methods: { "elicitation/create": true, "sampling/createMessage": true },
    pollIntervalMs: 50,
    elicitation: noted(user),
    sampling: noted(model)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect(new StdioV2(command))),
    () =>
      Effect.promise(() => {
        receiver.close()
        return client.close()
      })
  )
  return { made, call: (name) => Effect.promise(() => client.callTool({ name, arguments: {} })) }
})

const sdkV1: Effect.Effect<Connected, never, Scope.Scope> = Effect.gen(function* () {
  const made: Array<string> = []
  const taskStore = new InMemoryTaskStore()
  const client = new Client(clientInfo, {
    capabilities: { elicitation: { form: {} }, sampling: {}, tasks },
    taskStore
  })
  const answering =
    (answer: object) =>
    async (_request: unknown, { taskStore: store }: any): Promise<any> => {
      const task = await store.createTask({ ttl: 60_000, pollInterval: 50 })
      made.push(task.taskId)
      setTimeout(() => void store.storeTaskResult(task.taskId, "completed", answer), 20)
      return { task }
    }
  client.setRequestHandler(ElicitRequestSchema, answering(user))
  client.setRequestHandler(CreateMessageRequestSchema, answering(model))
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect(new StdioClientTransport(command))),
    () =>
      Effect.promise(() => {
        taskStore.cleanup()
        return client.close()
      })
  )
  return { made, call: (name) => Effect.promise(() => client.callTool({ name, arguments: {} })) }
})

for (const [name, connect] of [
  ["ext-tasks", extTasks],
  ["SDK v1", sdkV1]
] as const) {
  describe(`The ${name} receiver`, () => {
    it.live("A receiver runs one question to its user and one to its model, and our server gets the answers", () =>
      Effect.gen(function* () {
        const { call, made } = yield* connect
        assert.include(JSON.stringify(yield* call("greet")), "Hello Ada")
        assert.include(JSON.stringify(yield* call("think")), "Said as a task")
        assert.lengthOf(new Set(made), 2)
      }).pipe(Effect.scoped)
    )
  })
}
