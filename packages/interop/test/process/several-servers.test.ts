/** Several servers in separate processes: the protocol project's reference server, and ours over stdio and HTTP. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import * as McpClients from "@effect-mcp/client/McpClients"
import * as Stdio from "@effect-mcp/client/Stdio"
import { Tool, Tools } from "@effect-mcp/core"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Revision from "@effect-mcp/protocol/Revision"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { serve } from "@effect-mcp/interop/reference/node"
import { bin } from "../support/bin.ts"
import { start } from "../support/http-server.ts"
import { textOf } from "../support/our-client.ts"
import { serverFile } from "../support/official.ts"

const services = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)
const retry = { delay: "50 millis", maxDelay: "200 millis" } as const

/** Waits until the server is in this state. */
const until = <Name extends string>(
  { states }: McpClients.Clients<Name>,
  server: NoInfer<Name>,
  tag: McpClients.ServerState["_tag"]
) =>
  states.pipe(
    Stream.filter((event) => event.server === server && event.state._tag === tag),
    Stream.runHead
  )

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const countOf = (tools: Effect.Success<McpClients.MergedClients["listTools"]>, of: string) =>
  tools.filter(({ server }) => server === of).length

describe.each(Revision.all)("Several server processes, ours with $version", ({ version }) => {
  it.live("All processes share one list, a killed server returns as a new process, and all exit at the end", () => {
    const pids: Array<number> = []
    return Effect.gen(function* () {
      const ours = McpClients.server({
        connector: Effect.tap(
          Stdio.open({
            command: process.execPath,
            args: [serverFile, "--stdio", "--revision", version],
            env: compileCache
          }),
          ({ pid }) => Effect.sync(() => void pids.push(pid))
        ),
        client: { probeTimeout: "20 seconds" }
      })
      const theirs = McpClients.stdio({
        command: process.execPath,
        args: [bin, "stdio"],
        env: compileCache,
        exitTimeout: "100 millis"
      })
      const context = yield* Layer.build(McpClients.layer({ ours, theirs }, { retry, patience: "1 minute" }))
      const clients = yield* Effect.provideContext(McpClients.McpClients, context)
      const tools = yield* clients.listTools
      assert.isAbove(countOf(tools, "ours"), 5)
      assert.isAbove(countOf(tools, "theirs"), 5)
      assert.strictEqual(textOf(yield* clients.callToolByName("theirs_echo", { message: "hi" })), "Echo: hi")
      const simple = yield* clients.callToolByName("ours_test_simple_text")
      assert.include(textOf(simple), "text")

      const [pid = 0] = pids
      const gone = yield* Effect.forkChild(until(clients, "ours", "Connecting"), { startImmediately: true })
      process.kill(pid, "SIGKILL")
      yield* Fiber.join(gone)
      yield* until(clients, "ours", "Connected")
      assert.deepEqual(textOf(yield* clients.callToolByName("ours_test_simple_text")), textOf(simple))
      assert.lengthOf(pids, 2)
      assert.strictEqual(countOf(yield* clients.listTools, "ours"), countOf(tools, "ours"))
    }).pipe(
      Effect.scoped,
      Effect.provide(services),
      Effect.map(() => assert.deepStrictEqual(pids.filter(isAlive), []))
    )
  })

  it.live("A URL stays in the list when its process is replaced on the same port", () =>
    Effect.gen(function* () {
      const flags = ["--revision", version]
      const first = yield* start([serverFile, "--http", "--port", "0", ...flags])
      const { port } = new URL(first.url)
      const clients = yield* McpClients.make(
        { here: McpClients.http({ url: first.url, client: { probeTimeout: "20 seconds" } }) },
        { retry, patience: "1 minute" }
      )
      const tools = yield* clients.listTools
      assert.isAbove(tools.length, 5)
      yield* first.terminate
      const error = yield* Effect.flip(clients.callToolByName("here_test_simple_text"))
      assert.include(["Closed", "Unavailable"], error._tag)
      yield* until(clients, "here", "Down")
      assert.deepStrictEqual(yield* clients.listTools, [])
      yield* start([serverFile, "--http", "--port", port, ...flags])
      yield* until(clients, "here", "Connected")
      assert.lengthOf(yield* clients.listTools, tools.length)
      assert.include(textOf(yield* clients.callToolByName("here_test_simple_text")), "text")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("Several servers with separate credentials", () => {
  /** A server at a URL that only answers requests with this key. */
  const guarded = (title: string, key: string) =>
    Effect.map(
      serve(
        McpServer.layer({
          name: title,
          version: "1",
          features: Tools.layer(Tool.make("name", { description: "" }), () => Effect.succeed(title))
        }),
        { path: "/mcp" },
        0,
        (listener) => (request, response) => {
          if (request.headers.authorization === `Bearer ${key}`) return listener(request, response)
          response.writeHead(401).end()
        }
      ),
      (port) => `http://127.0.0.1:${port}/mcp`
    )
  /** An HttpClient that adds a key to every request. */
  const withKey = (key: string) =>
    Layer.effect(
      HttpClient.HttpClient,
      Effect.map(
        HttpClient.HttpClient,
        HttpClient.mapRequest(HttpClientRequest.setHeader("authorization", `Bearer ${key}`))
      )
    )

  it.live("Each server gets its own credentials, and one with wrong credentials is down until retried", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* guarded("one", "first"), yield* guarded("two", "second")]
      let key = "wrong"
      const late = Layer.suspend(() => withKey(key))
      const clients = yield* McpClients.make(
        {
          one: McpClients.http({ url: one, services: withKey("first") }),
          two: McpClients.http({ url: two, services: withKey("second") }),
          wrong: McpClients.http({ url: two, services: Layer.fresh(late) })
        },
        { retry, patience: "1 minute" }
      )
      const names = Effect.map(clients.listTools, (tools) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* names, ["one_name", "two_name"])
      assert.strictEqual(textOf(yield* clients.callToolByName("one_name")), "one")
      assert.strictEqual(textOf(yield* clients.callToolByName("two_name")), "two")
      assert.deepInclude(clients.state("wrong"), { _tag: "Down", retries: false, tries: 1 })
      key = "second"
      assert.strictEqual((yield* clients.retry("wrong"))._tag, "Connected")
      assert.deepStrictEqual(yield* names, ["one_name", "two_name", "wrong_name"])
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})

describe("Servers from a configuration file", () => {
  it.live("Configured servers share one list, with environment variables and without disabled servers", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      const served = yield* start([serverFile, "--http", "--port", "0"])
      const mcpServers = {
        everything: { command: "${NODE}", args: [bin, "stdio"], env: compileCache },
        ours: { type: "http", url: "${BASE:-http://127.0.0.1:1}/mcp" },
        off: { command: "no-such-program", disabled: true }
      }
      yield* files.writeFileString(`${folder}/mcp.json`, JSON.stringify({ mcpServers }))
      const variables = { NODE: process.execPath, BASE: new URL(served.url).origin }
      const context = yield* Layer.build(
        McpClients.layerFile(`${folder}/mcp.json`, {
          variables,
          patience: "1 minute",
          names: (name, server) => `${server}.${name}`
        })
      )
      const clients = yield* Effect.provideContext(McpClients.McpClients, context)
      assert.deepStrictEqual(clients.names, ["everything", "ours"])
      const tools = yield* clients.listTools
      assert.isAbove(countOf(tools, "everything"), 5)
      assert.isAbove(countOf(tools, "ours"), 5)
      assert.strictEqual(textOf(yield* clients.callToolByName("everything.echo", { message: "hi" })), "Echo: hi")
    }).pipe(Effect.scoped, Effect.provide(services))
  )
})
