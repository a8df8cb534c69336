/** The local page over HTTP, without a browser. */
import { App } from "@effect-mcp/apps"
import * as LocalPage from "@effect-mcp/apps/LocalPage"
import { Tool, Tools } from "@effect-mcp/core"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const Dice = Tool.make("dice", { description: "Rolls a die" })
const features = Layer.merge(
  Tools.layer(Dice, () => Effect.succeed("4")),
  App.layer(Dice, { html: "<!doctype html><title>Dice</title>" })
)

const serve = (options: Partial<LocalPage.Options> = {}) =>
  Effect.flatMap(McpTest.connect(features, "2026-07-28"), (client) =>
    LocalPage.serve(client, { tool: "dice", ...options })
  )

describe("LocalPage", () => {
  it.live("Fails if the port is in use", () =>
    Effect.gen(function* () {
      const { port } = new URL((yield* serve()).url)
      const error = yield* Effect.flip(serve({ port: Number(port) }))
      assert.strictEqual(error._tag, "PortUnavailable")
      assert.include(error.message, `port ${port}`)
    }).pipe(Effect.scoped)
  )

  it.live("The log shows the beginning of a long message", () =>
    Effect.gen(function* () {
      const { url } = yield* serve()
      yield* Effect.promise(async () => {
        const abort = new AbortController()
        const { body } = await fetch(`${url}/events`, { signal: abort.signal })
        const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
        let rest = ""
        const next = async (): Promise<any> => {
          while (!rest.includes("\n")) rest += (await reader.read()).value ?? ""
          const end = rest.indexOf("\n")
          const line = rest.slice(0, end)
          rest = rest.slice(end + 1)
          return JSON.parse(line)
        }
        const { session } = await next()
        const message = JSON.stringify({ jsonrpc: "2.0", method: "long", params: { text: "x".repeat(1_000_000) } })
        const { origin } = new URL(url)
        const headers = { origin }
        const { status } = await fetch(`${url}/messages?session=${session}`, { method: "POST", body: message, headers })
        assert.strictEqual(status, 204)
        let event = await next()
        while (event.type !== "log" || event.label !== "long") event = await next()
        assert.strictEqual(event.text, `${message.slice(0, 20_000)}…`)
        abort.abort()
      })
    }).pipe(Effect.scoped)
  )
})
