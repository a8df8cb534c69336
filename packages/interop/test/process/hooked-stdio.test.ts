/** Hooks around inbound messages and services of a request, in a process over stdio. */
import { McpClient, Stdio } from "@effect-mcp/client"
import { McpError, Revision } from "@effect-mcp/protocol"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"

const server = fileURLToPath(new URL("../fixtures/hooked-server.ts", import.meta.url))

describe.each(Revision.all.map(({ era, version }) => ({ era, version })))("Stdio servers in $version", (revision) => {
  it.live("Each message passes the server's hook, and each request that uses a service creates it", () =>
    Effect.gen(function* () {
      const opened = Stdio.open({ command: process.execPath, args: [server] })
      const client = yield* McpClient.open(opened, { revisions: [revision.version] })
      const report = Effect.map(client.callToolByName("report", {}), ({ content: [block] }) =>
        JSON.parse(block?.type === "text" ? block.text : "")
      )
      const first = yield* report
      assert.deepStrictEqual(first.visit, { number: 1, method: "tools/call" })
      assert.strictEqual(first.released, 0)
      yield* client.raw.notify("notifications/com.example/noted", {})
      const closed = yield* Effect.flip(client.raw.request("com.example/closed", {}))
      assert.strictEqual(closed._tag === "McpError" && closed.code, McpError.Forbidden)
      const last = yield* report
      assert.deepStrictEqual([last.visit, last.released], [{ number: 3, method: "tools/call" }, 2])
      const handshake = revision.era === "stateless" ? ["server/discover"] : ["initialize", "notifications/initialized"]
      assert.deepStrictEqual(last.seen, [
        ...handshake,
        "tools/call",
        "notifications/com.example/noted",
        "handled notifications/com.example/noted",
        "com.example/closed",
        "tools/call"
      ])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
