/**
 * Code of pages and of AGENTS.md: servers are opened, tests and programs run. `docstrings.test.ts` compiles it and runs modules.
 */
import { McpClient } from "@effect-mcp/client"
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue } from "effect"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { type Block, blocks, type Kind, root, write } from "../../support/pages.ts"

const directory = join(root, "packages/examples/.pages")
const of = (kind: Kind) => blocks.filter((block) => block.kind === kind)
const fileOf = ({ file }: Block): string => join(directory, file)
const env = { ...process.env, ...compileCache, PORT: "0", NO_COLOR: "1" }

/** The body of a request that opens a session, as any client sends it. */
const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "docs", version: "1.0.0" } }
})

const opened = Effect.fnUntraced(function* (block: Block) {
  const said = yield* Queue.unbounded<string>()
  const ended = yield* Queue.unbounded<number | null>()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [fileOf(block)], { env, cwd: join(fileOf(block), "..") })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  server.once("exit", (code) => {
    Queue.offerUnsafe(said, "")
    Queue.offerUnsafe(ended, code)
  })
  let errors = ""
  server.stderr.on("data", (data) => (errors += data))
  createInterface({ input: server.stdout }).on("line", (line) => Queue.offerUnsafe(said, line))
  const line = yield* Queue.take(said)
  const [, port] = /port: (\d+)/.exec(line) ?? /https?:\/\/[^\s:]+:(\d+)/.exec(line) ?? []
  assert.isDefined(port, `It says no port: ${line}${errors}`)
  return { url: `http://127.0.0.1:${port}/mcp`, terminate: () => server.kill("SIGTERM"), ended: Queue.take(ended) }
})

describe("Page code", () => {
  beforeAll(() => {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    write(directory)
    return () => rmSync(directory, { recursive: true, force: true })
  })

  it("Each block has a file, including servers, modules and tests", () => {
    assert.strictEqual(new Set(blocks.map(({ file }) => file)).size, blocks.length)
    for (const kind of ["stdio", "http", "test", "module"] as const) assert.isNotEmpty(of(kind), kind)
  })

  it.live.each(of("stdio"))("The code in $place is a stdio server", (block) =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      assert.isDefined(client.revision)
    }).pipe(
      Effect.provide(
        McpClient.layerStdio({ command: process.execPath, args: [fileOf(block)], env: compileCache }).pipe(
          Layer.provide(NodeServices.layer)
        )
      )
    )
  )

  it.live.each(of("http"))("The code in $place is an HTTP server that exits on SIGTERM", (block) =>
    Effect.gen(function* () {
      const { ended, terminate, url } = yield* opened(block)
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
      const { status } = yield* Effect.promise(async () => {
        const response = await fetch(url, { method: "POST", headers, body: initialize })
        await response.body?.cancel()
        return response
      })
      // A protected server asks for a token.
      assert.include([200, 401], status)
      terminate()
      yield* ended
    }).pipe(Effect.scoped)
  )

  it.each(of("program"))("The code in $place prints the output shown on the page", (block) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [fileOf(block)], { encoding: "utf8", env })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: block.output }, stderr)
  })

  it("The tests in page code pass", () => {
    const tests = of("test").map(({ file }) => file)
    const config = join(directory, "vitest.config.ts")
    writeFileSync(
      config,
      `export default { test: { include: ${JSON.stringify(tests)}, isolate: false, cache: false } }\n`
    )
    const vitest = join(root, "node_modules/vitest/vitest.mjs")
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [vitest, "run", "--root", directory, "--config", config],
      {
        encoding: "utf8",
        env: { ...env, VITEST: undefined, VITEST_WORKER_ID: undefined, VITEST_POOL_ID: undefined, NODE_ENV: undefined }
      }
    )
    assert.strictEqual(status, 0, `${stdout}${stderr}`)
    assert.include(stdout, `Test Files  ${tests.length} passed`)
  })
})
