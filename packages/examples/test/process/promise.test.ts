/** Starts or imports the servers without Effect in the documents, and calls each. */
import { McpClient } from "@effect-mcp/promise"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const folder = resolve(import.meta.dirname, "../../src/promise")

/** Starts a program on a free port and returns the port that it prints. */
const started = async (name: string): Promise<number> => {
  const child = spawn(process.execPath, [join(folder, name)], { env: { ...process.env, PORT: "0" }, stdio: "pipe" })
  onTestFinished(() => void child.kill("SIGTERM"))
  let output = ""
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const port = /(?:port: |:)(\d+)/.exec(output)?.[1]
    if (port !== undefined) return Number(port)
  }
  throw new Error(`${name} ended without a port: ${output}`)
}

describe("Examples without Effect", () => {
  it("The first example serves a tool in at most 15 short lines", () => {
    const code = readFileSync(join(folder, "weather.ts"), "utf8")
    assert.isAtMost(code.trimEnd().split("\n").length, 15)
  })

  it("An example listens with tokens", async () => {
    const url = `http://127.0.0.1:${await started("http.ts")}/mcp`
    await using client = await McpClient.connect({ url, headers: { authorization: "Bearer secret-of-ada" } })
    assert.deepStrictEqual((await client.callTool("whoami")).content, [{ type: "text", text: "ada" }])
    const refused = await McpClient.connect({ url }).catch((error: unknown) => error)
    assert.propertyVal(refused, "reason", "Unauthorized")
  })

  it("An example runs in Express", async () => {
    await using client = await McpClient.connect({ url: `http://127.0.0.1:${await started("express.ts")}/mcp` })
    assert.deepStrictEqual((await client.callTool("hello")).content, [{ type: "text", text: "Hello" }])
  })

  it("An example runs in Hono", async () => {
    const { default: app } = await import("../../src/promise/fetch.ts")
    const response = await app.request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hello", arguments: {} } })
    })
    assert.strictEqual(response.status, 200)
    assert.include(await response.text(), "Hello")
  })
})
