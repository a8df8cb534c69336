/** The page that lists every module that programs may import. */
import { assert, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../src/Repository.ts"

/** Packages that are programs. */
const programs = new Set(["@effect-mcp/cli", "@effect-mcp/create"])

const read = (file: string): string => readFileSync(join(root, file), "utf8")

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports?: { readonly [path: string]: unknown }
}

const exported = globSync("packages/*/package.json", { cwd: root }).flatMap((file) => {
  const { exports = {}, name, private: isPrivate }: Manifest = JSON.parse(read(file))
  if (isPrivate === true || programs.has(name)) return []
  return Object.keys(exports)
    .filter((path) => path !== "./package.json" && !path.startsWith("./internal/"))
    .map((path) => name + path.slice(1))
})

it("The imports page lists every public module once", () => {
  const named = [...read("packages/docs/pages/imports.md").matchAll(/`(@effect-mcp\/[^`\s]+)`/g)]
  const listed = named.map(([, module = ""]) => module).filter((module) => !programs.has(module))
  assert.isAtLeast(exported.length, 150)
  assert.deepStrictEqual(listed.toSorted(), exported.toSorted())
})
