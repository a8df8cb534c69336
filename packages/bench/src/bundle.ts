/**
 * Last step of `npm run build`: bundles the command and the example servers into `dist/bundle` of their packages. A bundle starts three to
 * four times as fast as 250 modules, because Node doesn't have to find, read and link them.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { type OutputAsset, type OutputChunk, type OutputOptions, rolldown } from "rolldown"
import { root } from "./Process.ts"

const packages = path.dirname(root)

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

export interface Program {
  readonly package: string
  readonly file: string
  readonly out: string
  /** Whether to keep dynamic imports in separate files. Default: everything is in one file. */
  readonly split?: boolean
  /** Files that it reads, from their path below `packages` to their path below the bundle. */
  readonly reads?: Readonly<Record<string, string>>
}

export const programs: ReadonlyArray<Program> = [
  {
    package: "cli",
    file: "bin.ts",
    out: "effect-mcp.js",
    split: true,
    reads: { "ui/dist/page/main.js": "page/main.js" }
  },
  { package: "examples", file: "calculator-server.ts", out: "calculator-server.js" },
  { package: "examples", file: "tables-server.ts", out: "tables-server.js" },
  { package: "examples", file: "workspace/server.ts", out: "workspace-server.js" }
]

/**
 * Follows the advice of the page about performance. The output is ASCII only: a single other character makes V8 store and scan the whole
 * file with two bytes per character, which adds 5 ms to a start.
 */
export const output: OutputOptions = { format: "esm", minify: true, charset: "ascii", comments: false }

/** Returns the licences of third-party packages in a bundle, which have to be included. */
const notice = (chunks: ReadonlyArray<OutputChunk | OutputAsset>): string => {
  const modules = chunks.flatMap((chunk) => (chunk.type === "chunk" ? Object.keys(chunk.modules) : []))
  const found = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  const texts = [...new Set(found)].toSorted().map((directory) => {
    const { license, name, version }: Manifest = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"))
    const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry))
    const text = file === undefined ? "" : `\n${readFileSync(path.join(directory, file), "utf8").trim()}\n`
    return `${name} ${version}, ${license}\n${text}`
  })
  return `This program holds code of the following packages.\n\n${texts.join("\n---\n\n")}`
}

/** Matches a call with the path of a file. The name may be anything, because minifiers rename `require`. */
const requireOfFile = /\b(?!import\()\w+\(["'`]\.{1,2}\/[^"'`]*["'`]\)/

/** Fails if a chunk requires a file that the bundle doesn't hold. Node would report it only when a user needs that chunk. */
const refuseLeftOut = (chunks: ReadonlyArray<OutputChunk | OutputAsset>): void => {
  for (const chunk of chunks) {
    const [left] = (chunk.type === "chunk" ? requireOfFile.exec(chunk.code) : null) ?? []
    if (left !== undefined) {
      throw new Error(
        `${chunk.fileName} holds ${left}, but not that file. Bundle the ES module of its package instead.`
      )
    }
  }
}

/** Bundles a program into one file of a directory. Default: `dist/bundle` of its package. */
export const bundle = async (
  program: Program,
  directory: string = path.join(packages, program.package, "dist/bundle")
): Promise<string> => {
  const file = path.join(directory, program.out)
  const made = await rolldown({
    input: path.join(packages, program.package, "src", program.file),
    platform: "node",
    logLevel: "warn",
    // A CommonJS main module is often wrapped (UMD), so that a bundler can't see the files that it requires.
    resolve: { mainFields: ["module", "main"] },
    // Only needed for a Redis store, which comes with a client.
    external: ["redis", "ioredis"]
  })
  if (program.split === true) {
    rmSync(directory, { recursive: true, force: true })
    const files = { dir: directory, entryFileNames: program.out, chunkFileNames: "chunks/[name].js" }
    const { output: chunks } = await made.write({ ...output, ...files })
    refuseLeftOut(chunks)
    writeFileSync(path.join(directory, "NOTICE"), notice(chunks))
  } else refuseLeftOut((await made.write({ ...output, file, codeSplitting: false })).output)
  await made.close()
  for (const [from, to] of Object.entries(program.reads ?? {})) {
    mkdirSync(path.dirname(path.join(directory, to)), { recursive: true })
    copyFileSync(path.join(packages, from), path.join(directory, to))
  }
  return file
}

if (import.meta.main) for (const program of programs) await bundle(program)
