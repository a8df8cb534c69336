/**
 * Checks a server: the rules of the fuzzer, each looked at once in every revision that the server speaks, in fixed conversations.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { keyOf, levelIn, type Found, type Rule } from "../model/Rule.ts"
import type { Script } from "../model/Script.ts"
import type { Survey } from "../model/Survey.ts"
import { Tally } from "../model/Tally.ts"
import type { Played } from "../Played.ts"
import { play } from "../Player.ts"
import { all } from "../rules/all.ts"
import { chosen, type Finding, timed } from "../Search.ts"
import { aboutOf, newestFirst, type Options as SearchOptions } from "../ServerSearch.ts"
import { survey, type Options as SurveyOptions } from "../Surveyor.ts"
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
  /** Called with the number of conversations that were had, and of all. */
  readonly onProgress?: ((played: number, all: number) => void) | undefined
  /** Called at the start with a function that returns the report so far, for a check that may be interrupted. */
  readonly onStart?: ((report: () => CheckOutcome) => void) | undefined
}

/**
 * Long enough for most servers, in milliseconds. A slow answer is told apart when it is asked for again. Without a handshake the first
 * answer also waits for the process to start.
 */
const impatienceIn = (version: Version): number => (version >= "2026" ? 3000 : 500)
/** How long a server may take to exit, in milliseconds. */
const exitPatience = 3000
/** How long the conversations that run are waited for when the time is over, in milliseconds. */
const overtime = 4000

class Checker {
  private readonly findings: Array<Finding> = []
  private readonly unconfirmed: Array<Finding> = []
  private readonly tally = new Tally()
  /** Keys that were confirmed in a server of their own. */
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
    return play(target, survey, script, { rules: this.rules, patience, closing, exitPatience, keepsBroken: true })
  }

  /** All conversations in all revisions. */
  readonly run = (end: number): Effect.Effect<void, TargetError> => {
    const { jobs = 3, patience = 5000 } = this.options
    const planned = this.surveys.flatMap((survey) => {
      const scripts = plan(survey, this.options, this.target.transport === "http")
      const [first] = scripts
      // The first one again, at whose end the server is seen to exit.
      const closing =
        first === undefined || this.target.transport !== "stdio" ? [] : [{ survey, script: first, closing: true }]
      return [...scripts.map((script) => ({ survey, script, closing: false })), ...closing]
    })
    this.planned = planned.length
    return Effect.forEach(
      planned,
      ({ closing, script, survey }) =>
        Effect.suspend(() => {
          if (this.now() >= end || this.lost !== undefined) return Effect.void
          const target = closing ? this.target : this.shared
          const talk = this.talk(target, survey, script, Math.min(impatienceIn(script.revision), patience), closing)
          return Effect.matchEffect(talk, {
            onFailure: ({ message }) => Effect.sync(() => void (this.lost ??= message)),
            onSuccess: (played) => this.take(survey, script, played, closing)
          })
        }),
      { concurrency: jobs, discard: true }
    )
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

  /** Plays a conversation that broke a rule again: once for each finding in a server of its own. */
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
    const isKnown = this.confirmed.has(key)
    const target = closing || !isKnown ? this.target : this.shared
    const longer = Math.min(patience, isKnown ? 1500 : 3000)
    const again = yield* Effect.catch(this.talk(target, survey, script, longer, closing), () => Effect.undefined)
    const same = again?.found.find((each) => keyOf(each) === key)
    if (same !== undefined) this.confirmed.add(key)
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

/** Checks a server. Fails if it speaks no revision. Ends 5 seconds after `time` at the latest; by default that is a minute. */
export const run = Effect.fnUntraced(function* (
  target: Target,
  options: Options = {}
): Effect.fn.Return<CheckOutcome, TargetError> {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const left = yield* timed(options.time)
  const surveys = yield* survey(target, options)
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const shared =
        target.transport === "stdio" ? yield* reused(target, options.jobs ?? 3, () => {}, Infinity) : target
      const checker = new Checker(target, shared, surveys, options, now)
      options.onStart?.(checker.report)
      yield* Effect.timeoutOption(checker.run(now() + left()), Duration.millis(left() + overtime))
      return checker.report()
    })
  )
})
