/**
 * What `fuzz` and `replay` do: the search with its progress on the screen, its reports in files, and findings played again.
 */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Fuzz from "@effect-mcp/testing/Fuzz"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Endings from "./Exit.ts"
import { Output } from "./Output.ts"
import { json, jsonLine } from "./render/Text.ts"
import type { Settings } from "./Settings.ts"
import { safeLine } from "./Style.ts"
import type { Target } from "./Target.ts"

export interface Flags {
  readonly allowDestructive: boolean
  readonly jobs: number
  readonly known: string | undefined
  readonly level: "MUST" | "SHOULD" | "robustness"
  readonly only: ReadonlyArray<string>
  readonly report: ReadonlyArray<string>
  readonly runs: number | undefined
  readonly save: string | undefined
  readonly seed: string
  readonly skipTool: ReadonlyArray<string>
  /** In milliseconds. */
  readonly time: number
}

const { Report } = Fuzz

const open = Effect.fnUntraced(function* ({ name, words = [] }: Target, settings: Settings) {
  const [command, ...args] = words
  if (command === undefined)
    return yield* Endings.usage(`${name} cannot be fuzzed: name its command or its URL after --`)
  if (/^https?:\/\//i.test(command)) {
    if (args.length > 0) return yield* Endings.usage(`A URL takes no arguments: ${args.join(" ")}`)
    const { headers } = settings
    return yield* Effect.provide(Fuzz.http({ url: command, headers }), FetchHttpClient.layer)
  }
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

const readFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.mapError(fs.readFileString(file), ({ message }) =>
    Endings.usage(`Cannot read ${file}: ${message}`)
  )
})

const writeFile = Effect.fnUntraced(function* (file: string, text: string, flag: "w" | "a" = "w") {
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(fs.writeFileString(file, text, { flag }), ({ message }) =>
    Endings.usage(`Cannot write ${file}: ${message}`)
  )
})

/** The lines of a file of accepted findings. */
const knownIn = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .split(/\r?\n/)
      .map((line) => line.replace(/#.*/, "").trim())
      .filter((line) => line !== "")
  )

const unreachable = ({ message }: Fuzz.TargetError) => new Endings.Failure({ code: Endings.code.connection, message })

const revisionsOf = ({ revision }: Settings): ReadonlyArray<Revision.Revision> =>
  Revision.all.filter(({ version }) => revision === undefined || revision === version)

const patienceOf = ({ timeout }: Settings): number | undefined => timeout && Duration.toMillis(timeout)

/** `effect-mcp fuzz`. */
export const fuzz = Effect.fnUntraced(function* (server: Target, settings: Settings, flags: Flags) {
  const output = yield* Output
  const target = yield* open(server, settings)
  const known = flags.known === undefined ? new Set<string>() : knownIn(yield* readFile(flags.known))
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const onProgress = ({ conversations, findings, shrinking }: Fuzz.Progress): void => {
    const now = shrinking === undefined ? "" : `, making ${safeLine(shrinking)} shorter`
    runFork(output.live(`${conversations} conversations, ${findings.length} findings${now}`))
  }
  yield* output.live(`Asking ${safeLine(server.name)} what it offers`)
  const report = yield* Fuzz.run(target, {
    revisions: revisionsOf(settings),
    patience: patienceOf(settings),
    seed: flags.seed,
    runs: flags.runs,
    time: flags.time,
    jobs: flags.jobs,
    only: flags.only,
    allowDestructive: flags.allowDestructive,
    args: Object.fromEntries(flags.skipTool.map((name) => [name, "never" as const])),
    known,
    onProgress
  }).pipe(Effect.mapError(unreachable), Effect.ensuring(output.live(undefined)))
  yield* settings.json ? output.line(json(Report.json(report))) : output.line(Report.text(report))
  for (const file of flags.report) yield* writeReport(file, report)
  if (flags.save !== undefined) yield* save(flags.save, report)
  return yield* Report.fails(report, flags.level) ? Endings.silent(Endings.code.server) : Effect.void
})

const writeReport = (file: string, report: Fuzz.FuzzReport) =>
  file.endsWith(".json")
    ? writeFile(file, json(Report.json(report)))
    : file.endsWith(".xml")
      ? writeFile(file, Report.junit(report))
      : writeFile(file, Report.markdown(report), "a")

const save = Effect.fnUntraced(function* (folder: string, report: Fuzz.FuzzReport) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const output = yield* Output
  yield* Effect.mapError(fs.makeDirectory(folder, { recursive: true }), ({ message }) =>
    Endings.usage(`Cannot make ${folder}: ${message}`)
  )
  for (const finding of report.findings) {
    const recording = Report.recording(report, finding)
    if (recording === undefined) continue
    const file = path.join(folder, Report.fileName(recording))
    yield* writeFile(file, json(recording))
    yield* output.note(`Wrote ${file}`)
  }
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Report.Recording))

/** `effect-mcp replay`. */
export const replay = Effect.fnUntraced(function* (server: Target, settings: Settings, file: string) {
  const output = yield* Output
  const recording = yield* Effect.mapError(decode(yield* readFile(file)), ({ message }) =>
    Endings.usage(`${file} is no recording of effect-mcp fuzz --save: ${message}`)
  )
  const target = yield* open(server, settings)
  const { again, last } = yield* Effect.mapError(
    Fuzz.replay(target, recording, { patience: patienceOf(settings) }),
    unreachable
  )
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
