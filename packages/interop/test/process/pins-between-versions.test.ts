/** Pins of server-everything, the server published by the protocol's project, compared with a newer version of it. */
import { McpClient } from "@effect-mcp/client"
import { Finding, Offer } from "@effect-mcp/host"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"

const older = import.meta.resolve("@modelcontextprotocol/server-everything-2026.1/dist/index.js")
const newer = import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js")

const offerOf = (file: string) => {
  const client = McpClient.layerStdio({
    command: process.execPath,
    args: [fileURLToPath(file), "stdio"],
    revisions: ["2025-11-25"]
  })
  return Effect.flatMap(McpClient.McpClient, Offer.read).pipe(
    Effect.provide(Layer.provide(client, NodeServices.layer), { local: true })
  )
}

describe("Pins between versions of server-everything", () => {
  it.live("The newer version adds hints to every tool, a tool and the documentation of an argument", () =>
    Effect.gen(function* () {
      const before = yield* offerOf(older)
      const after = yield* offerOf(newer)
      const found = Finding.compare(new Map([["everything", before]]), "everything", after)
      const itemsOf = (code: Finding.FindingCode) =>
        found.filter((finding) => finding.code === code).map(({ item, list }) => `${list} ${item}`)
      const tools = [...(before.lists.get("tools")?.keys() ?? [])]
      assert.isAbove(tools.length, 10)
      assert.sameMembers(
        itemsOf("annotations"),
        tools.map((name) => `tools ${name}`)
      )
      assert.deepStrictEqual(itemsOf("added"), ["tools simulate-research-query"])
      assert.include(itemsOf("arguments"), "prompts args-prompt")
      assert.deepStrictEqual([itemsOf("removed"), itemsOf("text"), itemsOf("renamed")], [[], [], []])
      assert.strictEqual(Finding.worst(found), "ask")
    })
  )

  it.live("A version is as pinned when it starts again", () =>
    Effect.gen(function* () {
      const pinned = new Map([["everything", yield* offerOf(newer)]])
      assert.deepStrictEqual(Finding.compare(pinned, "everything", yield* offerOf(newer)), [])
    })
  )
})
