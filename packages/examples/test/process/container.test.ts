/** The Docker file of the documentation builds a bundle that serves on its own, and stops on SIGTERM. */
import { assert, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const examples = join(import.meta.dirname, "../..")
const file = readFileSync(join(examples, "src/deploy/Dockerfile"), "utf8")
const one = (pattern: RegExp): string => pattern.exec(file)?.[1] ?? assert.fail(`The Docker file has no ${pattern}`)

/** A server of the examples in place of `server.ts`. */
const named = (text: string): string => text.replace("server.", "calculator-http.")

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "docs", version: "1.0.0" } }
}

it("The Docker file's bundle serves without its dependencies", async () => {
  const image = mkdtempSync(join(tmpdir(), "mcp-image-"))
  try {
    const [program = "", ...args] = one(/^RUN npx (.*)$/m)
      .split(" ")
      .map(named)
    const bin = join(examples, "node_modules/.bin", program)
    const built = spawnSync(
      bin,
      args.map((arg) => (arg === "bundle" ? join(image, arg) : arg)),
      {
        cwd: examples,
        encoding: "utf8"
      }
    )
    assert.strictEqual(built.status, 0, built.stderr)
    copyFileSync(join(examples, "package.json"), join(image, "package.json"))
    assert.sameMembers(readdirSync(image), ["bundle", "package.json"])

    const [node, ...command]: ReadonlyArray<string> = JSON.parse(one(/^CMD (.*)$/m))
    assert.strictEqual(node, "node")
    const server = spawn(process.execPath, command.map(named), {
      cwd: image,
      env: { ...process.env, PORT: "0", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "inherit"]
    })
    const exit = once(server, "exit")
    const [line] = await once(createInterface(server.stdout), "line")
    const [, port] = /https?:\/\/[^\s:]+:(\d+)/.exec(String(line)) ?? assert.fail(`It names no port: ${line}`)
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(initialize)
    })
    assert.strictEqual(response.status, 200)
    assert.include(await response.text(), '"calculator"')
    server.kill("SIGTERM")
    await exit
  } finally {
    rmSync(image, { recursive: true, force: true })
  }
})
