/** Runs `judge`: forwards real traffic and checks it against the rules of `fuzz`. */
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Traffic from "@effect-mcp/fuzz/Traffic"
import * as Effect from "effect/Effect"
import * as Endings from "../terminal/Exit.ts"
import { knownOf, patienceOf, type SearchFlags, writeReport } from "./Fuzzing.ts"
import { Output } from "../terminal/Output.ts"
import { json } from "../render/Text.ts"
import type { Settings } from "../target/Settings.ts"
import { safeLine } from "../terminal/Style.ts"
import type { Ears } from "../tap/Ear.ts"
import { type TapAddress, serve } from "../tap/Tap.ts"
import type { CommandTarget } from "../target/Target.ts"

type Flags = Pick<SearchFlags, "known" | "level" | "only" | "report" | "strict">

const { Report } = Fuzz

/** Creates the listeners that check traffic. Call `end` when the traffic is over. */
const ears = (traffic: Traffic.TrafficRules): Ears & { readonly end: () => void } => {
  const ends: Array<() => void> = []
  const lines = () => {
    const heard = traffic.lines()
    ends.push(() => heard.end())
    return heard
  }
  const http = () => {
    const heard = traffic.http()
    ends.push(() => heard.end())
    return {
      begin: (request: Traffic.HttpRequest) => heard.begin(request),
      isPlace: (url: string) => heard.isPlace(url)
    }
  }
  return { lines, http, end: () => ends.forEach((end) => end()) }
}

/** Checks traffic until the server exits or a signal stops the command. Writes its reports in either case. */
export const judge = Effect.fnUntraced(function* (
  server: CommandTarget,
  settings: Settings,
  place: TapAddress,
  flags: Flags
) {
  const output = yield* Output
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const { dim } = output.noteStyle
  const traffic = yield* Traffic.make({
    name: server.name,
    known: yield* knownOf(flags.known),
    only: flags.only,
    patience: patienceOf(settings),
    onFinding: (finding) =>
      void runFork(output.note(`${dim("[judge]")} ${safeLine(`${Report.headline(finding)}: ${finding.detail}`)}`))
  })
  const { end, ...heard } = ears(traffic)
  const conclude = Effect.gen(function* () {
    end()
    const report = { ...traffic.report(), strict: flags.strict }
    // Over stdio, stdout belongs to the client.
    const say = (text: string) => (place.isHttp ? output.line(text) : output.note(text))
    yield* say(settings.json ? json(Report.json(report)) : Report.text(report))
    for (const file of flags.report) yield* writeReport(file, report)
    return Report.fails(report, flags.level) ? Endings.code.server : Endings.code.ok
  })
  const interrupted = Effect.flatMap(conclude, Endings.endWith)
  yield* Effect.onInterrupt(serve(server, settings, place, heard), () => Effect.ignore(interrupted))
  const code = yield* conclude
  return yield* code === Endings.code.ok ? Effect.void : Endings.silent(code)
})
