/** `effect-mcp dev`, as a process, with a host and a project whose files change. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Stdio from "@effect-mcp/client/Stdio"
import { isIgnored } from "@effect-mcp/cli/dev/ProjectFiles"
import * as Revision from "@effect-mcp/protocol/Revision"
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Queue, type Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { run, spawned } from "../../support/run.ts"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const main = path("../../../src/main.ts")
const changing = path("../../support/changing.ts")

/** A folder with the server's file and the list of its tools. */
const project = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-dev-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => {
    const save = (file: string, text: string) => Effect.sync(() => writeFileSync(join(folder, file), text))
    const tools = (...names: ReadonlyArray<string>) => save("tools.txt", names.join("\n"))
    writeFileSync(join(folder, "server.mjs"), `import ${JSON.stringify(`file://${changing}`)}\n`)
    return { folder, save, tools }
  }
)

/** Starts the command like a host. `said` waits for the next matching line of its stderr. */
const started = Effect.fnUntraced(function* (cwd: string, ...args: ReadonlyArray<string>) {
  const lines = yield* Queue.unbounded<string>()
  const transport = yield* Stdio.open({
    command: process.execPath,
    args: [main, "dev", ...args],
    env: { ...compileCache, NO_COLOR: "1" },
    cwd
  })
  yield* Effect.forkScoped(
    Stream.runForEach(transport.stderr, (line) => Queue.offer(lines, line)),
    { startImmediately: true }
  )
  const said = (text: string): Effect.Effect<string> =>
    Effect.flatMap(Queue.take(lines), (line) => (line.includes(text) ? Effect.succeed(line) : said(text)))
  return { transport, said }
})

/** Emits for each announcement of changed tools from now on. */
const announced = Effect.fnUntraced(function* (client: McpClient.McpClient["Service"]) {
  const queue = yield* Queue.unbounded<void>()
  const listening = Deferred.makeUnsafe<void>()
  if (client.revision.era === "stateful") {
    yield* Effect.forkScoped(
      Stream.runForEach(client.toolChanges, () => Queue.offer(queue, undefined)),
      { startImmediately: true }
    )
    return queue
  }
  yield* Effect.forkScoped(
    Stream.runForEach(client.raw.listen({ toolsListChanged: true }), (event) =>
      event._tag === "Listening" ? Deferred.succeed(listening, undefined) : Queue.offer(queue, undefined)
    )
  )
  yield* Deferred.await(listening)
  return queue
})

const namesOf = (client: McpClient.McpClient["Service"]) =>
  Effect.map(Stream.runCollect(client.listTools), (tools) => tools.map(({ name }) => name))

const live = <A, E>(body: Effect.Effect<A, E, Scope.Scope | NodeServices.NodeServices>) =>
  Effect.scoped(Effect.provide(body, NodeServices.layer))

describe.concurrent.each(Revision.all)("effect-mcp dev in front of a $version host", ({ version }) => {
  it.live("dev restarts the server when a file changes, and keeps the connection through a failed start", () =>
    live(
      Effect.gen(function* () {
        const { folder, tools } = yield* project
        yield* tools("add")
        const { said, transport } = yield* started(folder, "server.mjs")
        yield* said("Started: 1 tool")
        const client = yield* McpClient.connect(transport, { revisions: [version] })
        assert.deepStrictEqual(yield* namesOf(client), ["add"])
        const changes = yield* announced(client)

        yield* tools("add", "fall")
        yield* said("tools.txt has changed")
        yield* said("Restarted; the contract has changed:")
        yield* said(`  The tool "fall" is new`)
        yield* Queue.take(changes)
        assert.deepStrictEqual(yield* namesOf(client), ["add", "fall"])
        assert.deepStrictEqual(yield* Stream.runCollect(client.listPrompts), [])

        yield* tools("broken")
        yield* said("The server does not start. It will be restarted on the next change.")
        yield* said("exited with code 9")
        yield* said("fatal: out of luck")
        const refused = yield* Effect.flip(client.raw.request("tools/call", { name: "add", arguments: {} }))
        assert.match(refused.message, /The server does not start and .*exited with code 9[^]*fatal: out of luck/)

        yield* tools("fall")
        yield* said(`  The tool "add" was removed (breaking)`)
        yield* Queue.take(changes)
        assert.deepStrictEqual(yield* namesOf(client), ["fall"])
      })
    )
  )
})

