/** The official clients drive the workspace example: a real server for the files of a folder, in a separate process. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { Effect, Exit, Scope } from "effect"
import { start } from "../support/http-server.ts"
import { connect as modern } from "../support/modern-sdk-v2.ts"
import type { Connector, Notification } from "../support/official.ts"
import { connector as v1, httpConnector as v1Http, sseConnector as v1Sse } from "../support/sdk-v1.ts"
import { connector as v2, httpConnector as v2Http } from "../support/sdk-v2.ts"

const program = fileURLToPath(new URL("../../../examples/src/workspace/server.ts", import.meta.url))

/** Starts the program as a server over HTTP for the lifetime of the client. */
const served =
  (flag: "--http" | "--sse", connect: (url: string) => Connector): Connector =>
  async (host) => {
    const scope = Scope.makeUnsafe()
    const { url } = await Effect.runPromise(Scope.provide(start([...host.args, flag, "--port", "0"]), scope))
    const client = await connect(url)(host)
    return {
      ...client,
      close: async () => {
        await client.close()
        await Effect.runPromise(Scope.close(scope, Exit.void))
      }
    }
  }

const clients: ReadonlyArray<readonly [string, Connector]> = [
  ["v1 over stdio", v1],
  ["v2 over stdio", v2],
  ["v1 over HTTP", served("--http", v1Http)],
  ["v2 over HTTP", served("--http", v2Http)],
  ["v1 over HTTP with SSE", served("--sse", v1Sse)]
]

describe.each(clients)("The official SDK %s as a workspace client in 2025-11-25", (_name, connect) => {
  it("The SDK client searches, reads, watches, completes, summarizes and renames", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "workspace-")))
    const uri = (name: string): string => pathToFileURL(join(folder, name)).href
    for (const name of ["a.md", "b.md", "c.md"]) writeFileSync(join(folder, name), `hello from ${name}\n`)
    const asked: Array<string> = []
    let updated: () => void = () => {}
    const update = new Promise<void>((done) => {
      updated = done
    })
    const client = await connect({
      args: [program, folder],
      notify: ({ method }: Notification) => {
        if (method === "notifications/resources/updated") updated()
      },
      answer: async (method: string): Promise<any> => {
        asked.push(method)
        if (method === "roots/list") return { roots: [{ uri: pathToFileURL(folder).href }] }
        if (method === "elicitation/create") return { action: "accept", content: {} }
        return { role: "assistant", model: "test", content: { type: "text", text: "In short: hello." } }
      }
    })
    try {
      // Progress is not checked: these clients lose progress that arrives in one chunk with the answer, as it does for three small files.
      const found = await client.callTool("search", { query: "hello" })
      assert.strictEqual(found.structuredContent.matches.length, 3)

      const { resources } = await client.listResources()
      assert.sameMembers(
        resources.map((resource: { uri: string }) => resource.uri),
        ["a.md", "b.md", "c.md"].map(uri)
      )
      assert.strictEqual((await client.readResource({ uri: uri("a.md") })).contents[0].text, "hello from a.md\n")

      await client.subscribeResource({ uri: uri("a.md") })
      // Written until it is seen, because the watcher of the folder may still be starting.
      let version = 0
      const writing = setInterval(() => writeFileSync(join(folder, "a.md"), `version ${++version}\n`), 50)
      await update.finally(() => clearInterval(writing))

      const completed = await client.complete({
        ref: { type: "ref/prompt", name: "review" },
        argument: { name: "path", value: "b" }
      })
      assert.include(completed.completion.values, "b.md")
      const prompt = await client.getPrompt({ name: "review", arguments: { path: "b.md" } })
      assert.include(JSON.stringify(prompt.messages), "hello from b.md")

      const summary = await client.callTool("summarize", { path: "b.md" })
      assert.include(JSON.stringify(summary), "In short: hello.")
      const renamed = await client.callTool("rename", { from: "c.md", to: "d.md" })
      assert.isNotTrue(renamed.isError)
      assert.isTrue(existsSync(join(folder, "d.md")) && !existsSync(join(folder, "c.md")))
      const outside = await client.callTool("summarize", { path: "../secret" })
      assert.isTrue(outside.isError)
      assert.includeMembers(asked, ["roots/list", "sampling/createMessage", "elicitation/create"])
    } finally {
      await client.close()
      rmSync(folder, { recursive: true })
    }
  })
})

describe("The workspace over HTTP", () => {
  it.live(
    "The workspace serves the official SDK v2 in 2026-07-28 alongside an HTTP with SSE client",
    () =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "workspace-")))),
          (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
        )
        writeFileSync(join(folder, "a.md"), "hello\n")
        const { terminate, url } = yield* start([program, folder, "--http", "--sse", "--port", "0"])
        const { answers, client } = yield* modern({ url })
        answers.set("roots/list", () => ({ roots: [{ uri: pathToFileURL(folder).href }] }))
        answers.set("elicitation/create", () => ({ action: "accept", content: {} }))
        const renamed = yield* Effect.promise(() =>
          client.callTool({ name: "rename", arguments: { from: "a.md", to: "b.md" } })
        )
        assert.isNotTrue(renamed.isError)
        assert.isTrue(existsSync(join(folder, "b.md")))

        const older = new Client({ name: "older", version: "1" })
        yield* Effect.promise(() => older.connect(new SSEClientTransport(new URL("/sse", url))))
        const found = yield* Effect.promise(() => older.callTool({ name: "search", arguments: { query: "hello" } }))
        assert.include(JSON.stringify(found), "b.md")

        // Open streams do not delay it.
        yield* Effect.timeout(terminate, "60 seconds")
        yield* Effect.promise(() => older.close())
      }),
    verifies("http.compatibility.server-hosts-both")
  )
})
