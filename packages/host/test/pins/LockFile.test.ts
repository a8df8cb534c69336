/** The text of lock files, and files on disk. */
import { LockFile, type Offer } from "@effect-mcp/host"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Result } from "effect"

const offer: Offer.Offer = {
  name: "notes",
  version: "1.0.0",
  instructions: "Use add.",
  lists: new Map([
    [
      "tools",
      new Map([
        ["__proto__", { name: "__proto__", inputSchema: { type: "object" } }],
        ["add", { name: "add", z: 1, a: 2 }]
      ])
    ],
    ["prompts", new Map()]
  ])
}

describe("lock files", () => {
  it("A lock file contains every item and list, and equal pins produce equal text", () => {
    const text = LockFile.toText(new Map([["notes", offer]]))
    const read = Result.getOrThrow(LockFile.fromText(text))
    assert.strictEqual(LockFile.toText(read), text)
    const tools = read.get("notes")?.lists.get("tools")
    assert.deepStrictEqual([...(tools?.keys() ?? [])], ["__proto__", "add"])
    assert.strictEqual(read.get("notes")?.lists.get("prompts")?.size, 0)
    assert.isFalse(read.get("notes")?.lists.has("resources"))
    assert.isBelow(text.indexOf(`"a": 2`), text.indexOf(`"z": 1`))
  })

  it.each([
    ["no JSON", "{"],
    ["another version", `{"version": 2, "servers": {}}`],
    ["no servers", `{"version": 1}`],
    ["a server that is text", `{"version": 1, "servers": {"a": "b"}}`],
    ["a list that is an array", `{"version": 1, "servers": {"a": {"tools": []}}}`],
    ["an item with another name", `{"version": 1, "servers": {"a": {"tools": {"x": {"name": "y"}}}}}`],
    ["instructions that are no text", `{"version": 1, "servers": {"a": {"instructions": 1}}}`]
  ])("A lock file with %s is invalid", (_, text) => {
    assert.instanceOf(Result.getOrThrow(Result.flip(LockFile.fromText(text))), LockFile.InvalidLock)
  })

  it.live("A missing lock file counts as empty, and writing it leaves no other file", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      const path = `${folder}/mcp.lock.json`
      assert.strictEqual((yield* LockFile.read(path)).size, 0)
      yield* LockFile.write(path, new Map([["notes", offer]]))
      assert.deepStrictEqual(yield* files.readDirectory(folder), ["mcp.lock.json"])
      assert.strictEqual((yield* LockFile.read(path)).get("notes")?.instructions, "Use add.")
      const failed = yield* Effect.flip(LockFile.write(`${folder}/none/lock.json`, new Map()))
      assert.include(failed.message, "Cannot write the lock file")
      yield* files.writeFileString(path, "{")
      assert.include((yield* Effect.flip(LockFile.read(path))).message, "not valid JSON")
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
