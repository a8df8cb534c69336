/** Clients of promises whose modules cannot be loaded. */
import { McpClient, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { afterEach, vi } from "vitest"
import { rejection } from "./support/revisions.ts"

const broken = () => {
  throw new TypeError("Failed to fetch dynamically imported module")
}

describe("Modules that cannot be loaded", () => {
  const modules = ["../src/client/connect.ts", "@effect-mcp/client/Fetch"]
  afterEach(() => {
    for (const module of modules) vi.doUnmock(module)
  })

  it.each(modules)("A client over HTTP that lacks %s rejects with the reason NotLoaded", async (module) => {
    vi.doMock(module, broken)
    const error = await rejection(McpClient.connect({ url: "http://127.0.0.1:1/mcp" }))
    assert.instanceOf(error, RequestError)
    assert.strictEqual(error.reason, "NotLoaded")
  })
})
