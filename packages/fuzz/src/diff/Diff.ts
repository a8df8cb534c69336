/**
 * Runs the same generated conversations against two servers, or two versions of one server, and reports the differences.
 *
 * Ignores times, UUIDs, cursors, states and server names, along with anything that also differs between two runs of the same server.
 */
import * as Effect from "effect/Effect"
import * as Generator from "../generator/Generator.ts"
import type { Found, Statement } from "../model/Rule.ts"
import type { Command, Script } from "../model/Script.ts"
import { type Survey, unknown } from "../model/Survey.ts"
import type { Played } from "../play/Played.ts"
import { play } from "../play/Player.ts"
import {
  type SearchLimits,
  type SearchOutcome,
  type Playing,
  searchSubject,
  type ConversationResult,
  type SearchSubject,
  timed
} from "../search/Search.ts"
import { newestFirst } from "../search/ServerSearch.ts"
import { candidates } from "../search/Shrinker.ts"
import { survey } from "../search/Surveyor.ts"
import { type Target, TargetError } from "../target/Target.ts"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { compare, type Difference, keyOf, told } from "./compare.ts"

/** The rule that every difference breaks. */
const same: Statement = { name: "same", level: "difference", text: "Both servers give the same answers." }

export interface Options extends Generator.Options, SearchLimits {
  /** Revisions to compare. Default: every revision both servers support. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  /** Time limit for a request, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** Paths to ignore, such as `result.structuredContent.now` or `tools/call time`. */
  readonly ignore?: ReadonlyArray<string> | undefined
  /** Called at the start with a function that returns the report so far. Use it if the comparison may be interrupted. */
  readonly onStart?: ((report: () => Compared) => void) | undefined
}

/** True if a difference is at or below an ignored path. */
const isIgnored = ({ path, what }: Difference, ignore: ReadonlyArray<string>): boolean =>
  ignore.some((wanted) =>
    [path, `${what} ${path}`].some(
      (text) => text === wanted || [".", "[", " "].some((next) => text.startsWith(`${wanted}${next}`))
    )
  )

/** Waits for each answer before sending the next request, which keeps the order of the conversation. */
const paced = ({ commands, revision }: Script): Script => ({
  revision,
  commands: commands.flatMap((command): ReadonlyArray<Command> =>
    command._tag === "Request" || command._tag === "NextPage" ? [command, { _tag: "Wait" }] : [command]
  )
})

class Both {
  /** Paths that differ between two runs of one server. */
  readonly unstable = new Set<string>()
  private readonly first: Target
  private readonly second: Target
  private readonly surveys: ReadonlyMap<string, Survey>
  private readonly options: Options

  constructor(first: Target, second: Target, surveys: ReadonlyArray<Survey>, options: Options) {
    this.first = first
    this.second = second
    this.surveys = new Map(surveys.map((survey) => [survey.revision, survey]))
    this.options = options
  }

  private talk(target: Target, script: Script, { hasty, left }: Playing): Effect.Effect<Played, TargetError> {
    const { patience = 5000 } = this.options
    const known = this.surveys.get(script.revision) ?? unknown(script.revision)
    return play(target, known, paced(script), {
      rules: [],
      closing: false,
      patience: Math.min(left, hasty ? 1500 : patience, patience)
    })
  }

  readonly play = (script: Script, playing: Playing): Effect.Effect<ConversationResult, TargetError> =>
    Effect.gen({ self: this }, function* () {
      const first = yield* this.talk(this.first, script, playing)
      const second = yield* this.talk(this.second, script, playing)
      const { ignore = [] } = this.options
      const counted = compare(first, second).filter(
        (each) => !isIgnored(each, ignore) && !this.unstable.has(keyOf(each))
      )
      const fresh = counted.filter((each) => !playing.isKnown(`same ${keyOf(each)}`, same.name))
      if (fresh.length > 0) yield* this.again(script, playing, first, second)
      const differences = counted.filter((each) => !this.unstable.has(keyOf(each)))
      const found = differences.map((each): Found => ({
        rule: same,
        about: keyOf(each),
        detail: told(each),
        command: script.commands.length
      }))
      const count = { kept: differences.length === 0 ? 1 : 0, broken: differences.length }
      return { found, counts: new Map([[same.name, count]]), lines: first.lines }
    })

  /** Repeats the conversation and records the paths that differ between two runs of the same server. */
  private readonly again = Effect.fnUntraced(function* (
    this: Both,
    script: Script,
    playing: Playing,
    first: Played,
    second: Played
  ) {
    const others = [
      compare(first, yield* this.talk(this.first, script, playing)),
      compare(second, yield* this.talk(this.second, script, playing))
    ]
    for (const difference of others.flat()) this.unstable.add(keyOf(difference))
  })
}

/** The result of a comparison. */
export interface Compared extends SearchOutcome<Script> {
  readonly surveys: ReadonlyArray<Survey>
  readonly command: "diff"
  /** Paths that also differ between two runs of the same server, and are therefore ignored. */
  readonly unstable: ReadonlyArray<string>
}

/** Runs the same conversations against both servers, in every revision both support. The conversations use the first server's features. */
export const run = Effect.fnUntraced(function* (
  first: Target,
  second: Target,
  options: Options = {}
): Effect.fn.Return<Compared, TargetError> {
  const left = yield* timed(options.time)
  const [surveys, others] = yield* Effect.all([survey(first, options), survey(second, options)], { concurrency: 2 })
  const theirs = new Set(others.map(({ revision }) => revision))
  const common = newestFirst(surveys.filter(({ revision }) => theirs.has(revision)))
  if (common.length === 0) {
    const versions = (all: Iterable<string>) => [...all].join(", ")
    const spoken = `${versions(surveys.map(({ revision }) => revision))} and ${versions(theirs)}`
    return yield* new TargetError({ message: `${first.name} and ${second.name} have no revision in common: ${spoken}` })
  }
  const both = new Both(first, second, common, options)
  const generators = common.map((survey) => Generator.conversations(survey, options))
  const name = `${first.name} --- ${second.name}`
  const subject: SearchSubject<Script> = {
    name,
    about: `${name} in ${common.map(({ revision }) => revision).join(", ")}`,
    transport: first.transport,
    revisions: common.map(({ revision }) => revision),
    rules: [same],
    scripts: (number) => generators[number % generators.length],
    candidates,
    play: both.play
  }
  const compared = (outcome: SearchOutcome<Script>): Compared => ({
    ...outcome,
    surveys: common,
    command: "diff",
    unstable: [...both.unstable].toSorted()
  })
  const outcome = yield* searchSubject(subject, { ...options, time: left() }, (outcome) =>
    options.onStart?.(() => compared(outcome()))
  )
  return compared(outcome)
})
