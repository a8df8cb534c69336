/** Runs `fuzz`, `fuzz-client`, `diff` and `replay`: shows the progress of a search, writes its reports, and replays findings. */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Cassette from "@effect-mcp/fuzz/Cassette"
import * as Diff from "@effect-mcp/fuzz/Diff"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Path from "effect/Path"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Schema from "effect/Schema"
import * as Endings from "../terminal/Exit.ts"
import * as Files from "../terminal/Files.ts"
import { concluding, progressOf, replayOf } from "./Concluding.ts"
import { Output } from "../terminal/Output.ts"
import { json, jsonLine } from "../render/Text.ts"
import type { Settings } from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"
import type { CommandTarget } from "../target/Target.ts"

/** Flags that every search has. */
export interface SearchFlags {
  readonly jobs: number
  readonly known: string | undefined
  readonly level: "MUST" | "SHOULD" | "robustness"
  readonly only: ReadonlyArray<string>
  readonly report: ReadonlyArray<string>
  readonly runs: number | undefined
  readonly save: string | undefined
  readonly seed: string
  readonly strict: boolean
  /** In milliseconds. */
  readonly time: number
}

interface Flags extends SearchFlags {
  readonly allowDestructive: boolean
  readonly skipTool: ReadonlyArray<string>
}

export type StrangerHeaders = NonNullable<Parameters<typeof Fuzz.http>[0]["strangerHeaders"]> | undefined

const { Report } = Fuzz

export const open = Effect.fnUntraced(function* (
  { name, words = [] }: CommandTarget,
  settings: Settings,
  strangerHeaders?: StrangerHeaders
) {
  const [command, ...args] = words
  if (command === undefined)
    return yield* Endings.usage(`${name} cannot be fuzzed. Put its command or its URL after --`)
  if (/^https?:\/\//i.test(command)) {
    if (args.length > 0) return yield* Endings.usage(`A URL does not take arguments: ${args.join(" ")}`)
    const { headers, transport } = settings
    const endpoint = { url: command, headers }
    return yield* Effect.gen(function* () {
      const isSse = transport === "sse" || (transport === "auto" && (yield* Fuzz.isSse(endpoint)))
      return yield* isSse ? Fuzz.sse(endpoint) : Fuzz.http({ ...endpoint, strangerHeaders })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  }
  if (settings.sandbox !== undefined) return yield* Endings.usage("--sandbox is not for commands that test a server")
  if (strangerHeaders !== undefined) return yield* Endings.usage("--stranger-header is for a server at a URL")
  const output = yield* Output
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const stderr = (text: string): void => void runFork(output.note(output.noteStyle.dim(`[server] ${text.trimEnd()}`)))
  return yield* Fuzz.command({
    command,
    args,
    env: settings.env,
    cwd: settings.cwd,
    stderr: settings.verbose ? stderr : undefined
  })
})

export const readFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.mapError(fs.readFileString(file), ({ message }) =>
    Endings.usage(`Cannot read ${file}: ${message}`)
  )
})

const append = Effect.fnUntraced(function* (file: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.writeFileString(file, text, { flag: "a", mode: Files.privateMode }), ({ message }) =>
    Endings.usage(`Cannot write ${file}: ${message}`)
  )
})

