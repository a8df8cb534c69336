/**
 * Bundles a stdio server and an HTTP client with common bundlers. Runs the bundles in a folder without packages and measures their size in
 * KiB, minified and gzipped. The size of a first call includes the files that Node loads for it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { gzipSync } from "node:zlib"
import { run } from "../Command.ts"
import * as Project from "../Project.ts"
import { importsOf } from "../Reachable.ts"
import { binOf, type Tool, versionOf } from "../Toolbox.ts"

type Program = "stdio-server" | "http-client"

interface Bundler {
  readonly tool: Tool
  /** Returns the command that bundles `input` into the folder `to`. It is started in the project. */
  readonly command: (input: string, to: string, config: string) => ReadonlyArray<string>
  /** Returns the configuration to write to `config`. */
  readonly config?: (input: string, to: string) => string
}

/** Name of esbuild's report on the files that it writes. */
const metafile = "meta.json"

interface Metafile {
  readonly outputs: Readonly<
    Record<string, { readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>> }>
  >
}

export const bundlers: ReadonlyArray<Bundler> = [
  {
    tool: "esbuild",
    command: (input, to) => [
      "esbuild",
      input,
      "--bundle",
      "--minify",
      "--format=esm",
      "--platform=node",
      "--splitting",
      `--metafile=${path.join(to, metafile)}`,
      `--outdir=${to}`
    ]
  },
  {
    tool: "rolldown",
    command: (input, to) => [
      "rolldown",
      input,
      "--platform",
      "node",
      "--format",
      "esm",
      "--minify",
      "--no-comments",
      "--charset",
      "ascii",
      "--dir",
      to
    ]
  },
  {
    tool: "vite",
    command: (_, __, config) => ["vite", "build", "--config", config, "--logLevel", "error"],
    config: (input, outDir) =>
      `export default ${JSON.stringify({
        build: { ssr: input, outDir, minify: true, target: "node22", emptyOutDir: false },
        ssr: { noExternal: true }
      })}`
  },
  {
    tool: "webpack",
    command: (_, __, config) => ["webpack", "--config", config],
    config: (input, to) =>
      `export default ${JSON.stringify({
        mode: "production",
        target: "node22",
        entry: { [path.basename(input, ".js")]: input },
        experiments: { outputModule: true },
        output: { path: to, module: true, chunkFormat: "module", library: { type: "module" } }
      })}`
  }
]

/** Maximum sizes of a bundle in KiB. Bundlers without a row are only reported. */
export interface Limit {
  readonly tool: Tool
  readonly program: Program
  /** Size of the files that are loaded at the start. */
  readonly start: number
  /** Size of the files that are loaded by the end of the first tool call. */
  readonly firstCall?: number
}

/**
 * The goal for a server with one tool is 10 % more than the same server with the official SDK v2: 114 KiB with rolldown, 124 with esbuild.
 * The other limits keep heavy dependencies out.
 */
export const limits: ReadonlyArray<Limit> = [
  { tool: "rolldown", program: "stdio-server", start: 123 },
  { tool: "esbuild", program: "stdio-server", start: 152 },
  { tool: "rolldown", program: "http-client", start: 116, firstCall: 116 }
]

/** Returns the files that load when a bundle starts: its entry and its static imports. */
const started = (to: string, entry: string): ReadonlyArray<string> => {
  const files = new Set<string>()
  const visit = (name: string): void => {
    if (files.has(name)) return
    files.add(name)
    const file = path.join(to, name)
    for (const specifier of importsOf(file, readFileSync(file, "utf8")).whenLoaded) {
      if (specifier.startsWith(".")) visit(path.join(path.dirname(name), specifier))
    }
  }
  visit(entry)
  return [...files]
}

const compressed = (to: string, names: ReadonlyArray<string>): number =>
  names.reduce((sum, name) => sum + gzipSync(readFileSync(path.join(to, name)), { level: 9 }).length, 0) / 1024

const modules = (to: string): ReadonlyArray<string> =>
  readdirSync(to, { recursive: true, encoding: "utf8" }).filter((name) => /\.m?js$/.test(name))

/** Returns the share of each package in the start of an esbuild bundle, in KiB, minified and not compressed. */
const split = (to: string, entry: string): string => {
  const { outputs }: Metafile = JSON.parse(readFileSync(path.join(to, metafile), "utf8"))
  const files = new Set(started(to, entry).map((name) => path.basename(name)))
  const inputs = Object.entries(outputs).flatMap(([file, output]) =>
    files.has(path.basename(file)) ? Object.entries(output.inputs) : []
  )
  const bytes = new Map<string, number>()
  for (const [input, { bytesInOutput }] of inputs) {
    const name = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? "the program"
    bytes.set(name, (bytes.get(name) ?? 0) + bytesInOutput)
  }
  const parts = [...bytes].filter(([, size]) => size >= 1024).toSorted(([, a], [, b]) => b - a)
  return parts.map(([name, size]) => `${name} ${(size / 1024).toFixed(0)}`).join(", ")
}

