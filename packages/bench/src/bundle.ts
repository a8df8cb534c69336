/**
 * `npm run build`, last step: the command and the example servers as one file each, in `dist/bundle` of their packages. A file starts
 * three to four times as fast as 250 modules, since Node need not find, read and link them.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
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
  /** Its dynamic imports stay files of their own. Default: one file holds everything. */
  readonly split?: boolean
}

export const programs: ReadonlyArray<Program> = [
  { package: "cli", file: "bin.ts", out: "effect-mcp.js", split: true },
  { package: "examples", file: "calculator-server.ts", out: "calculator-server.js" },
  { package: "examples", file: "tables-server.ts", out: "tables-server.js" },
  { package: "examples", file: "workspace/server.ts", out: "workspace-server.js" }
]

/**
 * What the page about performance tells users to do. Only ASCII: one other character makes V8 keep, and scan, the whole file in two bytes per
 * character, which takes 5 ms of a start.
 */
export const output: OutputOptions = { format: "esm", minify: true, charset: "ascii", comments: false }

/** The licences of the packages of others that a bundle holds, which ask to go along. */
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

/** A call with the path of a file, by any name: `require` is renamed, too. */
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
    // Packages with CommonJS as their main module often wrap it (UMD): a bundler can't see the files that it requires, and leaves them out.
    resolve: { mainFields: ["module", "main"] },
    // Only for a Redis store, which brings its own client.
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
  return file
}

if (import.meta.main) for (const program of programs) await bundle(program)
