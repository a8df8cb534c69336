/** Invalid configuration files for several servers. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"

const messageOf = (value: unknown, variables = {}) => {
  const result = McpClients.table(value, { variables })
  assert(Result.isFailure(result))
  assert.strictEqual(result.failure._tag, "InvalidConfiguration")
  return result.failure.message
}

describe("Server configuration", () => {
  it("A configuration without servers, or with an invalid one, is rejected by name", () => {
    assert.include(messageOf([]), "expected an object with one of mcpServers")
    assert.include(messageOf({ mcpServers: [] }), "No servers found")
    assert.include(
      messageOf({ mcpServers: { good: { command: "a" }, bad: { args: [] } } }),
      "the server bad: it has neither"
    )
    assert.include(messageOf({ servers: { bad: { command: "a", args: [1] } } }), "its args are not a list of strings")
    assert.include(messageOf({ mcpServers: { bad: { url: "${HOST}/mcp" } } }), "variable HOST is not set")
  })

  it("A configuration lists enabled servers in file order", () => {
    const servers = { b: { command: "b" }, off: { command: "x", disabled: true }, a: { url: "http://a/mcp" } }
    const table = Result.getOrThrow(McpClients.table({ mcpServers: servers }))
    assert.deepStrictEqual(Object.keys(table), ["b", "a"])
  })

  it("A configuration is rejected with the server's name if the program's override throws", () => {
    const server = () => assert.fail("no credentials")
    const result = McpClients.table({ mcpServers: { a: { command: "a" } } }, { server })
    assert.include(
      Result.getOrThrow(Result.flip(result)).message,
      "Cannot use the server a: AssertionError: no credentials"
    )
  })

  it("A configuration uses the program's server overrides", () => {
    const own = McpClients.stdio({ command: "own" })
    const table = Result.getOrThrow(
      McpClients.table(
        { mcpServers: { a: { url: "http://a/mcp" }, b: { command: "b" } } },
        { server: (name, entry) => (name === "a" && entry._tag === "Reached" ? own : undefined) }
      )
    )
    assert.strictEqual(table["a"], own)
    assert.notStrictEqual(table["b"], own)
  })

  it.effect("A non-JSON configuration is rejected with its file name, unless another parser is used", () =>
    Effect.gen(function* () {
      const text = `// comment\n{ "mcpServers": {} }`
      const files = FileSystem.layerNoop({ readFileString: () => Effect.succeed(text) })
      const error = yield* Effect.flip(Effect.provide(McpClients.read("mcp.json"), files))
      assert.include(error.message, "Cannot read mcp.json")
      const parse = (given: string): unknown => JSON.parse(given.split("\n").slice(1).join(""))
      assert.deepStrictEqual(yield* Effect.provide(McpClients.read("mcp.json", { parse }), files), {})
    })
  )
})
