/** The search of a server: its conversations, in servers that have several, and again in one of their own where a finding is confirmed. */
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
  /** Rules of a user, beside those of the specification. */
  readonly rules?: ReadonlyArray<Rule> | undefined
  /** How long a request may take before it counts as never answered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** Called at the start with a function that returns the report so far, for a search that may be interrupted. */
  readonly onStart?: ((report: () => Report) => void) | undefined
}

/** What a search of a server gives. */
export interface Report extends SearchOutcome<Script> {
  /** The server in each revision, the newest first. */
  readonly surveys: ReadonlyArray<Survey>
}

/** What authors can act on comes first. Versions are dates, so they compare as texts. */
export const newestFirst = (surveys: ReadonlyArray<Survey>): ReadonlyArray<Survey> =>
  surveys.toSorted((one, two) => (one.revision < two.revision ? 1 : -1))

/** Long enough for most servers, in milliseconds: what is only slow is told apart when it is confirmed. */
const impatience = 1500
/** What is never answered, as is known, is not waited for again, unless it is what is looked for. */
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

/** A conversation needs no server of its own, but where one finding is looked for. `ended` takes those that ended between two. */
const reusing = (
  target: Target,
  jobs: number | undefined,
  ended: Array<EndedBetween>
): Effect.Effect<Target, never, Scope.Scope> =>
  target.transport === "stdio" ? reused(target, jobs, (one) => void ended.push(one)) : Effect.succeed(target)

/** What the player sends at the end of a conversation whose server is kept. */
const ending = (method: string): Script["commands"] => [
  { _tag: "Wait" },
  { _tag: "Cancel", which: "subscriptions" },
  { _tag: "Request", method },
  { _tag: "Wait" }
]

/** The first step of a conversation continues the session of the one before; a later handshake is one more. */
const continued = (command: Command, index: number): Command =>
  command._tag === "Open" && index === 0 ? { ...command, continues: true } : command

/** The commands of conversations with one server, each with the end that lets the server have another one. */
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

/** What the rules say of a server that ended while no conversation was with it, and the conversations that it had. */
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

/** Searches a server for faults. It is what `surveys` says; see `survey`. */
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