export interface Place {
  /** The project in which everything is installed. */
  readonly project: string
  /** Folder with the compiled examples, below the project. */
  readonly compiled: string
  /** Folder for bundles, outside of the project. */
  readonly to: string
}

interface Bundle {
  /** Folder of the bundle. */
  readonly to: string
  /** File name of its entry. */
  readonly entry: string
}

const bundle = async (bundler: Bundler, program: Program, place: Place): Promise<Bundle> => {
  const to = path.join(place.to, bundler.tool, program)
  mkdirSync(to, { recursive: true })
  writeFileSync(path.join(to, "package.json"), `{ "type": "module" }`)
  const input = path.join(place.compiled, `${program}.js`)
  const config = path.join(place.project, `${bundler.tool}.${program}.config.mjs`)
  if (bundler.config !== undefined) writeFileSync(config, bundler.config(input, to))
  const [command = "", ...args] = bundler.command(input, to, config)
  const bin = [path.dirname(process.execPath), await binOf(bundler.tool)]
  await run(command, args, { cwd: place.project, bin })
  const entry = modules(to).find((name) => /^(?:stdio-server|http-client)\.m?js$/.test(name))
  if (entry === undefined) throw new Error(`${command} made no ${program}.js, but ${modules(to).join(", ")}`)
  return { to, entry }
}

/** A module next to the bundles that writes the URLs of all files that Node loads to the file in `LOADED`. */
const recorder = "recorder.mjs"
const recording = `
import { writeFileSync } from "node:fs"
import { registerHooks } from "node:module"
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.once("exit", () => writeFileSync(process.env.LOADED, JSON.stringify(loaded)))
`

/** Runs the bundled client, which calls a tool on a bundled server. Returns the files that the client has loaded, relative to `to`. */
const called = async ({ entry, to }: Bundle, place: Place): Promise<ReadonlyArray<string>> => {
  const hooks = path.join(place.to, recorder)
  writeFileSync(hooks, recording)
  const LOADED = path.join(to, "loaded.json")
  const bin = [path.dirname(process.execPath)]
  await Project.serving(process.execPath, ["calculator-http.js"], { cwd: place.compiled }, async (port) => {
    const env = { LOADED, MCP_URL: `http://127.0.0.1:${port}/mcp` }
    const { stdout } = await run("node", ["--import", pathToFileURL(hooks).href, entry], { cwd: to, bin, env })
    Project.must("The bundled client", stdout)
  })
  const urls: ReadonlyArray<string> = JSON.parse(readFileSync(LOADED, "utf8"))
  const files = urls.flatMap((url) =>
    url.startsWith("file:") ? path.relative(to, realpathSync(fileURLToPath(url))) : []
  )
  return [...new Set(files)].filter((name) => modules(to).includes(name))
}

/** Formats the sizes of a bundle and checks the limits. `loaded` has the files of the first call, if it was run. */
const weigh = (tool: Tool, program: Program, { entry, to }: Bundle, loaded?: ReadonlyArray<string>): string => {
  const start = compressed(to, started(to, entry))
  const call = loaded && compressed(to, loaded)
  const all = compressed(to, modules(to)).toFixed(1)
  const limit = limits.find((row) => row.tool === tool && row.program === program)
  const withFirstCall = call === undefined ? "" : ` ${call.toFixed(1)} with its first call,`
  const text = `${program} ${start.toFixed(1)} KiB,${withFirstCall} ${all} with what is loaded when needed`
  if (limit === undefined) return text
  if (start > limit.start) throw new Error(`${text}: more than ${limit.start} KiB at its start`)
  if (call !== undefined && limit.firstCall !== undefined && call > limit.firstCall)
    throw new Error(`${text}: more than ${limit.firstCall} KiB with its first call`)
  return `${text} (limit ${limit.start} KiB)`
}

/** Bundles both programs, runs each with a counterpart, and returns their sizes. */
export const check = async (bundler: Bundler, place: Place): Promise<string> => {
  const server = await bundle(bundler, "stdio-server", place)
  const client = await bundle(bundler, "http-client", place)
  const command = path.join(place.project, "node_modules/.bin/effect-mcp")
  const node = path.dirname(process.execPath)
  const call = ["call", "add", "a=1", "b=2", "--json", "--", "node", server.entry]
  const { stdout } = await run(command, call, { cwd: server.to, bin: [node] })
  if (!stdout.includes(`"sum": 3`)) throw new Error(`The bundled server answered ${stdout}`)
  const loaded = await called(client, place)
  const lines = [
    versionOf(bundler.tool),
    weigh(bundler.tool, "stdio-server", server),
    weigh(bundler.tool, "http-client", client, loaded)
  ]
  if (existsSync(path.join(server.to, metafile))) {
    lines.push(`stdio-server before compression: ${split(server.to, server.entry)}`)
    lines.push(`http-client before compression: ${split(client.to, client.entry)}`)
  }
  return lines.join("\n")
}
