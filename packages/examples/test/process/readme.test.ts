/** The servers and clients in READMEs run; `docs.test.ts` compares their code with these files. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer, Queue } from "effect"
import { FetchHttpClient } from "effect/http"
import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Add } from "../../src/calculator.ts"

/** Starts a server over HTTP at any port in the scope, and returns its output and its exit. */
const start = Effect.fnUntraced(function* (name: string) {
  const file = fileURLToPath(new URL(`../../src/${name}`, import.meta.url))
  const said = yield* Queue.unbounded<string>()
  const ended = yield* Queue.unbounded<number | null>()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [file], { env: { ...process.env, PORT: "0" } })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  server.once("exit", (code) => Queue.offerUnsafe(ended, code))
  createInterface({ input: server.stdout }).on("line", (line) => Queue.offerUnsafe(said, line))
  return { said: yield* Queue.take(said), terminate: () => server.kill("SIGTERM"), ended: Queue.take(ended) }
})

const add = Effect.flatMap(McpClient.McpClient, (client) => client.callTool(Add, { a: 1, b: 2 }))
const clientOf = (place: string) => Layer.provide(McpClient.layerHttp({ url: `${place}/mcp` }), FetchHttpClient.layer)

describe("README", () => {
  it("The README's client works", () => {
    const client = fileURLToPath(new URL("../../src/calculator-client.ts", import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [client], { encoding: "utf8" })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "1 + 2 = 3, over MCP 2026-07-28\n" }, stderr)
  })

  it.live("The README's HTTP server works, even behind a gateway, and exits on SIGTERM", () =>
    Effect.gen(function* () {
      const { ended, said, terminate } = yield* start("calculator-http.ts")
      const [place = ""] = /http:\S+/.exec(said) ?? []
      assert.deepStrictEqual(yield* Effect.provide(add, clientOf(place)), { sum: 3 })
      const gateway = fileURLToPath(new URL("../../src/gateway.ts", import.meta.url))
      const behind = Layer.provide(
        McpClient.layerStdio({ command: process.execPath, args: [gateway, `${place}/mcp`], env: compileCache }),
        NodeServices.layer
      )
      assert.deepStrictEqual(yield* Effect.provide(add, behind), { sum: 3 })
      terminate()
      assert.isNotNull(yield* ended, "it ends by itself, not by the signal")
    }).pipe(Effect.scoped)
  )

  it.live("The README's node:http listener works and exits on SIGTERM", () =>
    Effect.gen(function* () {
      const { ended, said, terminate } = yield* start("calculator-node.ts")
      const [, port] = /port: (\d+)/.exec(said) ?? []
      assert.deepStrictEqual(yield* Effect.provide(add, clientOf(`http://127.0.0.1:${port}`)), { sum: 3 })
      terminate()
      assert.strictEqual(yield* ended, 0)
    }).pipe(Effect.scoped)
  )
})
