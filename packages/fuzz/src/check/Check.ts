/** Checks a server quickly. Tests each of the fuzzer's rules once in every revision the server supports, using fixed conversations. */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { keyOf, levelIn, type Found, type Rule } from "../model/Rule.ts"
import type { Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { Tally } from "../model/Tally.ts"
import type { Played } from "../play/Played.ts"
import { play } from "../play/Player.ts"
import { startPatience } from "../play/PlayOptions.ts"
import { all } from "../rules/all.ts"
import { chosen, type Finding, timed } from "../search/Search.ts"
import { aboutOf, newestFirst, type Options as SearchOptions } from "../search/ServerSearch.ts"
import { survey, type Options as SurveyOptions } from "../search/Surveyor.ts"
import { kindOf } from "../target/kinds.ts"
import { reused } from "../target/reused.ts"
import type { Target, TargetError } from "../target/Target.ts"
import type { CheckOutcome } from "./CheckOutcome.ts"
import { plan } from "./plan.ts"

export type { CheckOutcome } from "./CheckOutcome.ts"
export { badge, badgeSvg, type Paint, text } from "./CheckText.ts"

export interface Options
  extends
    Omit<SearchOptions, "findings" | "flood" | "moves" | "onProgress" | "onStart" | "runs" | "seed">,
    Pick<SurveyOptions, "revisions"> {
  /** Called with the number of conversations finished so far and the total. */
  readonly onProgress?: ((played: number, all: number) => void) | undefined
  /** Called at the start with a function that returns the report so far. Use it if the check may be interrupted. */
  readonly onStart?: ((report: () => CheckOutcome) => void) | undefined
}

/** Milliseconds to wait for an answer. A finding is confirmed with more patience. */
const impatience = 500
/** How long a server may take to exit, in milliseconds. */
const exitPatience = 3000
/** How long to wait for running conversations after the time limit, in milliseconds. */
const overtime = 4000

interface Talk {
  readonly survey: Survey
  readonly script: Script
  /** True if the server must exit afterwards. */
  readonly closing: boolean
}

const isRaw = ({ commands }: Script): boolean => commands.some(({ _tag }) => _tag === "Raw")

/**
 * Groups conversations by the process that can serve them one after another, because a process takes longer to start than most
 * conversations last. Raw text may spoil the process, so it comes last.
 */
const lanesOf = (survey: Survey, scripts: ReadonlyArray<Script>): ReadonlyArray<ReadonlyArray<Talk>> => {
  const [first] = scripts
  const lanes = Map.groupBy(scripts, (script) => kindOf(script)?.takes ?? script)
  return Array.from(lanes.values(), (lane) => {
    const talks = lane.map((script): Talk => ({ survey, script, closing: false }))
    const closing = first === undefined || lane[0] !== first ? [] : [{ survey, script: first, closing: true }]
    return [...talks.filter(({ script }) => !isRaw(script)), ...closing, ...talks.filter(({ script }) => isRaw(script))]
  })
}

/** Returns the target without reuse of processes. */
const unkept = (target: Target): Target =>
  target.transport === "http"
    ? target
    : {
        ...target,
        open: (receive, script) => Effect.map(target.open(receive, script), (wire) => ({ ...wire, keep: undefined }))
      }

class Checker {
  private readonly findings: Array<Finding> = []
  private readonly unconfirmed: Array<Finding> = []
  private readonly tally = new Tally()
  /** Names of rules with a finding that was confirmed in a new process. */
  private readonly confirmed = new Set<string>()
  private readonly seen = new Set<string>()
  private readonly rules: ReadonlyArray<Rule>
  private readonly target: Target
  private readonly shared: Target
  private readonly surveys: ReadonlyArray<Survey>
  private readonly options: Options
  private readonly now: () => number
  private readonly start: number
  private lost: string | undefined
  private played = 0
  private planned = 0

  constructor(target: Target, shared: Target, surveys: ReadonlyArray<Survey>, options: Options, now: () => number) {
    this.target = target
    this.shared = shared
    this.surveys = newestFirst(surveys)
    this.options = options
    this.now = now
    this.start = now()
    this.rules = chosen([...all, ...(options.rules ?? [])], options.only)
  }

  private talk(target: Target, survey: Survey, script: Script, patience: number, closing = false) {
    return play(target, survey, script, {
      rules: this.rules,
      patience,
      firstPatience: this.options.patience ?? startPatience,
      closing,
      exitPatience,
      keepsBroken: true
    })
  }

  /** Plays all conversations in all revisions. */
  readonly run = (end: number): Effect.Effect<void, TargetError> => {
    const { jobs = 3, patience = 5000 } = this.options
    const newestStateful = this.surveys.find(({ revision }) => Revision.get(revision)?.era === "stateful")
    const lanes = this.surveys.flatMap((survey): ReadonlyArray<ReadonlyArray<Talk>> => {
      const isOverHttp = this.target.transport === "http"
      const scripts = plan(survey, this.options, isOverHttp, survey === newestStateful)
      return isOverHttp ? scripts.map((script) => [{ survey, script, closing: false }]) : lanesOf(survey, scripts)
    })
    this.planned = lanes.flat().length
    const closed = unkept(this.shared)
    const had = ({ closing, script, survey }: Talk) =>
      Effect.suspend(() => {
        if (this.now() >= end || this.lost !== undefined) return Effect.void
        const target = closing ? closed : this.shared
        const talk = this.talk(target, survey, script, Math.min(impatience, patience), closing)
        return Effect.matchEffect(talk, {
          onFailure: ({ message }) => Effect.sync(() => void (this.lost ??= message)),
          onSuccess: (played) => this.take(survey, script, played, closing)
        })
      })
    return Effect.forEach(lanes, (lane) => Effect.forEach(lane, had, { discard: true }), {
      concurrency: jobs,
      discard: true
    })
  }

  private readonly take = Effect.fnUntraced(function* (
    this: Checker,
    survey: Survey,
    script: Script,
    first: Played,
    closing: boolean
  ) {
    const conversation = this.played++
    this.tally.add(script.revision, first.counts)
    this.options.onProgress?.(this.played, this.planned)
    for (const found of first.found) {
      const key = keyOf(found)
      const id = `${key} ${script.revision}`
      const { known } = this.options
      if (this.seen.has(id) || known?.has(key) === true || known?.has(found.rule.name) === true) continue
      this.seen.add(id)
      yield* this.confirm(survey, script, first, found, conversation, closing)
    }
  })

  /** Plays a conversation that broke a rule again. The first finding of each rule is confirmed in a new process. */
  private readonly confirm = Effect.fnUntraced(function* (
    this: Checker,
    survey: Survey,
    script: Script,
    first: Played,
    found: Found,
    conversation: number,
    closing: boolean
  ) {
    const { patience = 5000 } = this.options
    const key = keyOf(found)
    const isKnown = this.confirmed.has(found.rule.name)
    const target = closing || !isKnown ? this.target : this.shared
    const longer = Math.min(patience, isKnown ? 1500 : 3000)
    const again = yield* Effect.catch(this.talk(target, survey, script, longer, closing), () => Effect.undefined)
    const same = again?.found.find((each) => keyOf(each) === key)
    if (same !== undefined) this.confirmed.add(found.rule.name)
    const finding = {
      key,
      rule: found.rule,
      level: levelIn(found.rule, script.revision),
      detail: (same ?? found).detail,
      script,
      lines: (same === undefined ? first : (again ?? first)).lines,
      again: 1,
      times: 2,
      conversation
    }
    ;(same === undefined ? this.unconfirmed : this.findings).push(finding)
    if (same !== undefined) this.options.onFinding?.(finding)
  })

  readonly report = (): CheckOutcome => ({
    command: "check",
    target: this.target.name,
    about: aboutOf(this.target, this.surveys),
    transport: this.target.transport,
    revisions: this.surveys.map(({ revision }) => revision),
    surveys: this.surveys,
    seed: 0,
    conversations: this.played,
    milliseconds: this.now() - this.start,
    findings: this.findings,
    unconfirmed: this.unconfirmed,
    lost: this.lost,
    rules: this.tally.of(this.rules),
    isCut: this.played < this.planned
  })
}

/** Checks a server. Fails if the server supports no known revision. Ends at most 5 seconds after `time`, which defaults to one minute. */
export const run = Effect.fnUntraced(function* (
  target: Target,
  options: Options = {}
): Effect.fn.Return<CheckOutcome, TargetError> {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const left = yield* timed(options.time)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const shared =
        target.transport === "stdio" ? yield* reused(target, options.jobs ?? 3, () => {}, Infinity) : target
      // The processes of the survey serve conversations of the check afterwards.
      const surveys = yield* survey(shared, options)
      const checker = new Checker(target, shared, surveys, options, now)
      options.onStart?.(checker.report)
      yield* Effect.timeoutOption(checker.run(now() + left()), Duration.millis(left() + overtime))
      return checker.report()
    })
  )
})
