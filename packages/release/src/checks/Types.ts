/** Compiles every module's types and the README's examples like a user would, with `skipLibCheck` off, and runs the output. */
import { existsSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { run } from "../Command.ts"
import * as Project from "../Project.ts"
import type { Tarball } from "../Tarballs.ts"
import { binOf, versionOf } from "../Toolbox.ts"

const modes = {
  nodenext: { module: "nodenext" },
  bundler: { module: "esnext", moduleResolution: "bundler" }
}

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  target: "es2024",
  // Effect's declarations use DOM types such as `CryptoKey`.
  lib: ["ES2024", "DOM"],
  types: ["node"],
  rewriteRelativeImportExtensions: true
}

export interface Combination {
  readonly compiler: "typescript5" | "typescript7"
  readonly mode: keyof typeof modes
}

const first: Combination = { compiler: "typescript5", mode: "nodenext" }

export const combinations: ReadonlyArray<Combination> = [
  first,
  { compiler: "typescript5", mode: "bundler" },
  { compiler: "typescript7", mode: "nodenext" },
  { compiler: "typescript7", mode: "bundler" }
]

export const nameOf = ({ compiler, mode }: Combination): string => `types, TypeScript ${versionOf(compiler)}, ${mode}`

/** Returns the folder of the compiled examples, below the project. */
export const emitted = ({ compiler, mode }: Combination): string => path.join("compiled", `${compiler}-${mode}`)

export const compile = async (
  directory: string,
  tarballs: ReadonlyArray<Tarball>,
  combination: Combination
): Promise<string> => {
  const names = Project.entries(tarballs)
  const imports = names.map((name, index) => `import * as m${index} from "${name}"`)
  const all = `export const all = [${names.map((_, index) => `m${index}`).join(", ")}]`
  writeFileSync(path.join(directory, "types.ts"), [...imports, all].join("\n"))
  const outDir = emitted(combination)
  const config = {
    compilerOptions: { ...strict, ...modes[combination.mode], rootDir: ".", outDir },
    include: ["*.ts"]
  }
  const file = `tsconfig.${combination.compiler}.${combination.mode}.json`
  writeFileSync(path.join(directory, file), JSON.stringify(config))
  await run("tsc", ["-p", file], { cwd: directory, bin: [await binOf(combination.compiler)] })
  return `${names.length} modules and the examples`
}

/** Returns the folder of the examples compiled with the first combination. Compiles them if necessary. */
export const compiled = async (directory: string, tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  const to = path.join(directory, emitted(first))
  if (!existsSync(path.join(to, "http-client.js"))) await compile(directory, tarballs, first)
  return to
}

/** Runs the compiled examples on this Node. */
export const runCompiled = async (directory: string, tarballs: ReadonlyArray<Tarball>): Promise<string> => {
  const node = { name: "Node", command: process.execPath, args: [] }
  const command = [path.join(directory, "node_modules/.bin/effect-mcp")]
  const bin = [path.dirname(process.execPath)]
  return Project.tryOut({ directory: await compiled(directory, tarballs), bin }, node, command, ".js")
}
