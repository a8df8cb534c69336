/** Servers and clients of promises over stdio, and each with the official SDKs on the other side. */
import { McpClient, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { text } from "node:stream/consumers"
import { all, rejection, revisions, textOf } from "../support/revisions.ts"
import { sdks } from "../support/sdks.ts"

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const server = fileOf("../fixtures/stdio-server.ts")
const target = { command: process.execPath, args: [server] }

describe("stdio", () => {
  it.each(revisions)("A client starts a server, calls it and answers it in %s", async (revision) => {
    await using client = await McpClient.connect(target, {
      revisions: [revision],
      elicitation: { form: () => ({ action: "accept", content: { name: "Ada" } }) }
    })
    assert.deepStrictEqual([client.serverInfo.name, client.instructions], ["fixture", "Greet politely"])
    assert.strictEqual(textOf(await client.callTool("greet", { name: "Bob" })), "Hello, Bob")
    if (revision >= "2025-06-18") assert.strictEqual(textOf(await client.callTool("greet", { name: "" })), "Hello, Ada")
  })

  it.each(sdks)("$name calls a server of promises over stdio", async ({ overStdio }) => {
    await using client = await overStdio(server)
    assert.deepStrictEqual(await client.listTools(), ["greet", "wait"])
    assert.include(JSON.stringify(await client.callTool("greet", { name: "Bob" })), "Hello, Bob")
  })

  it.each([
    ["the SDK v1", "sdk-v1-server.ts", "2025-11-25"],
    ["the SDK v2", "sdk-v2-server.ts", "2025-11-25"],
    ["the SDK v2 of both eras", "sdk-v2-modern-server.ts", "2026-07-28"]
  ])("A client of promises calls a server of %s", async (_, file, revision) => {
    const fixture = fileOf(`../../../everything/test/fixtures/${file}`)
    await using client = await McpClient.connect({ command: process.execPath, args: [fixture] })
    assert.strictEqual(client.revision, revision)
    const names = (await all(client.listTools())).map(({ name }) => name)
    assert.include(names, "echo")
    assert.include(textOf(await client.callTool("echo", { text: "hi", message: "hi" })), "hi")
  })

  it("A command that cannot be started rejects the connection", async () => {
    const error = await rejection(McpClient.connect({ command: "no-such-command-of-effect-mcp" }))
    assert.instanceOf(error, RequestError)
    assert.strictEqual(error.reason, "TransportError")
  })

  it("A server over stdio ends when its stdin does", async () => {
    const child = spawn(process.execPath, [server], { stdio: ["pipe", "ignore", "pipe"] })
    const stderr = text(child.stderr)
    child.stdin.end()
    const code = await new Promise((resolve) => child.once("exit", resolve))
    assert.deepStrictEqual([code, await stderr], [0, "served\n"])
  })

  it("SIGTERM aborts the handlers of a server, lets them clean up, and ends the process by the signal", async () => {
    const child = spawn(process.execPath, [server], { stdio: "pipe" })
    const stderr = text(child.stderr)
    const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    const _meta = { progressToken: 1 }
    send({
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }
    })
    send({ method: "notifications/initialized" })
    send({ id: 2, method: "tools/call", params: { name: "wait", arguments: {}, _meta } })
    let output = ""
    for await (const chunk of child.stdout) {
      output += String(chunk)
      if (output.includes("notifications/progress")) break
    }
    child.kill("SIGTERM")
    const signal = await new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)))
    assert.strictEqual(signal, "SIGTERM")
    assert.include(await stderr, "cleaned up")
  })
})