/** Parses a file of accepted findings, one per line. */
const knownIn = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split(/\r?\n/)
      .map((line) => line.replace(/#.*/, "").trim())
      .filter((line) => line !== "")
  )

export const unreachable = ({ message }: Fuzz.TargetError) =>
  new Endings.CommandFailure({ code: Endings.code.connection, message })

export const revisionsOf = ({ revision }: Settings): ReadonlyArray<Revision.Revision> =>
  Revision.all.filter(({ version }) => revision === undefined || revision === version)

export const patienceOf = ({ timeout }: Settings): number | undefined => timeout && Duration.toMillis(timeout)

/** Reads the findings that `--known` accepts. */
export const knownOf = (file: string | undefined) =>
  file === undefined ? Effect.succeed<ReadonlySet<string>>(new Set()) : Effect.map(readFile(file), knownIn)

/** Converts flags to options for a search that shows progress and findings. */
const limitsOf = Effect.fnUntraced(function* (flags: SearchFlags) {
  const output = yield* Output
  const known = yield* knownOf(flags.known)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const show = yield* progressOf
  const { jobs, only, runs, seed, time } = flags
  const clock = yield* Clock.Clock
  const end = clock.currentTimeMillisUnsafe() + time
  const onProgress = ({ conversations, findings, shrinking }: Fuzz.Progress): void => {
    const now = shrinking === undefined ? "" : `, making ${safeLine(shrinking)} shorter`
    const left = Math.max(0, Math.ceil((end - clock.currentTimeMillisUnsafe()) / 1000))
    show(`${conversations} conversations, ${findings.length} findings${now}, ${left} s left`)
  }
  const onFinding: NonNullable<Fuzz.Options["onFinding"]> = (finding) =>
    void runFork(output.note(safeLine(`${Report.headline(finding)}: ${finding.detail}`)))
  return { jobs, only, runs, seed, time, known, onProgress, onFinding }
})

/** Shows a report, writes its files and the findings, and returns the exit code. */
const shown = Effect.fnUntraced(function* (
  searched: Fuzz.Report.Searched,
  recordings: ReadonlyArray<{ readonly key: string }>,
  settings: Settings,
  flags: SearchFlags,
  replay?: Fuzz.Report.TextOptions["replay"]
) {
  const output = yield* Output
  const report = { ...searched, strict: flags.strict }
  yield* output.live(undefined)
  yield* settings.json ? output.line(json(Report.json(report))) : output.line(Report.text(report, { replay }))
  for (const file of flags.report) yield* writeReport(file, report)
  if (flags.save !== undefined) yield* save(flags.save, recordings)
  return Report.fails(report, flags.level) ? Endings.code.server : Endings.code.ok
})

/** `effect-mcp fuzz`. */
export const fuzz = Effect.fnUntraced(function* (
  server: CommandTarget,
  settings: Settings,
  flags: Flags & { readonly strangerHeaders: StrangerHeaders }
) {
  const output = yield* Output
  const target = yield* open(server, settings, flags.strangerHeaders)
  const limits = yield* limitsOf(flags)
  yield* output.live(`Asking ${safeLine(server.name)} what it offers`)
  return yield* concluding<Fuzz.FuzzReport, never, FileSystem.FileSystem | Path.Path | Output>(
    (onStart) => Effect.mapError(Fuzz.run(target, { ...limits, ...toolsOf(settings, flags), onStart }), unreachable),
    (report) => {
      const redacted = { ...report, target: Cassette.redactName(report.target) }
      const recordings = report.findings.flatMap((finding) => Report.recording(redacted, finding) ?? [])
      return shown(
        report,
        recordings,
        settings,
        flags,
        replayOf("fuzz", server, flags, () => recordings)
      )
    }
  )
})

/** Converts flags to the options for revisions, patience and tools. */
export const toolsOf = (settings: Settings, flags: Pick<Flags, "allowDestructive" | "skipTool">) => ({
  revisions: revisionsOf(settings),
  patience: patienceOf(settings),
  allowDestructive: flags.allowDestructive,
  args: Object.fromEntries(flags.skipTool.map((name) => [name, "never" as const]))
})

export const writeReport = (file: string, report: Fuzz.Report.Searched) =>
  file.endsWith(".json")
    ? Files.write(file, json(Report.json(report)), { mode: 0o644 })
    : file.endsWith(".xml")
      ? Files.write(file, Report.junit(report), { mode: 0o644 })
      : append(file, Report.markdown(report))

const save = Effect.fnUntraced(function* (folder: string, recordings: ReadonlyArray<{ readonly key: string }>) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const output = yield* Output
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), ({ message }) =>
    Endings.usage(`Cannot create ${folder}: ${message}`)
  )
  const names = Report.fileNames(recordings)
  for (const [index, recording] of recordings.entries()) {
    const file = path.join(folder, names[index] ?? "")
    yield* Files.write(file, json(recording), { folder })
    yield* output.note(`Wrote ${file}`)
  }
})

const decode = Schema.decodeUnknownEffect(
  Schema.fromJsonString(Schema.Union([Report.Recording, FuzzClient.ClientRecording]))
)

/** How to start a client. */
interface Convention {
  readonly scenario: string | undefined
  /** True if the client starts its servers itself. */
  readonly stdio: boolean
}

/** Runs `body` with a client program, and a local port for its servers. */
const withClient = <A>(
  { name, words = [] }: CommandTarget,
  settings: Settings,
  { scenario, stdio }: Convention,
  use: (target: FuzzClient.ClientTarget) => Effect.Effect<A, Fuzz.TargetError>
): Effect.Effect<A, Endings.CommandFailure, ChildProcessSpawner | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const [command, ...args] = words
    if (command === undefined || /^https?:\/\//i.test(command))
      return yield* Endings.usage(`${name} is not a client command. Put the command that starts the client after --`)
    const { cwd, env } = settings
    const Port = yield* Effect.promise(() => import("./Port.ts"))
    const options = { command, args, env, cwd, scenario }
    const using = <R>(target: Effect.Effect<FuzzClient.ClientTarget, Fuzz.TargetError, R>) =>
      Effect.scoped(Effect.mapError(Effect.flatMap(target, use), unreachable))
    return yield* stdio
      ? Effect.provide(using(FuzzClient.stdioCommand(options)), Port.layerSocket)
      : Effect.provide(using(FuzzClient.command(options)), Port.layer)
  })

