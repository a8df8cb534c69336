/**
 * `npm run build`, last step: the command and the example servers as one file each, in `dist/bundle` of their packages. A file starts
 * three to four times as fast as 250 modules, since Node need not find, read and link them.
 */
import * as path from "node:path"
import { type OutputOptions, rolldown } from "rolldown"
import { root } from "./Process.ts"

const packages = path.dirname(root)

export interface Program {
  readonly package: string
  readonly file: string
  readonly out: string
}

export const programs: ReadonlyArray<Program> = [
  { package: "cli", file: "main.ts", out: "effect-mcp.js" },
  { package: "examples", file: "calculator-server.ts", out: "calculator-server.js" },
  { package: "examples", file: "tables-server.ts", out: "tables-server.js" },
  { package: "examples", file: "workspace/server.ts", out: "workspace-server.js" }
]

/**
 * What the README tells users to do. Only ASCII: one other character makes V8 keep, and scan, the whole file in two bytes per
 * character, which takes 5 ms of a start.
 */
export const output: OutputOptions = { format: "esm", minify: true, charset: "ascii", comments: false }

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
    // Only for a Redis store, which brings its own client.
    external: ["redis", "ioredis"]
  })
  await made.write({ ...output, file, codeSplitting: false })
  await made.close()
  return file
}

if (import.meta.main) for (const program of programs) await bundle(program)
