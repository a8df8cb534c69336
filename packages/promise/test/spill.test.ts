/** Results that are too large to send, in the Promise API. */
import * as Spill from "@effect-mcp/tasks/spill"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { assert, describe, it } from "@effect/vitest"
import { Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { clientOf, serverOf, textOf } from "./support/revisions.ts"

const text = "0123456789".repeat(20)

const callOf = async (options: Parameters<typeof serverOf>[0]) => {
  const server = serverOf(options)
  server.tool("print", { description: "Prints" }, () => text)
  const client = await clientOf(server, "2026-07-28")
  return { client, result: await client.callTool("print") }
}

describe("The option limits.spill", () => {
  it("Sends a preview and a link, which the client reads in ranges", async () => {
    const { client, result } = await callOf({
      limits: { bytes: 100, spill: { previewBytes: 10, rangeBytes: 150, timeToLive: 60_000 } }
    })
    const [preview, link] = result.content
    assert.include(preview?.type === "text" ? preview.text : "", "for 1 minutes")
    assert.match(preview?.type === "text" ? preview.text : "", /\n\n0123456789$/)
    assert.isTrue(link?.type === "resource_link" && link.size === text.length)
    const uri = link?.type === "resource_link" ? link.uri : ""
    assert.strictEqual(await client.readText(uri), text.slice(0, 150))
    assert.strictEqual(await client.readText(`${uri}?from=150`), text.slice(150))
  })

  it("Turns spilling on for a server without resources with true", async () => {
    const { result } = await callOf({ limits: { bytes: 100, spill: true } })
    assert.isTrue(result.content.some(({ type }) => type === "resource_link"))
  })

  it("Leaves a server without resources with an error by default", async () => {
    const { result } = await callOf({ limits: { bytes: 100 } })
    assert.isTrue(result.isError)
    assert.include(textOf(result), "200 bytes, limit 100")
  })

  it("Keeps results in a database, and the next server can read them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "effect-mcp-spill-"))
    const opened = async () => {
      const server = serverOf({ limits: { bytes: 100 } })
      server.tool("print", { description: "Prints" }, () => text)
      server.add(Layer.provide(Spill.layer, Sqlite.layer({ file: join(folder, "results.db") })))
      return { server, client: await clientOf(server, "2026-07-28") }
    }
    try {
      const first = await opened()
      const link = (await first.client.callTool("print")).content.find(({ type }) => type === "resource_link")
      await first.server.close()
      const next = await opened()
      assert.strictEqual(await next.client.readText(link?.type === "resource_link" ? link.uri : ""), text)
      await next.server.close()
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
