/** Shared by commands that search a server or a client: progress, signals, and the command that replays a finding. */
import * as Cassette from "@effect-mcp/fuzz/Cassette"
import { Report } from "@effect-mcp/fuzz/Fuzz"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { CommandTarget } from "../target/Target.ts"
import * as Endings from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"

/** Interval of progress notes without a live line, in milliseconds. */
const noteEvery = 10_000

/** Shows progress on the live line, or as an occasional note. */
export const progressOf = Effect.gen(function* () {
  const output = yield* Output
  const clock = yield* Clock.Clock
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  let next = clock.currentTimeMillisUnsafe() + noteEvery
  return (text: string): void => {
    if (output.isLive) return void runFork(output.live(text))
    const now = clock.currentTimeMillisUnsafe()
    if (now < next) return
    next = now + noteEvery
    runFork(output.note(output.noteStyle.dim(text)))
  }
})

/**
 * Runs a search and concludes with its report. If a signal interrupts the search, concludes with the report so far. `search` receives the
 * function to call at its start.
 */
export const concluding = <A, R, R2>(
  search: (onStart: (report: () => A) => void) => Effect.Effect<A, Endings.CommandError, R>,
  conclude: (report: A) => Effect.Effect<Endings.Code, Endings.CommandError, R2>
) =>
  Effect.gen(function* () {
    const output = yield* Output
    let soFar: (() => A) | undefined
    const interrupted = Effect.suspend(() =>
      soFar === undefined ? Effect.void : Effect.flatMap(conclude(soFar()), Endings.endWith)
    )
    const searching = search((report) => void (soFar = report)).pipe(
      Effect.ensuring(output.live(undefined)),
      Effect.onInterrupt(() => Effect.ignore(interrupted))
    )
    const code = yield* conclude(yield* searching)
    return yield* code === Endings.code.ok ? Effect.void : Endings.silent(code)
  })

/** Quotes a word for a shell. */
export const quoted = Report.quoted

/** Returns the server's command line as it follows `--`, quoted for a shell, with secrets removed. */
export const serverWords = ({ name, words = [] }: CommandTarget): string =>
  words.length === 0 ? name : words.map((word) => Report.quoted(Cassette.redactName(word))).join(" ")

/** Returns the command that replays a finding from its file, or repeats the search. */
export const replayOf =
  (
    command: string,
    server: CommandTarget,
    { save: folder, seed }: { readonly save: string | undefined; readonly seed: string },
    recordings: () => ReadonlyArray<Named>
  ) =>
  (finding: Report.AnyFinding): string => {
    const all = recordings()
    const index = all.findIndex(({ key }) => key === finding.key)
    const file = Report.fileNames(all)[index]
    const words = serverWords(server)
    if (folder !== undefined && file !== undefined)
      return `effect-mcp replay ${Report.quoted(`${folder.replace(/\/+$/, "")}/${file}`)} -- ${words}`
    const only = Report.quoted(finding.rule.name)
    return `effect-mcp ${command} --seed ${Report.quoted(seed)} --only ${only} --save findings -- ${words}`
  }

type Named = Pick<Report.Recording, "key">
