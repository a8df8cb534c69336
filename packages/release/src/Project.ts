/** A new user's project: writes the README's calculator into an empty folder, and checks its programs. */
import { spawn } from "node:child_process"
import { chmodSync, copyFileSync, globSync, mkdirSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import * as path from "node:path"
import { environment, type Options, run } from "./Command.ts"
import type { Tarball } from "./Tarballs.ts"
import { manifestOf, root } from "./Workspace.ts"

/** A runtime for programs: Node, Bun or Deno. */
export interface Runtime {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const expected = "1 + 2 = 3, over MCP 2026-07-28"

/** Returns the version of a third-party package in the workspace. */
const versionOf = (name: string): string => {
  for (const file of ["package.json", ...globSync("packages/*/package.json", { cwd: root })]) {
    const { dependencies, devDependencies } = manifestOf(path.dirname(path.join(root, file)))
    const version = devDependencies?.[name] ?? dependencies?.[name]
    if (version !== undefined) return version
  }
  throw new Error(`No package of the workspace depends on ${name}`)
}

/** Packages that the README examples import besides the published ones, and optional peers, because every module is loaded. */
const others = [
  "effect",
  "@effect/platform-node",
  "@effect/sql-pg",
  "@types/express",
  "@types/node",
  "express",
  "hono",
  "playwright-core",
  "rolldown",
  "zod"
]
/** Packages that a user installs: all published packages, and the other packages that the README examples need. */
export const dependencies = (
  tarballs: ReadonlyArray<Tarball>,
  peers: ReadonlyArray<string> = []
): ReadonlyArray<string> => [
  ...tarballs.map(({ manifest }) => manifest.name),
  ...[...others, ...peers].map((name) => `${name}@${versionOf(name)}`)
]

/** Returns every module that programs may import, without JSON and modules that need a browser. */
export const entries = (tarballs: ReadonlyArray<Tarball>): ReadonlyArray<string> =>
  tarballs.flatMap(({ manifest }) =>
    Object.keys(manifest.exports ?? {})
      .filter((name) => !/\.(json|yml)$/.test(name) && !name.startsWith("./internal/page/"))
      .map((name) => path.posix.join(manifest.name, name))
  )

/** Writes the project into an empty folder: the examples and one program that loads every module. */
export const write = (
  directory: string,
  tarballs: ReadonlyArray<Tarball>,
  files: Readonly<Record<string, string>> = {}
): void => {
  mkdirSync(directory, { recursive: true })
  const sources = [
    ...globSync("packages/examples/src/calculator*.ts", { cwd: root }),
    ...globSync("packages/examples/src/promise/weather*.ts", { cwd: root }),
    ...globSync("packages/release/programs/*.ts", { cwd: root })
  ]
  for (const file of sources) copyFileSync(path.join(root, file), path.join(directory, path.basename(file)))
  const loads = entries(tarballs).map((name) => `await import("${name}")`)
  const all = {
    "package.json": `{ "private": true, "type": "module" }`,
    "entries.ts": [...loads, "export {}"].join("\n"),
    ...files
  }
  for (const [name, text] of Object.entries(all)) writeFileSync(path.join(directory, name), `${text}\n`)
}

/** Creates a folder with a program `node` that runs this runtime, because the README's client starts its server with `node`. */
const nodeIs = (directory: string, { args, command, name }: Runtime): ReadonlyArray<string> => {
  if (name.startsWith("Node") && args.length === 0) return []
  const bin = path.join(directory, ".bin")
  mkdirSync(bin, { recursive: true })
  writeFileSync(path.join(bin, "node"), `#!/bin/sh\nexec "${[command, ...args].join('" "')}" "$@"\n`)
  chmodSync(path.join(bin, "node"), 0o755)
  return [bin]
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0))
    })
  })

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1")
    const done = (ok: boolean) => {
      socket.destroy()
      resolve(ok)
    }
    socket.once("connect", () => done(true)).once("error", () => done(false))
  })

/** Starts a program that listens on `PORT`, and stops it after `use`. */
export const serving = async <A>(
  command: string,
  args: ReadonlyArray<string>,
  options: Options,
  use: (port: number) => Promise<A>
): Promise<A> => {
  const port = await freePort()
  const env = { ...environment(options), PORT: String(port) }
  const child = spawn(command, args, { cwd: options.cwd, env, stdio: ["ignore", "pipe", "pipe"] })
  let log = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (log += String(data)))
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  try {
    const deadline = Date.now() + 60_000
    while (!(await accepts(port))) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`${args.join(" ")} does not listen:\n${log}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return await use(port)
  } finally {
    child.kill("SIGTERM")
    const force = setTimeout(() => child.kill("SIGKILL"), 5000)
    await ended
    clearTimeout(force)
  }
}

export const must = (what: string, stdout: string, wanted: string = expected): void => {
  if (stdout.trim() !== wanted)
    throw new Error(`${what} printed ${JSON.stringify(stdout)}, not ${JSON.stringify(wanted)}`)
}

/** A project whose dependencies are installed. */
export interface Installed {
  readonly directory: string
  readonly bin?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Runs the programs of an installed project: the calculator over stdio and over HTTP (with the router and with `node:http`), every module,
 * and the command. `ending` is the file extension: `.ts`, or `.js` after compilation.
 */
export const tryOut = async (
  { bin = [], directory, env }: Installed,
  runtime: Runtime,
  command: ReadonlyArray<string>,
  ending = ".ts"
): Promise<string> => {
  const options = { cwd: directory, bin: [...nodeIs(directory, runtime), ...bin], env: env ?? {}, timeout: 120_000 }
  const runs = (file: string, more: Readonly<Record<string, string>> = {}) =>
    run(runtime.command, [...runtime.args, `${file}${ending}`], { ...options, env: { ...env, ...more } })
  must("calculator-client", (await runs("calculator-client")).stdout)
  for (const server of ["calculator-http", "calculator-node"]) {
    const { stdout } = await serving(runtime.command, [...runtime.args, `${server}${ending}`], options, (port) =>
      runs("http-client", { MCP_URL: `http://127.0.0.1:${port}/mcp` })
    )
    must(`http-client of ${server}`, stdout)
  }
  await runs("entries")
  const [program = "", ...args] = command
  const call = [...args, "call", "add", "a=1", "b=2", "--json", "--", runtime.command, ...runtime.args]
  const { stdout } = await run(program, [...call, `calculator-server${ending}`], options)
  must(
    "effect-mcp call",
    stdout.replaceAll(/\s/g, "").replace(/^.*"structuredContent":(\{[^}]*\}).*$/, "$1"),
    `{"sum":3}`
  )
  const weather = [...args, "call", "weather", "city=Oslo", "--", runtime.command, ...runtime.args, `weather${ending}`]
  must("effect-mcp call of weather", (await run(program, weather, options)).stdout, "Sunny in Oslo")
  // The client without Effect uses `await using`, which Node 22 lacks.
  const hasUsing = runtime.name !== "Node 22" || ending === ".js"
  if (hasUsing) {
    const { stdout: printed } = await runs("weather-client")
    if (!printed.includes("Sunny in Oslo")) throw new Error(`weather-client printed ${printed}`)
  }
  return `stdio, HTTP twice, ${hasUsing ? "without Effect" : "a server without Effect"}, the command, every module`
}
