/** Checks each tarball: its manifest, its files, and the findings of publint and arethetypeswrong. */
import * as path from "node:path"
import { run } from "../Command.ts"
import { problems } from "../Manifests.ts"
import { reach } from "../Reachable.ts"
import type { Tarball } from "../Tarballs.ts"
import { binOf } from "../Toolbox.ts"
import { manifestOf, root } from "../Workspace.ts"

const each = async (
  tarballs: ReadonlyArray<Tarball>,
  check: (tarball: Tarball) => Promise<ReadonlyArray<string>> | ReadonlyArray<string>
): Promise<void> => {
  const found = await Promise.all(
    tarballs.map(async (tarball) => (await check(tarball)).map((problem) => `${tarball.manifest.name}: ${problem}`))
  )
  if (found.flat().length > 0) throw new Error(found.flat().join("\n"))
}

export const manifests = async (tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  const workspace = manifestOf(root)
  await each(tarballs, ({ directory, manifest }) => problems(directory, manifest, workspace))
  const versions = new Set(tarballs.map(({ manifest }) => manifest.version))
  if (versions.size !== 1)
    throw new Error(`Packages are released together; these versions differ: ${[...versions].join(", ")}`)
  return `${tarballs.length} packages, version ${[...versions].join()}`
}

export const files = async (tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  await each(tarballs, ({ directory, manifest }) => {
    const { missing, unreachable } = reach(directory, manifest)
    return [...missing.map((name) => `missing: ${name}`), ...unreachable.map((name) => `nothing leads to ${name}`)]
  })
  const [count, pruned, bytes] = tarballs.reduce(
    ([files, pruned, size], next) => [files + next.files, pruned + next.pruned, size + next.size],
    [0, 0, 0]
  )
  return `${count} files in ${Math.round(bytes / 1000)} kB; ${pruned} to which nothing leads were left out`
}

export const publint = async (tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  const bin = [await binOf("publint")]
  await each(tarballs, async ({ file }) => {
    const { stdout } = await run("publint", ["--strict", file], { cwd: path.dirname(file), bin })
    return stdout.includes("All good!") ? [] : [stdout]
  })
  return "strict"
}

/** Checks types as TypeScript resolves them for ES modules. Skips packages without modules. */
export const attw = async (tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  const bin = [await binOf("attw")]
  const libraries = tarballs.filter(({ manifest }) => Object.keys(manifest.exports ?? {}).length > 1)
  await each(libraries, async ({ file, manifest }) => {
    // It can only resolve modules and JSON.
    const others = Object.keys(manifest.exports ?? {}).filter((name) => name.endsWith(".yml"))
    const excluded = others.length === 0 ? [] : ["--exclude-entrypoints", ...others]
    await run("attw", ["--profile", "esm-only", file, ...excluded], { cwd: path.dirname(file), bin })
    return []
  })
  return `${libraries.length} libraries, as modules`
}
