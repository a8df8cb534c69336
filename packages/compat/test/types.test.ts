/** The published declarations contain no types of Effect. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import manifest from "../package.json" with { type: "json" }

const root = resolve(import.meta.dirname, "..")

/** Modules that a declaration imports, with `import` and `import(...)`. */
const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/(?:from |import\()"([^"]+)"/g)].map(([, name = ""]) => name)

/** Packages that a module's declarations name, including imported declarations. */
const packagesOf = (file: string, seen = new Set<string>()): ReadonlyArray<string> => {
  if (seen.has(file)) return []
  seen.add(file)
  return importsOf(file).flatMap((name) =>
    name.startsWith(".") ? packagesOf(join(dirname(file), name.replace(/\.[jt]s$/, ".d.ts")), seen) : [name]
  )
}

const entries = Object.values(manifest.exports)
  .filter((path) => path.endsWith(".ts"))
  .map((path) => path.replace("./src/", "./dist/").replace(/\.ts$/, ".d.ts"))

describe("Published declarations", () => {
  it.each(entries)("The %s declarations name no Effect type", (entry) => {
    const packages = packagesOf(join(root, entry))
    assert.deepStrictEqual(
      packages.filter((name) => name === "effect" || name.startsWith("effect/") || name.startsWith("@effect/")),
      []
    )
  })
})
