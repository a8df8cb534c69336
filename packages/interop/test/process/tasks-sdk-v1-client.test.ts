/** The experimental tasks client of the official SDK v1 drives tasks of 2025-11-25 of the reference server. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { ways } from "../support/http-server.ts"
import { clientInfo, serverFile } from "../support/official.ts"

const related = "io.modelcontextprotocol/related-task"

const stdio = Effect.sync(
  () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [serverFile, "--stdio"],
      env: compileCache,
      stderr: "ignore"
    })
)
const transports: ReadonlyArray<
  readonly [string, Effect.Effect<StdioClientTransport | StreamableHTTPClientTransport, never, Scope.Scope>]
> = [
  ["stdio", stdio],
  ...ways.map(
    ([name, serve]) => [name, Effect.map(serve, ({ url }) => new StreamableHTTPClientTransport(new URL(url)))] as const
  )
]

const connect = Effect.fnUntraced(function* (
  transport: StdioClientTransport | StreamableHTTPClientTransport
): Effect.fn.Return<{ readonly client: Client; readonly asked: ReadonlyArray<any> }, never, Scope.Scope> {
  const asked: Array<any> = []
  const client = new Client(clientInfo, { capabilities: { elicitation: { form: {} } } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params)
    return { action: "accept", content: { confirm: true } }
  })
  yield* Effect.acquireRelease(
    // The class does not declare that its session id may be undefined.
    Effect.promise(() => client.connect(transport as Parameters<Client["connect"]>[0])),
    () => Effect.promise(() => client.close())
  )
  // The list tells the client which tools run as tasks.
  yield* Effect.promise(() => client.listTools())
  return { client, asked }
})

/** All messages of a call, and its task. */
const streamed = (client: Client, name: string, args: { [name: string]: unknown }) =>
  Effect.promise(async () => {
    const messages: Array<any> = []
    for await (const message of client.experimental.tasks.callToolStream({ name, arguments: args })) {
      messages.push(message)
    }
    const types: ReadonlyArray<string> = messages.map(({ type }) => type)
    return { types, taskId: String(messages[0]?.task?.taskId), last: messages.at(-1) }
  })

/** Calls a tool as a task, and returns its id. */
const started = (client: Client, name: string, args: { [name: string]: unknown } = {}) =>
  Effect.promise(async () => {
    const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, undefined, { task: {} })
    const { value } = await stream.next()
    return value?.type === "taskCreated" ? value.task.taskId : assert.fail(JSON.stringify(value))
  })

/** The error code that a promise was rejected with. */
const codeOf = (promise: () => Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    promise().then(
      (value) => assert.fail(JSON.stringify(value)),
      (error: unknown) => (typeof error === "object" && error !== null && "code" in error ? error.code : error)
    )
  )

for (const [over, open] of transports) {
  describe(`The SDK v1 tasks client over ${over}`, () => {
    it.live("The SDK client follows a call from creation to result", () =>
      Effect.gen(function* () {
        const { client } = yield* connect(yield* open)
        const { last, taskId, types } = yield* streamed(client, "slow_compute", { seconds: 0.3, label: "pi" })
        assert.strictEqual(types[0], "taskCreated")
        assert.include(types, "taskStatus")
        assert.strictEqual(last.type, "result")
        assert.strictEqual(last.result.content[0].text, "Computed pi in 0.3 seconds")
        assert.deepStrictEqual(last.result._meta[related], { taskId })
      })
    )

    it.live("The SDK client answers a task's question, which names its task", () =>
      Effect.gen(function* () {
        const { asked, client } = yield* connect(yield* open)
        const { last, taskId } = yield* streamed(client, "confirm_delete", { filename: "a.txt" })
        assert.strictEqual(last.result?.content[0].text, "Deleted a.txt")
        assert.deepStrictEqual(
          asked.map(({ _meta, message }) => [message, _meta[related]]),
          [["Delete a.txt?", { taskId }]]
        )
      })
    )

    it.live("The SDK client cancels a task, and reads and lists it if the server allows that", () =>
      Effect.gen(function* () {
        const { client } = yield* connect(yield* open)
        const { tasks } = client.experimental
        const taskId = yield* started(client, "slow_compute", { seconds: 60 })
        assert.strictEqual((yield* Effect.promise(() => tasks.getTask(taskId))).status, "working")
        if (over === "stdio") {
          const listed = yield* Effect.promise(() => tasks.listTasks())
          assert.deepStrictEqual(
            listed.tasks.map((task) => task.taskId),
            [taskId]
          )
        } else assert.isUndefined(client.getServerCapabilities()?.tasks?.list)
        const cancelled = yield* Effect.promise(() => tasks.cancelTask(taskId))
        assert.strictEqual(cancelled.status, "cancelled")
        assert.strictEqual(yield* codeOf(() => tasks.cancelTask(taskId)), -32602)
        assert.strictEqual(yield* codeOf(() => tasks.getTaskResult(taskId, CallToolResultSchema)), -31503)
        assert.strictEqual(yield* codeOf(() => tasks.getTask("unknown")), -32602)
      })
    )

    it.live("The SDK client receives a tool's failure as its result, and an error as the same error", () =>
      Effect.gen(function* () {
        const { client } = yield* connect(yield* open)
        const { tasks } = client.experimental
        const failing = yield* started(client, "failing_job")
        const failed = yield* Effect.promise(() => tasks.getTaskResult(failing, CallToolResultSchema))
        assert.deepStrictEqual([failed.isError, failed.content], [true, [{ type: "text", text: "The job failed" }]])
        const { status, statusMessage } = yield* Effect.promise(() => tasks.getTask(failing))
        assert.deepStrictEqual([status, statusMessage], ["failed", "The job failed"])
        const broken = yield* started(client, "protocol_error_job")
        assert.strictEqual(yield* codeOf(() => tasks.getTaskResult(broken, CallToolResultSchema)), -32603)
      })
    )
  })
}
