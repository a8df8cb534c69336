/** The official package ext-tasks as requester drives tasks of both generations of the reference server. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import {
  createTaskSessionFromClient,
  type JsonRpcResponse,
  type RawClientDispatch,
  type TaskEnabledSession,
  toolDeclarationFromMcpTool
} from "@modelcontextprotocol/ext-tasks/client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { ways } from "../support/http-server.ts"
import { serverFile } from "../support/official.ts"
import { overHttpTo } from "../support/proxy.ts"

const clientInfo = { name: "ext-tasks", version: "1.0.0" }
const capabilities = { elicitation: { form: {} } }
const modern = "2026-07-28"

interface Opened {
  readonly session: TaskEnabledSession
  /** The questions that it was asked. */
  readonly asked: ReadonlyArray<any>
}

/** Sends a request of the stateless revision directly, because the SDK's codecs reject tasks. */
const dispatchTo = (url: string): RawClientDispatch => {
  let lastId = 0
  return async (request): Promise<JsonRpcResponse> => {
    const { method, params }: any = request
    const name: unknown = params.name ?? params.taskId
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": modern,
        "mcp-method": method,
        ...(typeof name === "string" && { "mcp-name": name })
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params })
    })
    const text = await response.text()
    const events = text.match(/^data: (\{.*)$/gm)?.map((line) => JSON.parse(line.slice("data: ".length)))
    const { error, result } = events?.at(-1) ?? JSON.parse(text)
    return error === undefined ? { kind: "result", result } : { kind: "error", error }
  }
}

const open = Effect.fnUntraced(function* (
  transport: Transport,
  rawDispatch?: RawClientDispatch
): Effect.fn.Return<Opened, never, Scope.Scope> {
  const isModern = rawDispatch !== undefined
  const asked: Array<any> = []
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: isModern ? { pin: modern } : "legacy" }
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => client.connect(transport)),
    () => Effect.promise(() => client.close())
  )
  const { tools } = yield* Effect.promise(() => client.listTools())
  const session = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createTaskSessionFromClient(client, {
        endpointId: "reference",
        tools: {
          currentTool: (name) => {
            const tool = tools.find((tool) => tool.name === name)
            return tool && toolDeclarationFromMcpTool(tool)
          }
        },
        onInputRequest: async (request): Promise<any> => {
          asked.push(request)
          return { action: "accept", content: { confirm: true } }
        },
        ...(isModern && {
          rawDispatch,
          v2RequestFraming: { protocolVersion: modern, clientInfo, clientCapabilities: capabilities }
        })
      })
    ),
    (session) => Effect.promise(() => session.close())
  )
  return { session, asked }
})

const stdio = Effect.suspend(() =>
  open(
    new StdioClientTransport({
      command: process.execPath,
      args: [serverFile, "--stdio"],
      env: compileCache,
      stderr: "ignore"
    })
  )
)

const proxies = ["2025-11-25", modern].map(
  (revision) => [`Streamable HTTP through a proxy before ${revision}`, overHttpTo(revision)] as const
)

const generations: ReadonlyArray<
  readonly ["2025-11-25" | typeof modern, string, Effect.Effect<Opened, never, Scope.Scope>]
> = [
  ["2025-11-25", "stdio", stdio],
  ...[...ways, ...proxies].flatMap(([name, serve]) => [
    [
      "2025-11-25",
      name,
      Effect.flatMap(serve, ({ url }) => open(new StreamableHTTPClientTransport(new URL(url))))
    ] as const,
    [
      modern,
      name,
      Effect.flatMap(serve, ({ url }) => open(new StreamableHTTPClientTransport(new URL(url)), dispatchTo(url)))
    ] as const
  ])
]

const call = (session: TaskEnabledSession, name: string, args: { readonly [name: string]: string | number } = {}) =>
  Effect.promise(() => session.callTool<any>(name, args, { task: { preference: "prefer" } }))

for (const [version, over, opened] of generations) {
  describe(`ext-tasks in ${version} over ${over}`, () => {
    it.live("The ext-tasks client follows a call to its result", () =>
      Effect.gen(function* () {
        const { session } = yield* opened
        const execution = yield* call(session, "slow_compute", { seconds: 0.3, label: "pi" })
        assert.strictEqual(execution.kind, "task")
        const { outcome } = yield* Effect.promise(() => execution.settle())
        assert.strictEqual(outcome.status, "completed")
        if (outcome.status !== "completed") return
        assert.strictEqual(outcome.result.content[0].text, "Computed pi in 0.3 seconds")
      })
    )

    it.live("The ext-tasks client answers a task's question", () =>
      Effect.gen(function* () {
        const { asked, session } = yield* opened
        const settled = Effect.gen(function* () {
          const execution = yield* call(session, "confirm_delete", { filename: "a.txt" })
          return (yield* Effect.promise(() => execution.settle())).outcome
        })
        // Over stdio this requester rejects a question that it reads in one chunk with the task, whose id it has not recorded yet.
        const outcome = yield* Effect.repeat(settled, {
          until: ({ status }) => status === "completed" || over !== "stdio",
          times: 4
        })
        assert.strictEqual(outcome.status === "completed" && outcome.result.content[0].text, "Deleted a.txt")
        assert.deepStrictEqual(
          asked.map(({ kind, params }) => [kind, params.message]),
          [["elicitation", "Delete a.txt?"]]
        )
      })
    )

    it.live("The ext-tasks client cancels a task", () =>
      Effect.gen(function* () {
        const { session } = yield* opened
        const execution = yield* call(session, "slow_compute", { seconds: 60 })
        const result = execution.result()
        yield* Effect.promise(() => execution.cancel())
        assert.strictEqual((yield* Effect.promise(() => result)).status, "cancelled")
      })
    )

    it.live("The ext-tasks client receives a tool's failure and an error", () =>
      Effect.gen(function* () {
        const { session } = yield* opened
        const failing = yield* call(session, "failing_job")
        const { outcome } = yield* Effect.promise(() => failing.settle())
        // A tool that reports a failure has failed in one generation and completed in the other.
        if (outcome.status === "failed") assert.strictEqual(outcome.error.message, "The job failed")
        else assert.strictEqual(outcome.status === "completed" && outcome.result.isError, true)
        assert.strictEqual(outcome.status, version === modern ? "completed" : "failed")
        const broken = yield* call(session, "protocol_error_job")
        const { outcome: error } = yield* Effect.promise(() => broken.settle())
        assert.strictEqual(error.status === "failed" && error.error.message, "The job broke")
      })
    )

    it.live("The ext-tasks client lists tasks if the server knows its caller and the revision has lists", () =>
      Effect.gen(function* () {
        const { session } = yield* opened
        const isListed = version === "2025-11-25" && over === "stdio"
        assert.strictEqual(session.capabilities.inventory === "server-list", isListed)
        assert.isTrue(session.capabilities.execution)
        assert.isTrue(session.capabilities.cancellation)
        if (!isListed) return
        const { handle } = yield* call(session, "slow_compute", { seconds: 60 })
        const { tasks } = yield* Effect.promise(() => session.listTasks())
        assert.deepStrictEqual(
          tasks.map(({ status, taskId }) => [status, taskId]),
          [["working", handle?.taskId]]
        )
      })
    )
  })
}
