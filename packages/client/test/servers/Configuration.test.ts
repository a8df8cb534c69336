/** Configuration files of several servers that cannot be used. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"

const messageOf = (value: unknown, variables = {}) => {
  const result = McpClients.table(value, { variables })
  assert(Result.isFailure(result))
  assert.strictEqual(result.failure._tag, "InvalidConfiguration")
  return result.failure.message
}

describe("A configuration of servers", () => {
  it("A configuration is refused where it has no servers, or an invalid server, with its name", () => {
    assert.include(messageOf([]), "expected an object with one of mcpServers")
    assert.include(messageOf({ mcpServers: [] }), "There are no servers")
    assert.include(
      messageOf({ mcpServers: { good: { command: "a" }, bad: { args: [] } } }),
      "the server bad: it has neither"
    )
    assert.include(messageOf({ servers: { bad: { command: "a", args: [1] } } }), "its args are not a list of strings")
    assert.include(messageOf({ mcpServers: { bad: { url: "${HOST}/mcp" } } }), "no variable HOST")
  })

  it("A configuration names its servers in the order of the file, without those that are disabled", () => {
    const servers = { b: { command: "b" }, off: { command: "x", disabled: true }, a: { url: "http://a/mcp" } }
    const table = Result.getOrThrow(McpClients.table({ mcpServers: servers }))
    assert.deepStrictEqual(Object.keys(table), ["b", "a"])
  })

  it("A configuration has other servers in place of those that the program replaces", () => {
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

  it.effect("A configuration that is no JSON is refused with the name of the file, and read by another parser", () =>
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
