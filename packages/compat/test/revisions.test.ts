/** Clients of effect-mcp call a program on the shim in each revision, and a client of the shim calls a server of effect-mcp. */
import * as McpClient from "@effect-mcp/client/McpClient"
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import * as shim from "@effect-mcp/compat/server"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import { McpServer } from "@effect-mcp/promise"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Http from "@effect-mcp/client/Http"
import { programs } from "./support/programs.ts"
import { opened } from "../src/server/messages.ts"

const sdk = { ...shim, serveStdio: undefined as never, StdioServerTransport: undefined as never }
const versions = Revision.all.map(({ version }) => version)

const user = Layer.merge(
  Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }),
  Sampling.layer(() => Effect.succeed({ role: "assistant", content: { type: "text", text: "Hello" }, model: "canned" }))
)

/** A client over the SDK's in-memory transport. */
const inMemory = (program: string, version: Revision.Version) =>
  Effect.gen(function* () {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const era = version === "2026-07-28" ? "modern" : "legacy"
    const server = programs[program]?.(sdk)({ era })
    yield* Effect.promise(async () => server?.connect(far))
    return yield* McpClient.connect((yield* opened(near, "server")).core, { revisions: [version] })
  }).pipe(Effect.provide(user))

/** A client over `createMcpHandler`, without a socket. */
const overHttp = (program: string, version: Revision.Version) =>
  Effect.suspend(() => {
    const factory = programs[program]?.(sdk)
    if (factory === undefined) throw new Error(`There is no program ${program}`)
    const { fetch } = shim.createMcpHandler(factory, { legacy: "sessions" })
    return McpClient.open(Http.open({ url: "http://localhost/mcp", transport: "streamable" }), {
      revisions: [version]
    }).pipe(
      Effect.provide([user, FetchHttpClient.layer]),
      Effect.provideService(FetchHttpClient.Fetch, async (input, init) => fetch(new Request(input, init)))
    )
  })

const connects = { inMemory, overHttp }

const settings = versions.flatMap((version) =>
  (["inMemory", "overHttp"] as const).map((connection) => ({ version, connection }))
)

describe("Compatibility layer servers", () => {
  it.live.each(settings)("A client calls the server's tools in $version, $connection", ({ connection, version }) =>
    Effect.gen(function* () {
      const client = yield* connects[connection]("tools", version)
      assert.strictEqual(client.revision.version, version)
      const tools = yield* Stream.runCollect(client.listTools)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["add", "era", "fails", "throws", "unfit", "parts"]
      )
      const { content } = yield* client.callToolByName("add", { a: 1 })
      assert.deepStrictEqual(content, [{ type: "text", text: "3" }])
      const { isError } = yield* client.callToolByName("throws")
      assert.isTrue(isError)
    }).pipe(Effect.scoped)
  )

  it.live.each(settings)(
    "A client reads the server's resources and completes its prompts in $version, $connection",
    ({ connection, version }) =>
      Effect.gen(function* () {
        const resources = yield* connects[connection]("resources", version)
        assert.strictEqual(yield* resources.readResourceText("greeting://ada/and/more"), "Hello, ada (and/more)")
        const prompts = yield* connects[connection]("prompts", version)
        const { messages } = yield* prompts.getPromptByName("review", { language: "go" })
        assert.lengthOf(messages, 1)
        const completed = yield* prompts.complete({
          ref: { type: "ref/prompt", name: "review" },
          argument: { name: "language", value: "java" }
        })
        assert.deepStrictEqual(completed.values, ["java", "javascript"])
      }).pipe(Effect.scoped)
  )

  it.live.each(settings.filter(({ version }) => version >= "2025-06-18"))(
    "A server asks its client in $version, $connection",
    ({ connection, version }) =>
      Effect.gen(function* () {
        const client = yield* connects[connection]("questions", version)
        const texts = []
        for (const name of ["greet", "rounds", "summarize"]) {
          const { content } = yield* client.callToolByName(name)
          texts.push(JSON.stringify(content))
        }
        assert.include(texts[0], "accept Ada")
        assert.include(texts[1], "Ada")
        assert.include(texts[2], "canned")
      }).pipe(Effect.scoped)
  )
})

describe("Compatibility layer clients", () => {
  it.each(["legacy", "auto"] as const)(
    "A client calls an effect-mcp server and answers it, with negotiation %s",
    async (mode) => {
      const server = new McpServer({ name: "asks", version: "1.0.0" })
      server.tool("ask", { description: "Asks" }, async (_, { ask }) => {
        await ask("Sure?")
        return "Sure"
      })
      const handler = server.toFetch()
      const client = new Client(
        { name: "tester", version: "1.0.0" },
        { capabilities: { elicitation: {} }, versionNegotiation: { mode } }
      )
      client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }))
      const { StreamableHTTPClientTransport } = await import("@effect-mcp/compat/client")
      const fetch = async (input: string | URL, init?: RequestInit) => handler(new Request(input, init))
      await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch }))
      const { content } = await client.callTool({ name: "ask" })
      assert.deepStrictEqual(content, [{ type: "text", text: "Sure" }])
      await client.close()
      await server.close()
    }
  )
})
