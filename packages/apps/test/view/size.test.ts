/** The module for pages is small and does not contain Effect. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

/** Bytes of `@effect-mcp/apps/view`, bundled and minified. */
const limit = 8 * 1024

it.effect("The view module takes at most 8 KiB and imports no package", () =>
  Effect.gen(function* () {
    const output = yield* Effect.promise(async () => {
      const build = await rolldown({
        input: fileURLToPath(import.meta.resolve("@effect-mcp/apps/view")),
        platform: "browser"
      })
      const { output } = await build.generate({ format: "esm", minify: true })
      await build.close()
      return output
    })
    assert.strictEqual(output.length, 1)
    assert.isAtMost(Buffer.byteLength(output[0].code), limit)
    const modules = Object.keys(output[0].modules)
    assert.isAbove(modules.length, 2)
    assert.deepStrictEqual(
      modules.filter((module) => !module.includes("/apps/src/view/")),
      []
    )
  })
)
