/** Runs `npm create @effect-mcp`: writes a project to a folder, as the command line says. Asks no questions. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { files, type Project } from "./files.ts"

const help = `npm create @effect-mcp FOLDER [-- OPTIONS]

Creates a project with an MCP server, a test that runs in every protocol revision, and scripts.

  --promise   Use async functions and zod instead of Effect
  --http      Serve over HTTP at http://127.0.0.1:3000/mcp instead of stdin and stdout
  --name NAME Name of the package. Default: the folder's name
  --help      Show this help
`

/** The output of the command, and the folder in which it was started. */
export interface Terminal {
  readonly cwd: () => string
  readonly stdout: { readonly write: (text: string) => unknown }
  readonly stderr: { readonly write: (text: string) => unknown }
  /** Environment variables. Default: the variables of this process. */
  readonly env?: { readonly [name: string]: string | undefined }
  /** Called with the folder of the new project. */
  readonly made?: (folder: string) => void
}

/** Returns a note if the user's Node is too old for the project. npm reports that Node's version, which may differ from this process's. */
const noteOf = (env: NonNullable<Terminal["env"]>): string => {
  const [, version = process.versions.node] = /\bnode\/v(\S+)/.exec(env["npm_config_user_agent"] ?? "") ?? []
  const [major = 0, minor = 0] = version.split(".").map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return ""
  return `\nThe project requires Node 22.19 or newer, but this is Node ${version}. Upgrade Node, or add it to the project: npm install --save-dev node@24\n`
}

/** Matches valid npm package names, with or without a scope. */
const packageName = /^(?:@[a-z0-9-~][a-z0-9-._~]*\/)?[a-z0-9-~][a-z0-9-._~]*$/

/** Returns the package name for a folder. */
const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-._~]+/g, "-")
    .replace(/^[-._]+|-+$/g, "")

type Parsed =
  | { readonly _tag: "Help" }
  | { readonly _tag: "Wrong"; readonly problem: string }
  | { readonly _tag: "Project"; readonly folder: string; readonly project: Project }

const wrong = (problem: string): Parsed => ({ _tag: "Wrong", problem })

const options = {
  help: { type: "boolean", default: false },
  http: { type: "boolean", default: false },
  name: { type: "string" },
  promise: { type: "boolean", default: false }
} as const

const parse = (argv: ReadonlyArray<string>, cwd: string): Parsed => {
  let given
  try {
    given = parseArgs({ args: [...argv], options, allowPositionals: true })
  } catch (cause) {
    return wrong(cause instanceof Error ? cause.message : String(cause))
  }
  const [folder, ...others] = given.positionals
  if (given.values.help) return { _tag: "Help" }
  if (folder === undefined || others.length > 0) return wrong("Expected one folder: npm create @effect-mcp my-server")
  const at = resolve(cwd, folder)
  const name = given.values.name ?? nameOf(at)
  if (!packageName.test(name) || name.length > 214) {
    return wrong(
      `${JSON.stringify(name)} is not a valid package name. Choose one with --name, using only a-z, 0-9 and -._~`
    )
  }
  if (existsSync(at) && readdirSync(at).length > 0) {
    return wrong(`The folder ${folder} is not empty. Choose another folder, or empty it first`)
  }
  const { http, promise } = given.values
  return { _tag: "Project", folder: at, project: { name, http, promise } }
}

/** Writes the project and returns the exit code: 0, or 2 if the command line is wrong or the folder is not empty. */
export const run = (
  argv: ReadonlyArray<string>,
  { cwd, env = process.env, made, stderr, stdout }: Terminal
): number => {
  const parsed = parse(argv, cwd())
  if (parsed._tag === "Help") {
    stdout.write(help)
    return 0
  }
  if (parsed._tag === "Wrong") {
    stderr.write(`error: ${parsed.problem}\nTry: npm create @effect-mcp -- --help\n`)
    return 2
  }
  const { folder, project } = parsed
  for (const [name, text] of Object.entries(files(project))) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    // Never replaces files, because another program may have written to the folder in the meantime.
    writeFileSync(file, text, { flag: "wx" })
  }
  made?.(folder)
  const shown = relative(cwd(), folder) || "."
  stdout.write(`Created ${project.name} in ${shown}\n\n  cd ${shown}\n  npm install\n  npm test\n  npm run dev\n`)
  stderr.write(noteOf(env))
  return 0
}
