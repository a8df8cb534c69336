/** The official SDK clients, without their tasks, finish a long tool by the tools that follow a task. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client as ClientV2 } from "@modelcontextprotocol/client"
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { clientInfo } from "../support/official.ts"
import { fileOf } from "../support/our-client.ts"

/** The time limit of the host. The tool takes longer: twenty steps of 300 milliseconds. */
const timeout = 5000
const steps = 20
const baked = Array.from({ length: steps }, (_, step) => `step ${step}`)

/** A host that only calls tools. */
interface Host {
  readonly names: () => Promise<ReadonlyArray<string>>
  readonly call: (name: string, args: { [name: string]: unknown }) => Promise<any>
  readonly kill: () => void
}

type Asks = "asks" | "mute"
type Open = (file: string, asks?: Asks) => Effect.Effect<Host, never, Scope.Scope>

const commandOf = (file: string) => ({
  command: process.execPath,
  args: [fileOf("../fixtures/long-tool-server.ts"), file],
  env: compileCache,
  stderr: "ignore" as const
})
const answer = { action: "accept" as const, content: { icing: "lemon" } }

/** Kills the server of a transport, whose SDK shows the process id. */
const killing = (transport: { readonly pid: number | null }) => () => {
  if (transport.pid !== null) process.kill(transport.pid, "SIGKILL")
}

const v1: Open = (file, asks = "mute") =>
  Effect.gen(function* () {
    const client = new ClientV1(clientInfo, { capabilities: asks === "asks" ? { elicitation: { form: {} } } : {} })
    if (asks === "asks") client.setRequestHandler(ElicitRequestSchema, () => answer)
    const transport = new StdioV1(commandOf(file))
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return {
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, args) => client.callTool({ name, arguments: args }, undefined, { timeout }),
      kill: killing(transport)
    }
  })

const v2 =
  (mode: "legacy" | { readonly pin: "2026-07-28" }): Open =>
  (file, asks = "mute") =>
    Effect.gen(function* () {
      const client = new ClientV2(clientInfo, {
        capabilities: asks === "asks" ? { elicitation: { form: {} } } : {},
        versionNegotiation: { mode }
      })
      if (asks === "asks") client.setRequestHandler("elicitation/create", () => answer)
      const transport = new StdioV2(commandOf(file))
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport)),
        () => Effect.promise(() => client.close())
      )
      // Without a handshake, the first request waits for the server to start.
      yield* Effect.promise(() => client.listTools())
      return {
        names: async () => (await client.listTools()).tools.map(({ name }) => name),
        call: (name, args) => client.callTool({ name, arguments: args }, { timeout }),
        kill: killing(transport)
      }
    })

const clients: ReadonlyArray<readonly [string, Open]> = [
  ["v1", v1],
  ["v2 in 2025-11-25", v2("legacy")],
  ["v2 in 2026-07-28", v2({ pin: "2026-07-28" })]
]

const file = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "effect-mcp-handles-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  ),
  (folder) => join(folder, "tasks.db")
)

/** Calls whatever a result asks for, until it asks for nothing. */
const follow = async (host: Host, result: any): Promise<any> => {
  let last = result
  for (let next = last.structuredContent?.next; next !== undefined; next = last.structuredContent?.next) {
    const content = last.structuredContent.questions === undefined ? undefined : { content: answer.content }
    last = await host.call(next.tool, { ...next.arguments, ...content })
  }
  return last
}

for (const [name, open] of clients) {
  describe(`The SDK ${name} as a host without tasks`, () => {
    it.live("A host with a limit of 5 seconds finishes a tool of 6 seconds", () =>
      Effect.gen(function* () {
        const host = yield* open(yield* file)
        const listed = yield* Effect.promise(host.names)
        assert.deepStrictEqual(listed, ["bake", "tasks_status", "tasks_result", "tasks_cancel", "tasks_answer"])
        const last = yield* Effect.promise(async () => follow(host, await host.call("bake", { steps })))
        assert.deepStrictEqual(last.structuredContent, { baked })
      })
    )

    it.live("A host finishes the tool in a new server after its server was killed", () =>
      Effect.gen(function* () {
        const where = yield* file
        const first = yield* open(where)
        const handle = yield* Effect.promise(() => first.call("bake", { steps }))
        assert.strictEqual(handle.structuredContent.status, "working")
        first.kill()
        const second = yield* open(where)
        const last = yield* Effect.promise(() => follow(second, handle))
        assert.deepStrictEqual(last.structuredContent, { baked })
      })
    )

    it.live("A host with elicitation is asked while its model waits", () =>
      Effect.gen(function* () {
        const host = yield* open(yield* file, "asks")
        assert.notInclude(yield* Effect.promise(host.names), "tasks_answer")
        const last = yield* Effect.promise(async () => follow(host, await host.call("bake", { steps: 3, ask: true })))
        assert.deepStrictEqual(last.structuredContent.baked.at(-1), "lemon")
      })
    )

    it.live("A model answers for its user if the host has no elicitation", () =>
      Effect.gen(function* () {
        const host = yield* open(yield* file)
        const last = yield* Effect.promise(async () => follow(host, await host.call("bake", { steps: 3, ask: true })))
        assert.deepStrictEqual(last.structuredContent.baked.at(-1), "lemon")
      })
    )
  })
}
