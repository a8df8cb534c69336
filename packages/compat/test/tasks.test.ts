/** Tools that run as tasks (`experimental/tasks` of v1): a call waits for its task. */
import { InMemoryTaskStore } from "@effect-mcp/compat/v1/experimental/tasks"
import { McpServer } from "@effect-mcp/compat/v1/server/mcp.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { z } from "zod"
import { clientV2 } from "./support/modules.ts"

const connected = async (server: McpServer, mode: "legacy" | "auto" = "legacy") => {
  const { Client, InMemoryTransport } = await clientV2("official")
  const client = new Client(
    { name: "tester", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } }
  )
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }))
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  await client.connect(near)
  onTestFinished(() => client.close())
  return client
}

const serverOf = (taskStore?: InMemoryTaskStore) =>
  new McpServer({ name: "tasks", version: "1.0.0" }, { taskStore, capabilities: { tasks: { list: {} } } })

const never = () => assert.fail("The store is read")
const execution = { taskSupport: "required" } as const

describe("registerToolTask", () => {
  it.each(["legacy", "auto"] as const)("A call in mode %s is answered with its task's result", async (mode) => {
    const store = new InMemoryTaskStore()
    const server = serverOf(store)
    server.experimental.tasks.registerToolTask(
      "greet",
      { inputSchema: { name: z.string() }, execution },
      {
        createTask: async ({ name }, { taskStore }) => {
          const task = await taskStore.createTask({ ttl: 60_000, pollInterval: 1 })
          const content = [{ type: "text", text: `Hello, ${name}` }]
          setImmediate(() => void taskStore.storeTaskResult(task.taskId, "completed", { content }))
          return { task }
        },
        getTask: never,
        getTaskResult: never
      }
    )
    const client = await connected(server, mode)
    assert.isUndefined(Object(client.getServerCapabilities()).tasks)
    const [tool] = (await client.listTools()).tools
    assert.deepInclude(tool, { name: "greet" })
    assert.isUndefined(tool?.execution)
    const { content } = await client.callTool({ name: "greet", arguments: { name: "Ada" } })
    assert.deepStrictEqual(content, [{ type: "text", text: "Hello, Ada" }])
    assert.deepStrictEqual(
      store.getAllTasks().map(({ status }) => status),
      ["completed"]
    )
    store.cleanup()
  })

  it("A task asks the client while its call waits", async () => {
    const server = serverOf(new InMemoryTaskStore())
    const params = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
    server.experimental.tasks.registerToolTask(
      "ask",
      { execution },
      {
        createTask: async ({ sendRequest, taskStore }) => {
          const task = await taskStore.createTask({ pollInterval: 1 })
          void sendRequest({ method: "elicitation/create", params }).then(({ content }) => {
            const text = JSON.stringify(content)
            return taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text }] })
          })
          return { task }
        },
        getTask: never,
        getTaskResult: never
      }
    )
    const client = await connected(server)
    const { content } = await client.callTool({ name: "ask" })
    assert.deepStrictEqual(content, [{ type: "text", text: '{"name":"Ada"}' }])
  })

  it("Cancelling a call cancels its task", async () => {
    const store = new InMemoryTaskStore()
    const server = serverOf(store)
    const abort = new AbortController()
    const { promise, resolve } = Promise.withResolvers<void>()
    server.experimental.tasks.registerToolTask(
      "wait",
      { execution },
      {
        createTask: async ({ signal, taskStore }) => {
          signal.addEventListener("abort", () => setImmediate(resolve))
          const task = await taskStore.createTask({ pollInterval: 60_000 })
          setImmediate(() => abort.abort())
          return { task }
        },
        getTask: never,
        getTaskResult: never
      }
    )
    const client = await connected(server)
    await client.callTool({ name: "wait" }, { signal: abort.signal }).catch(() => undefined)
    await promise
    assert.deepStrictEqual(
      store.getAllTasks().map(({ status }) => status),
      ["cancelled"]
    )
  })

  it("A failed task without a result fails the call with its message", async () => {
    const server = serverOf(new InMemoryTaskStore())
    server.experimental.tasks.registerToolTask(
      "fail",
      { execution },
      {
        createTask: async ({ taskStore }) => {
          const task = await taskStore.createTask({})
          await taskStore.updateTaskStatus(task.taskId, "failed", "No database")
          return { task }
        },
        getTask: never,
        getTaskResult: never
      }
    )
    const client = await connected(server)
    const { content, isError } = await client.callTool({ name: "fail" })
    assert.isTrue(isError)
    assert.include(JSON.stringify(content), "No database")
  })

  it("A task tool on a server without a taskStore names the missing option", async () => {
    const server = serverOf()
    server.experimental.tasks.registerToolTask(
      "none",
      { execution },
      { createTask: never, getTask: never, getTaskResult: never }
    )
    const client = await connected(server)
    assert.include(JSON.stringify(await client.callTool({ name: "none" })), "taskStore")
  })
})