/** Separates the two servers on the command line. */
const between = "---"

/** `effect-mcp diff`. */
export const diff = Effect.fnUntraced(function* (
  servers: CommandTarget,
  settings: Settings,
  flags: Flags & { readonly ignore: ReadonlyArray<string> }
) {
  const output = yield* Output
  const { words = [] } = servers
  const at = words.indexOf(between)
  const both = [words.slice(0, at), words.slice(at + 1)].map((each) => ({
    ...servers,
    name: each.join(" "),
    words: each
  }))
  const [one, two] = both
  if (at < 1 || at === words.length - 1 || one === undefined || two === undefined)
    return yield* Endings.usage(
      `Pass two servers, separated by ${between}: effect-mcp diff -- node old.js ${between} node new.js`
    )
  const [first, second] = [yield* open(one, settings), yield* open(two, settings)]
  const limits = yield* limitsOf(flags)
  yield* output.live("Asking both what they offer")
  return yield* concluding<Diff.Compared, never, FileSystem.FileSystem | Path.Path | Output>(
    (onStart) =>
      Effect.mapError(
        Diff.run(first, second, { ...limits, ...toolsOf(settings, flags), ignore: flags.ignore, onStart }),
        unreachable
      ),
    (report) => shown(report, [], settings, flags)
  )
})

/** `effect-mcp fuzz-client`. */
export const fuzzClient = Effect.fnUntraced(function* (
  client: CommandTarget,
  settings: Settings,
  flags: SearchFlags & { readonly scenario: string; readonly stdio: boolean }
) {
  const output = yield* Output
  const limits = yield* limitsOf(flags)
  yield* output.live(`Running ${safeLine(client.name)} with a correct server`)
  const options = { ...limits, revisions: revisionsOf(settings), patience: patienceOf(settings) }
  return yield* concluding<
    FuzzClient.ClientReport,
    ChildProcessSpawner | FileSystem.FileSystem,
    FileSystem.FileSystem | Path.Path | Output
  >(
    (onStart) => withClient(client, settings, flags, (target) => FuzzClient.run(target, { ...options, onStart })),
    (report) => {
      const recordings = report.findings.map(({ detail, key, script }) => ({
        key,
        detail,
        scenario: flags.scenario,
        ...(flags.stdio ? { transport: "stdio" } : undefined),
        server: script
      }))
      return shown(
        report,
        recordings,
        settings,
        flags,
        replayOf("fuzz-client", client, flags, () => recordings)
      )
    }
  )
})

/** The outcome of replaying a recording. */
interface Replayed {
  readonly again: number
  readonly last: Pick<Fuzz.Seen, "found" | "lines">
}

/** `effect-mcp replay`. */
export const replay = Effect.fnUntraced(function* (
  server: CommandTarget,
  settings: Settings,
  { file, strangerHeaders }: { readonly file: string; readonly strangerHeaders: StrangerHeaders }
) {
  const output = yield* Output
  const recording = yield* Effect.mapError(decode(yield* readFile(file)), ({ message }) =>
    Endings.usage(`${file} was not written by effect-mcp fuzz --save: ${message}`)
  )
  const options = { patience: patienceOf(settings) }
  const played: Effect.Effect<Replayed, Endings.CommandFailure, ChildProcessSpawner | FileSystem.FileSystem | Output> =
    "server" in recording
      ? withClient(
          server,
          settings,
          { scenario: recording.scenario, stdio: recording.transport === "stdio" },
          (target) => FuzzClient.replay(target, recording, options)
        )
      : Effect.flatMap(open(server, settings, strangerHeaders), (target) =>
          Effect.mapError(Fuzz.replay(target, recording, options), unreachable)
        )
  const { again, last } = yield* played
  const found = last.found.map(({ detail, rule }) => ({ rule: rule.name, detail }))
  const happened = `${recording.key} happened ${again} of ${Fuzz.confirmations} times`
  yield* settings.json
    ? output.line(jsonLine({ key: recording.key, again, confirmations: Fuzz.confirmations, found, lines: last.lines }))
    : output.line(
        [
          Report.conversation(last.lines),
          ...found.map(({ detail, rule }) => `${rule}: ${safeLine(detail)}`),
          happened
        ].join("\n")
      )
  return yield* again > 0 ? Endings.silent(Endings.code.server) : Effect.void
})
