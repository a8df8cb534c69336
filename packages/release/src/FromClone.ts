/**
 * Creates a project that needs no registry for our packages (`npm run create -- FOLDER`). Their tarballs are in its folder `packages`, and
 * its manifest refers to them.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { run, type Terminal } from "@effect-mcp/create/run"
import type { Tarball } from "./Tarballs.ts"

interface Dependencies {
  readonly [name: string]: string
}

/** Returns the workspace packages that `names` depend on, directly and indirectly. */
const closure = (names: ReadonlyArray<string>, tarballs: ReadonlyArray<Tarball>): ReadonlyArray<Tarball> => {
  const found = new Set<Tarball>()
  const add = (name: string): void => {
    const tarball = tarballs.find(({ manifest }) => manifest.name === name)
    if (tarball === undefined || found.has(tarball)) return
    found.add(tarball)
    Object.keys(tarball.manifest.dependencies ?? {}).forEach(add)
  }
  names.forEach(add)
  return [...found]
}

/** Returns file dependencies. npm then uses these packages for all dependencies with a matching version. */
const files = (names: ReadonlyArray<string>, tarballs: ReadonlyArray<Tarball>): Dependencies =>
  Object.fromEntries(
    closure(names, tarballs).map(({ file, manifest }) => [manifest.name, `file:packages/${path.basename(file)}`])
  )

/** Creates the project with the arguments of `npm create @effect-mcp`. Returns the exit code. */
export const create = (argv: ReadonlyArray<string>, tarballs: ReadonlyArray<Tarball>, terminal: Terminal): number => {
  let folder = ""
  const code = run(argv, { ...terminal, made: (at) => (folder = at) })
  if (folder === "") return code
  mkdirSync(path.join(folder, "packages"))
  for (const { file } of tarballs) copyFileSync(file, path.join(folder, "packages", path.basename(file)))
  const file = path.join(folder, "package.json")
  const manifest: { dependencies: Dependencies; devDependencies: Dependencies } = JSON.parse(readFileSync(file, "utf8"))
  const dependencies = { ...manifest.dependencies, ...files(Object.keys(manifest.dependencies), tarballs) }
  const development = Object.entries({
    ...manifest.devDependencies,
    ...files(Object.keys(manifest.devDependencies), tarballs)
  })
  const devDependencies = Object.fromEntries(development.filter(([name]) => !(name in dependencies)))
  writeFileSync(file, `${JSON.stringify({ ...manifest, dependencies, devDependencies }, undefined, 2)}\n`)
  return code
}