describe.concurrent("effect-mcp dev", () => {
  it.live("dev shows a crashed server's last output and restarts it for the next request", () =>
    live(
      Effect.gen(function* () {
        const { folder, tools } = yield* project
        yield* tools("add", "fall")
        const { said, transport } = yield* started(folder, "--", process.execPath, changing)
        const client = yield* McpClient.connect(transport, { revisions: ["2025-11-25"] })
        const fallen = yield* Effect.flip(client.raw.request("tools/call", { name: "fall", arguments: {} }))
        assert.match(fallen.message, /exited with code 9/)
        yield* said("fatal: out of luck")
        yield* said("The server crashed: ")
        const again = yield* client.raw.request("tools/call", { name: "add", arguments: {} })
        assert.deepStrictEqual(again, { content: [{ type: "text", text: "add fall" }] })
      })
    )
  )

  it.live("dev queues requests for a starting server, and initialize for one that does not start", () =>
    live(
      Effect.gen(function* () {
        const { folder, tools } = yield* project
        yield* tools("broken")
        const { said, transport } = yield* started(folder, "server.mjs")
        yield* said("The server does not start")
        const connecting = yield* Effect.forkScoped(McpClient.connect(transport, { revisions: ["2025-11-25"] }))
        yield* tools("add")
        const client = yield* Fiber.join(connecting)
        assert.deepStrictEqual(yield* namesOf(client), ["add"])
      })
    )
  )

  it.live("dev ignores dependencies and output, and watches only --watch if given", () =>
    live(
      Effect.gen(function* () {
        const { folder, save, tools } = yield* project
        yield* tools("add")
        for (const name of ["src", "other"]) mkdirSync(join(folder, name))
        const { said, transport } = yield* started(folder, "server.mjs", "--watch", "src", "--watch", "tools.txt")
        yield* McpClient.connect(transport, { revisions: ["2025-11-25"] })
        yield* said("Started: ")
        for (const name of ["dist", "node_modules"]) mkdirSync(join(folder, "src", name))
        for (const file of ["src/dist/a.js", "src/node_modules/a.js", "other/a.js", ".env", "src/a.ts"]) {
          yield* save(file, "changed")
        }
        assert.strictEqual(yield* said("has changed"), `${join("src", "a.ts")} has changed`)
        yield* said("Restarted; the contract has not changed")
      })
    )
  )

  it.live("dev serves over HTTP and prints the URL", () =>
    live(
      Effect.gen(function* () {
        const { folder, tools } = yield* project
        yield* tools("add")
        const { said } = yield* started(folder, "server.mjs", "--http", "--port", "0")
        const [url = ""] = /http:\S+/.exec(yield* said("Serving node server.mjs at ")) ?? []
        const client = yield* Effect.map(
          Layer.build(Layer.provide(McpClient.layerHttp({ url }), FetchHttpClient.layer)),
          Context.get(McpClient.McpClient)
        )
        assert.deepStrictEqual(yield* namesOf(client), ["add"])
        yield* tools("sub")
        yield* said(`  The tool "sub" is new`)
        assert.deepStrictEqual(yield* namesOf(client), ["sub"])
      })
    )
  )

  it.live("dev exits with its stdin, even while a server starts", () =>
    live(
      Effect.gen(function* () {
        const { folder, tools } = yield* project
        yield* tools("add")
        const ended = yield* spawned(process.execPath, [main, "dev", "--cwd", folder, `${folder}/server.mjs`], "end")
        assert.strictEqual(ended.code, 0, ended.stderr)
      })
    )
  )

  it("dev ignores dot folders, dependencies, output, logs and databases", () => {
    for (const ignored of [
      "node_modules/a/index.js",
      "src/.cache/a.ts",
      "dist/index.js",
      "server.log",
      "data.db",
      "data.sqlite3-journal",
      "src/.a.ts.swp",
      "a.ts~"
    ]) {
      assert.isTrue(isIgnored(ignored.split("/")), ignored)
    }
    for (const watched of ["src/a.ts", ".env", ".env.local", "package.json", "src/dist.ts", "prompts/hello.md"]) {
      assert.isFalse(isIgnored(watched.split("/")), watched)
    }
  })

  it.live("dev accepts only a single server that it can start", () =>
    Effect.gen(function* () {
      for (const [argv, reason] of [
        [["dev"], /No server/],
        [
          ["dev", "server.ts", "--", "node", "server.ts"],
          /dev needs only one of server\.ts, a command after --, or --config/
        ],
        [["dev", "--", "https://example.com/mcp"], /use effect-mcp proxy/],
        [["dev", "--http", "--", "x"], /--http and --port belong together/]
      ] as const) {
        const wrong = yield* run(argv)
        assert.deepInclude(wrong, { code: 2, stdout: "" })
        assert.match(wrong.stderr, reason)
      }
    })
  )
})
