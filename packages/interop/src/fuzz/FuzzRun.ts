/** Runs one leg: starts the listening programs, lets the published command search, and reads its report. */
import { Effect, FileSystem, Path, Schema, Stream } from "effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { cli, type FuzzLeg, known } from "./FuzzLeg.ts"

export interface FuzzSettings {
  /** Folder for reports, findings, and the servers' folders. */
  readonly output: string
  readonly seed: string
  /** Overrides the leg's own time. */
  readonly seconds?: number | undefined
}

/** The file that the command writes with `--report FILE.json`. */
const Report = Schema.fromJsonString(
  Schema.Struct({
    conversations: Schema.Int,
    findings: Schema.Array(Schema.Struct({ key: Schema.String, level: Schema.String, revision: Schema.String })),
    rules: Schema.Array(Schema.Struct({ kept: Schema.Int, broken: Schema.Int }))
  })
)
const decode = Schema.decodeUnknownEffect(Report)

/** Files for a file server to offer. */
const files: Readonly<Record<string, string>> = {
  "readme.md": "# A folder\n\nIts files are read, searched and renamed.\n",
  "add.ts": "export const add = (a: number, b: number): number => a + b\n",
  "notes.txt": "Milk\nBread\n"
}

/** Returns the address in a line that a program prints when it listens: a URL, or the output of Node's `http.address()`. */
const addressIn = (line: string): string | undefined => {
  const [url] = /https?:\/\/[^\s"]+/.exec(line) ?? []
  const [, port] = /port: (\d+)/.exec(line) ?? []
  const origin = url ?? (port === undefined ? undefined : `http://127.0.0.1:${port}`)
  if (origin === undefined) return undefined
  const { pathname } = new URL(origin)
  return pathname === "/" ? new URL("/mcp", origin).href : origin
}

/** Runs a listening program until the scope closes. Returns its address. */
const listening = Effect.fnUntraced(function* (
  program: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }
) {
  const { all } = yield* ChildProcess.make("node", program, {
    ...options,
    extendEnv: true,
    stdin: "ignore",
    forceKillAfter: "2 seconds"
  })
  const lines = yield* Stream.toPull(Stream.splitLines(Stream.decodeText(all)))
  for (;;) {
    const address = (yield* lines).map(addressIn).find((address) => address !== undefined)
    if (address === undefined) continue
    // A full pipe would block the program.
    yield* Effect.forkScoped(Effect.ignore(Effect.forever(lines)))
    return address
  }
})

/** Extra seconds that a search may take to shrink and confirm its findings. */
const grace = 300

/** Searches one leg. Its output stays in a folder of `output`. */
export const fuzz = Effect.fnUntraced(function* (leg: FuzzLeg, { output, seconds = leg.seconds, seed }: FuzzSettings) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const directory = path.join(output, leg.name)
  const [cwd, report] = [path.join(directory, "folder"), path.join(directory, "report.json")]
  yield* fs.remove(directory, { recursive: true, force: true })
  yield* fs.makeDirectory(cwd, { recursive: true })
  for (const [name, text] of Object.entries(files)) yield* fs.writeFileString(path.join(cwd, name), text)
  const env = { ...leg.env, NODE_COMPILE_CACHE: path.join(output, "cache") }
  const url = leg.behind === undefined ? "" : yield* listening(leg.behind, { cwd, env })
  const program = leg.program.map((word) => (word === "URL" ? url : word))
  const target = leg.listens === true ? [yield* listening(program, { cwd, env })] : ["node", ...program]
  const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`])
  const limits = ["--time", `${seconds}s`, "--seed", seed, "--jobs", "1", "--known", known]
  const written = ["--report", report, "--save", path.join(directory, "findings")]
  const { all, exitCode } = yield* ChildProcess.make(
    "node",
    [
      cli,
      leg.side === "client" ? "fuzz-client" : "fuzz",
      ...limits,
      ...written,
      "--cwd",
      cwd,
      ...variables,
      ...(leg.flags ?? []),
      "--",
      ...target
    ],
    { env: { NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE }, extendEnv: true, stdin: "ignore" }
  )
  const [text, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(all)), exitCode], { concurrency: 2 })
  yield* fs.writeFileString(path.join(directory, "report.txt"), text)
  const searched = yield* Effect.option(Effect.flatMap(fs.readFileString(report), decode))
  return { leg, code, directory, text, searched }
}, Effect.scoped)

/** Limits the time of a search. If a search hangs, the command is at fault. */
export const limited = (leg: FuzzLeg, settings: FuzzSettings) =>
  Effect.timeout(fuzz(leg, settings), `${(settings.seconds ?? leg.seconds) + grace} seconds`)
