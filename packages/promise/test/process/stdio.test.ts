/** Promise servers and clients over stdio, also with the official SDKs on the other side. */
import { McpClient, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { text } from "node:stream/consumers"
import { all, rejection, revisions, textOf } from "../support/revisions.ts"
import { sdks } from "../support/sdks.ts"

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const server = fileOf("../fixtures/stdio-server.ts")
const target = { command: process.execPath, args: [server] }

const ended = (child: ChildProcess) =>
  new Promise<{ readonly signal: NodeJS.Signals | null }>((resolve) =>
    child.once("exit", (_, signal) => resolve({ signal }))
  )

/** Starts a server, calls a tool, and sends SIGTERM once the tool runs. */
const stopped = async (name: string, ...args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [server, ...args], { stdio: "pipe" })
  const stderr = text(child.stderr)
  const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const clientInfo = { name: "raw", version: "1" }
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } })
  send({ method: "notifications/initialized" })
  send({ id: 2, method: "tools/call", params: { name, arguments: {}, _meta: { progressToken: 1 } } })
  const chunks: AsyncIterator<unknown> = child.stdout.iterator({ destroyOnReturn: false })
  for (let output = ""; !output.includes("notifications/progress");) output += String((await chunks.next()).value)
  child.kill("SIGTERM")
  return { child, rest: { stderr, stdout: text(child.stdout) } }
}

describe("Stdio", () => {
  it.each(revisions)("A client starts a server, calls it and answers it in %s", async (revision) => {
    await using client = await McpClient.connect(target, {
      revisions: [revision],
      elicitation: { form: () => ({ action: "accept", content: { name: "Ada" } }) }
    })
    assert.deepStrictEqual([client.serverInfo.name, client.instructions], ["fixture", "Greet politely"])
    assert.strictEqual(textOf(await client.callTool("greet", { name: "Bob" })), "Hello, Bob")
    if (revision >= "2025-06-18") assert.strictEqual(textOf(await client.callTool("greet", { name: "" })), "Hello, Ada")
  })

  it.each(sdks)("$name calls a promise server over stdio", async ({ overStdio }) => {
    await using client = await overStdio(server)
    assert.deepStrictEqual(await client.listTools(), ["greet", "wait", "until_stopped"])
    assert.include(JSON.stringify(await client.callTool("greet", { name: "Bob" })), "Hello, Bob")
  })

  it.each([
    ["the SDK v1", "sdk-v1-server.ts", "2025-11-25"],
    ["the SDK v2", "sdk-v2-server.ts", "2025-11-25"],
    ["the dual-era SDK v2", "sdk-v2-modern-server.ts", "2026-07-28"]
  ])("A promise client calls a server built with %s", async (_, file, revision) => {
    const fixture = fileOf(`../../../interop/test/fixtures/${file}`)
    await using client = await McpClient.connect({ command: process.execPath, args: [fixture] })
    assert.strictEqual(client.revision, revision)
    const names = (await all(client.listTools())).map(({ name }) => name)
    assert.include(names, "echo")
    assert.include(textOf(await client.callTool("echo", { text: "hi", message: "hi" })), "hi")
  })

  it("A command that fails to start rejects the connection", async () => {
    const error = await rejection(McpClient.connect({ command: "no-such-command-of-effect-mcp" }))
    assert.instanceOf(error, RequestError)
    assert.strictEqual(error.reason, "TransportError")
  })

  it("A stdio server exits with its stdin", async () => {
    const child = spawn(process.execPath, [server], { stdio: ["pipe", "ignore", "pipe"] })
    const stderr = text(child.stderr)
    child.stdin.end()
    const code = await new Promise((resolve) => child.once("exit", resolve))
    assert.deepStrictEqual([code, await stderr], [0, "served\n"])
  })

  it("SIGTERM aborts handlers after `drain` and ends the process with the signal", async () => {
    const { child, rest } = await stopped("wait", "0")
    assert.strictEqual((await ended(child)).signal, "SIGTERM")
    assert.include(await rest.stderr, "cleaned up")
  })

  it("SIGTERM lets a running call finish and writes its answer", async () => {
    const { child, rest } = await stopped("until_stopped")
    assert.strictEqual((await ended(child)).signal, "SIGTERM")
    assert.include(await rest.stdout, '"text":"finished"')
  })
})
