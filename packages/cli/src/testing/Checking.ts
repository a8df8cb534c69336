/** Runs `check`: tests every rule once, shows progress, and writes a report and a badge. */
import * as Check from "@effect-mcp/fuzz/Check"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { json } from "../render/Text.ts"
import type { Settings } from "../target/Settings.ts"
import type { CommandTarget } from "../target/Target.ts"
import * as Endings from "../terminal/Exit.ts"
import * as Files from "../terminal/Files.ts"
import { concluding, progressOf, serverWords } from "./Concluding.ts"
import { Output } from "../terminal/Output.ts"
import { safeLine } from "../terminal/Style.ts"
import { knownOf, open, type SearchFlags, type StrangerHeaders, toolsOf, unreachable, writeReport } from "./Fuzzing.ts"

interface Flags extends Pick<SearchFlags, "jobs" | "known" | "level" | "only" | "report" | "strict" | "time"> {
  readonly allowDestructive: boolean
  readonly badge: string | undefined
  readonly skipTool: ReadonlyArray<string>
  readonly strangerHeaders: StrangerHeaders
}

const { Report } = Fuzz

const writeBadge = (file: string, report: Check.CheckOutcome) =>
  // Badges are public.
  Files.write(file, file.endsWith(".svg") ? Check.badgeSvg(report) : json(Check.badge(report)), { mode: 0o644 })

/** `effect-mcp check`. */
export const check = Effect.fnUntraced(function* (server: CommandTarget, settings: Settings, flags: Flags) {
  const output = yield* Output
  const { bold, dim, green, red } = output.style
  const target = yield* open(server, settings, flags.strangerHeaders)
  const known = yield* knownOf(flags.known)
  const show = yield* progressOf
  const replay = ({ rule, script }: Fuzz.Report.AnyFinding): string =>
    `effect-mcp check --only ${rule.name} --revision ${script.revision} -- ${serverWords(server)}`
  yield* output.live(`Asking ${safeLine(server.name)} what it offers`)
  return yield* concluding<Check.CheckOutcome, never, FileSystem.FileSystem | Output | Path.Path>(
    (onStart) =>
      Effect.mapError(
        Check.run(target, {
          ...toolsOf(settings, flags),
          jobs: flags.jobs,
          known,
          only: flags.only,
          time: flags.time,
          onProgress: (played, all) => show(`${played} of ${all} conversations`),
          onStart
        }),
        unreachable
      ),
    Effect.fnUntraced(function* (searched) {
      const report = { ...searched, strict: flags.strict }
      const paint = { good: green, bad: red, faint: dim, strong: bold }
      yield* output.line(settings.json ? json(Report.json(report)) : Check.text(report, { paint, replay }))
      for (const file of flags.report) yield* writeReport(file, report)
      if (flags.badge !== undefined) yield* writeBadge(flags.badge, report)
      return Report.fails(report, flags.level) || report.isCut ? Endings.code.server : Endings.code.ok
    })
  )
})
