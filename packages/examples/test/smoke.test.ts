/** One program of the README, so that `npm test` covers a user's server. The full suites are in `process/`. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { McpClient } from "@effect-mcp/client"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"

const hello = fileURLToPath(new URL("../src/hello.ts", import.meta.url))

describe("README", () => {
  it.live("The README's ten lines add two numbers", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.McpClient
      const { content } = yield* client.callToolByName("add", { a: 1, b: 2 })
      assert.deepStrictEqual(content, [{ type: "text", text: "3" }])
    }).pipe(
      Effect.provide(
        Layer.provide(
          McpClient.layerStdio({ command: process.execPath, args: [hello], env: compileCache }),
          NodeServices.layer
        )
      )
    )
  )
})
