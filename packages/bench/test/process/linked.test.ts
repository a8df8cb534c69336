import { assert, describe, it } from "@effect/vitest"
import type { OutputChunk } from "rolldown"
import { link, linked } from "../../src/Linked.ts"

const sources = /\/packages\/(\w+)\/src\//

/** Files loaded together: a file, and the files of its package that it imports. */
const together = (files: ReadonlyArray<OutputChunk>, name: string): ReadonlyArray<OutputChunk> => {
  const file = files.find(({ fileName }) => fileName === name)
  return file === undefined ? [] : [file, ...file.imports.flatMap((imported) => together(files, imported))]
}

describe("Published files", () => {
  for (const name of linked) {
    it(`The published files of ${name} export the same as its modules and contain each module once`, async () => {
      const files = await link(name)
      const modules = files.flatMap((file) => Object.keys(file.modules)).filter((id) => sources.test(id))
      assert.strictEqual(new Set(modules).size, modules.length)
      const entries = files.filter(({ isEntry }) => isEntry)
      assert.isAtLeast(entries.length, 10)
      for (const { exports, facadeModuleId } of entries) {
        const module: object = await import(facadeModuleId ?? "")
        assert.deepStrictEqual(exports.toSorted(), Object.keys(module).toSorted(), facadeModuleId ?? "")
      }
    })
  }

  it("A stdio server loads nothing that only HTTP needs", async () => {
    const files = await link("server")
    const loaded = together(files, "McpServer.js")
    assert.deepStrictEqual(
      loaded.map(({ fileName }) => fileName),
      ["McpServer.js", "chunks/start.js"]
    )
    const others = loaded.flatMap(({ imports }) => imports).filter((id) => id.startsWith("effect/http/"))
    assert.deepStrictEqual(others, [])
  })
})
