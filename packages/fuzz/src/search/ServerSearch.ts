/** Searches a server for violations. Conversations share servers, and each finding is confirmed with a new server. */
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Generator from "../generator/Generator.ts"
import { Model } from "../model/Model.ts"
import type { Exchange } from "../model/Observation.ts"
import type { Found, Rule } from "../model/Rule.ts"
import type { Command, Script } from "../model/Script.ts"
import { type Survey, unknown } from "../model/Survey.ts"
import { play } from "../play/Player.ts"
import type { Played } from "../play/Played.ts"
import { all } from "../rules/all.ts"
import {
  chosen,
  type ConversationResult,
  type Playing,
  type SearchLimits,
  type SearchOutcome,
  type SearchSubject,
  searchSubject
} from "./Search.ts"
import { candidates } from "./Shrinker.ts"
import { type EndedBetween, reused } from "../target/reused.ts"
import type { Target, TargetError } from "../target/Target.ts"

export interface Options extends Generator.Options, SearchLimits {
  /** Custom rules to check in addition to the specification's. */
  readonly rules?: ReadonlyArray<Rule> | undefined
  /** How long a request may take before it counts as unanswered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** Called at the start with a function that returns the report so far. Use it if the search may be interrupted. */
  readonly onStart?: ((report: () => Report) => void) | undefined
}

/** The result of searching a server. */
export interface Report extends SearchOutcome<Script> {
  /** The server's survey in each revision, newest first. */
  readonly surveys: ReadonlyArray<Survey>
}

/** Sorts surveys by revision, newest first, because authors care most about the newest. Versions are dates, so they compare as strings. */
export const newestFirst = (surveys: ReadonlyArray<Survey>): ReadonlyArray<Survey> =>
  surveys.toSorted((one, two) => (one.revision < two.revision ? 1 : -1))

/** How long to wait in a search, in milliseconds. A slow response is recognized as such when the finding is confirmed. */
const impatience = 1500
/** Skips the wait for an answer that is known to be missing, unless the search looks for it. */
const isHopeful = ({ method, wellFormed }: Exchange, { isKnown, wanted }: Playing): boolean => {
  const rule = wellFormed ? "answer-always" : "malformed-answered"
  const key = wellFormed ? `${rule} ${method}` : rule
  return key === wanted || !isKnown(key, rule)
}

export const aboutOf = (target: Target, all: ReadonlyArray<Survey>): string => {
  const surveys = newestFirst(all)
  const server = surveys[0]?.server
  const versions = surveys.map(({ revision }) => revision).join(", ")
  return `${server === undefined ? target.name : `${server.name} ${server.version}`} in ${versions}`
}

/** Lets conversations share a server, except when one finding is examined. `ended` collects servers that ended in between. */
const reusing = (
  target: Target,
  jobs: number | undefined,
  ended: Array<EndedBetween>
): Effect.Effect<Target, never, Scope.Scope> =>
  target.transport === "stdio" ? reused(target, jobs, (one) => void ended.push(one)) : Effect.succeed(target)

/** Commands that the player sends at the end of a conversation if its server is kept. */
const ending = (method: string): Script["commands"] => [
  { _tag: "Wait" },
  { _tag: "Cancel", which: "subscriptions" },
  { _tag: "Request", method },
  { _tag: "Wait" }
]

/** Makes the first step continue the session of the previous conversation. Later handshakes stay handshakes. */
const continued = (command: Command, index: number): Command =>
  command._tag === "Open" && index === 0 ? { ...command, continues: true } : command

/** Joins conversations with the same server, with the commands that the player sends between them. */
const inOneServer = (scripts: ReadonlyArray<Script>, revision: Version): ReadonlyArray<Command> => {
  const end = ending(Revision.get(revision)?.era === "stateless" ? "server/discover" : "ping")
  return scripts.flatMap(({ commands }, index) => [...(index === 0 ? commands : commands.map(continued)), ...end])
}

const resultOf = (played: Played): ConversationResult<Script> => {
  const { before, script } = played
  if (before.length === 0) return played
  const earlier = inOneServer(before, script.revision)
  const whole = { ...script, commands: [...earlier, ...script.commands.map(continued)] }
  return { ...played, whole: { script: whole, earlier: earlier.length } }
}

/** Returns the findings about a server that exited between conversations, with its conversations. */
const between = ({ before, how, revision }: EndedBetween, rules: ReadonlyArray<Rule>) => {
  const commands: ReadonlyArray<Command> = [...inOneServer(before, revision), { _tag: "Idle" }]
  const model = new Model(unknown(revision))
  return rules.flatMap((rule): ReadonlyArray<{ readonly found: Found; readonly script: Script }> => {
    const said = rule.on.Gone?.({ how, isIdle: true }, model)
    if (said === undefined || said === "pass") return []
    return [{ found: { ...said, rule, command: commands.length - 1 }, script: { revision, commands } }]
  })
}

const serverOf = (
  target: Target,
  shared: Target,
  surveys: ReadonlyArray<Survey>,
  options: Options,
  ended: Array<EndedBetween>
): SearchSubject<Script> => {
  const rules = chosen([...all, ...(options.rules ?? [])], options.only)
  const generators = newestFirst(surveys).map((survey) =>
    Generator.conversations(survey, { ...options, overHttp: target.transport === "http" })
  )
  const surveyOf = new Map(surveys.map((survey) => [survey.revision, survey]))
  const patience = options.patience ?? 5000
  return {
    name: target.name,
    about: aboutOf(target, surveys),
    transport: target.transport,
    revisions: newestFirst(surveys).map(({ revision }) => revision),
    rules,
    scripts: (number) => generators[number % generators.length],
    candidates,
    play: (script, playing) => {
      const { hasty, isKnown, left, wanted } = playing
      const closing =
        wanted === undefined
          ? !isKnown("exits", "exits") && !isKnown("exits-with-input", "exits-with-input")
          : wanted.startsWith("exits")
      const survey = surveyOf.get(script.revision) ?? unknown(script.revision)
      const played = play(wanted === undefined ? shared : target, survey, script, {
        rules,
        patience: Math.min(left, hasty ? Math.min(impatience, patience) : 2 * patience),
        exitPatience: Math.min(left, 5000),
        closing,
        hopeful: (exchange) => isHopeful(exchange, playing)
      })
      if (wanted !== undefined) return Effect.map(played, resultOf)
      return Effect.map(played, (one) => ({
        ...resultOf(one),
        between: ended.splice(0).flatMap((each) => between(each, rules))
      }))
    }
  }
}

/** Searches a server for faults. `surveys` describes the server; see `survey`. */
export const search = (
  target: Target,
  surveys: ReadonlyArray<Survey>,
  options: Options = {}
): Effect.Effect<Report, TargetError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const ended: Array<EndedBetween> = []
      const shared = yield* reusing(target, options.jobs, ended)
      const reported = (outcome: SearchOutcome<Script>): Report => ({
        ...outcome,
        surveys: newestFirst(surveys)
      })
      const outcome = yield* searchSubject(serverOf(target, shared, surveys, options, ended), options, (outcome) =>
        options.onStart?.(() => reported(outcome()))
      )
      return reported(outcome)
    })
  )
