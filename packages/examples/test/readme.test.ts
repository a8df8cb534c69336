/** The code of the README is the code of the examples, and the examples run. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer, Queue } from "effect"
import { FetchHttpClient } from "effect/http"
import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Add } from "../src/calculator.ts"

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8")
const readme = read("../../../README.md")
const blocks = [...readme.matchAll(/^```ts ?(\S*)\n([\s\S]*?)^```$/gm)].map(([, name = "", code = ""]) => ({
  name,
  code
}))

describe("the README", () => {
  it("shows code", () => {
    assert.isAtLeast(blocks.length, 3)
  })

  it.each(blocks)("shows $name as it is", ({ name, code }) => {
    assert.strictEqual(code, read(`../src/${name}`))
  })

  it("shows a client that works", { timeout: 30_000 }, () => {
    const client = fileURLToPath(new URL("../src/calculator-client.ts", import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [client], { encoding: "utf8" })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "1 + 2 = 3, over MCP 2026-07-28\n" }, stderr)
  })

  it.live("shows a server over HTTP that works, by a gateway too, and ends when it is told to", () =>
    Effect.gen(function* () {
      const file = fileURLToPath(new URL("../src/calculator-http.ts", import.meta.url))
      const said = yield* Queue.unbounded<string>()
      const ended = yield* Queue.unbounded<number | null>()
      const server = yield* Effect.acquireRelease(
        Effect.sync(() => spawn(process.execPath, [file], { env: { ...process.env, PORT: "0" } })),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      server.once("exit", (code) => Queue.offerUnsafe(ended, code))
      createInterface({ input: server.stdout }).on("line", (line) => Queue.offerUnsafe(said, line))
      const [place = ""] = /http:\S+/.exec(yield* Queue.take(said)) ?? []
      const add = Effect.flatMap(McpClient.McpClient, (client) => client.call(Add, { a: 1, b: 2 }))
      const client = Layer.provide(McpClient.layerHttp({ url: `${place}/mcp` }), FetchHttpClient.layer)
      assert.deepStrictEqual(yield* Effect.provide(add, client), { sum: 3 })
      const gateway = fileURLToPath(new URL("../src/gateway.ts", import.meta.url))
      const behind = Layer.provide(
        McpClient.layerStdio({ command: process.execPath, args: [gateway, `${place}/mcp`] }),
        NodeServices.layer
      )
      assert.deepStrictEqual(yield* Effect.provide(add, behind), { sum: 3 })
      server.kill("SIGTERM")
      assert.isNotNull(yield* Queue.take(ended), "it ends by itself, not by the signal")
    }).pipe(Effect.scoped)
  )

  it("names only files that are there", () => {
    for (const [, path = ""] of readme.matchAll(/\]\((packages\/[^)]+)\)/g)) {
      assert.doesNotThrow(() =>
        readFileSync(new URL(`../../../${path}${/\.\w+$/.test(path) ? "" : "/package.json"}`, import.meta.url))
      )
    }
  })
})
