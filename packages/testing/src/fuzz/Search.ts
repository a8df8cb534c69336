/**
 * Generates conversations and plays them until the time is over. A broken rule is shrunk and confirmed, and the search continues.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as Generator from "./generator/Generator.ts"
import type { Exchange } from "./model/Observation.ts"
import { type Count, type Found, keyOf, type Level, levelIn, type Rule } from "./model/Rule.ts"
import type { Script } from "./model/Script.ts"
import type { Survey } from "./model/Survey.ts"
import { type Line, play, type Played } from "./Player.ts"
import { all } from "./rules/all.ts"
import { shrink } from "./Shrinker.ts"
import type { Target, TargetError } from "./target/Target.ts"

/** A rule that the server breaks, and the shortest conversation that shows it. */
export interface Finding {
  /** Tells it from others: the name of the rule, and what it is about. */
  readonly key: string
  readonly rule: Rule
  readonly level: Level
  readonly detail: string
  readonly script: Script
  /** What crossed the wire when it was played. */
  readonly lines: ReadonlyArray<Line>
  /** How often it happened again, of `confirmations` times. */
  readonly again: number
  /** The conversation that showed it first: `--seed` and this number find it again. */
  readonly conversation: number
}

export interface Progress {
  readonly conversations: number
  readonly findings: ReadonlyArray<Finding>
  /** The finding that is made shorter at the moment. */
  readonly shrinking: string | undefined
}

export interface Options extends Generator.Options {
  /** Decides which conversations are generated. Default 1. */
  readonly seed?: number | string | undefined
  /** Conversations at most. Default: as many as the time allows. */
  readonly runs?: number | undefined
  /** Default 1 minute. */
  readonly time?: Duration.Input | undefined
  /** Stops after this many findings. Default: never. */
  readonly findings?: number | undefined
  /** Conversations at once. Default 1. */
  readonly jobs?: number | undefined
  /** Keys of findings, or names of rules, that are accepted. */
  readonly known?: ReadonlySet<string> | undefined
  /** Only rules whose name, requirement or level begins with one of these. Default: all. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Rules of a user, beside those of the specification. */
  readonly rules?: ReadonlyArray<Rule> | undefined
  /** How long a request may take before it counts as never answered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

export interface Report {
  readonly target: string
  readonly seed: number | string
  readonly surveys: ReadonlyArray<Survey>
  readonly conversations: number
  readonly milliseconds: number
  readonly findings: ReadonlyArray<Finding>
  /** What was seen once and did not happen again: most often a machine that was busy. */
  readonly unconfirmed: ReadonlyArray<Finding>
  /** Why the search ended early: the server could not be reached any more. */
  readonly lost?: string | undefined
  /** Every rule that was looked at. */
  readonly rules: ReadonlyArray<{ readonly rule: Rule } & Readonly<Count>>
}

/** How often a finding is played again. */
export const confirmations = 3
/** Long enough for most servers, in milliseconds: what is only slow is told apart when it is confirmed. */
const impatience = 1500
/** The time that making one finding shorter may take. */
const shrinkTime = 30_000

const matches = (rule: Rule, only: ReadonlyArray<string>): boolean =>
  only.length === 0 ||
  only.some((word) => [rule.name, rule.requirement ?? "", rule.level].some((text) => text.startsWith(word)))

class Search {
  readonly findings: Array<Finding> = []
  readonly unconfirmed: Array<Finding> = []
  /** Why the search ended early. */
  lost: string | undefined
  readonly counts = new Map<string, Count>()
  private readonly seen = new Set<string>()
  private played = 0
  private next = 0
  private shrinking: string | undefined
  private readonly alone = Semaphore.makeUnsafe(1)
  private readonly scripts: ReadonlyArray<Arbitrary.Arbitrary<Script>>
  readonly rules: ReadonlyArray<Rule>
  private readonly target: Target
  private readonly surveys: ReadonlyArray<Survey>
  private readonly options: Options
  private readonly isOver: () => boolean

  constructor(target: Target, surveys: ReadonlyArray<Survey>, options: Options, isOver: () => boolean) {
    this.target = target
    this.surveys = surveys
    this.options = options
    this.isOver = isOver
    this.rules = [...all, ...(options.rules ?? [])].filter((rule) => matches(rule, options.only ?? []))
    this.scripts = surveys.map((survey) =>
      Generator.conversations(survey, { ...options, overHttp: target.transport === "http" })
    )
  }

  private get impatience(): number {
    return Math.min(impatience, this.options.patience ?? impatience)
  }

  get conversations(): number {
    return this.played
  }

  private isKnown(key: string, rule: string): boolean {
    const { known } = this.options
    return this.seen.has(key) || known?.has(key) === true || known?.has(rule) === true
  }

  /** What is never answered, as is known, is not waited for again, unless it is what is looked for. */
  private isHopeful({ method, wellFormed }: Exchange, wanted: string | undefined): boolean {
    const rule = wellFormed ? "answer-always" : "malformed-answered"
    const key = wellFormed ? `${rule} ${method}` : rule
    return key === wanted || !this.isKnown(key, rule)
  }

  /** `wanted`: the finding that is looked for; undefined while all are. */
  private play(survey: Survey, script: Script, patience?: number, wanted?: string): Effect.Effect<Played, TargetError> {
    const closing =
      wanted === undefined
        ? !this.isKnown("exits", "exits") && !this.isKnown("exits-with-input", "exits-with-input")
        : wanted.startsWith("exits")
    return play(this.target, survey, script, {
      rules: this.rules,
      patience,
      closing,
      hopeful: (exchange) => this.isHopeful(exchange, wanted)
    })
  }

  private tell(): void {
    this.options.onProgress?.({ conversations: this.played, findings: this.findings, shrinking: this.shrinking })
  }

  /** The conversation of this number: the same for the same seed and server. */
  private script(number: number): Effect.Effect<readonly [Survey, Script] | undefined> {
    const index = number % this.surveys.length
    const [survey, scripts] = [this.surveys[index], this.scripts[index]]
    if (survey === undefined || scripts === undefined) return Effect.undefined
    const sampled = Arbitrary.sampleEffect(scripts, { count: 1, size: 12, seed: `${this.options.seed ?? 1}:${number}` })
    return Effect.map(Effect.orDie(sampled), ([script]) => (script === undefined ? undefined : [survey, script]))
  }

  /** One of the jobs: conversations until it is over. */
  readonly work: Effect.Effect<void, TargetError> = Effect.gen({ self: this }, function* () {
    const { findings = Infinity, runs = Infinity } = this.options
    while (!this.isOver() && this.lost === undefined && this.next < runs && this.findings.length < findings) {
      const number = this.next++
      const made = yield* this.script(number)
      if (made === undefined) return
      const [survey, script] = made
      const played = yield* Effect.catch(this.play(survey, script, this.impatience), (error) => this.gone(error))
      if (played === undefined) return
      this.played++
      this.count(played)
      this.tell()
      for (const found of played.found) {
        const key = keyOf(found)
        if (this.isKnown(key, found.rule.name)) continue
        this.seen.add(key)
        yield* this.alone.withPermit(this.examine(survey, played, found, key, number))
      }
    }
  })

  /** A server that was there before has a fault; one that never was cannot be searched. */
  private gone(error: TargetError): Effect.Effect<undefined, TargetError> {
    if (this.played === 0) return Effect.fail(error)
    this.lost ??= error.message
    return Effect.undefined
  }

  private count({ counts }: Played): void {
    for (const [name, { broken, kept }] of counts) {
      const count = this.counts.get(name) ?? { kept: 0, broken: 0 }
      this.counts.set(name, { kept: count.kept + kept, broken: count.broken + broken })
    }
  }

  private readonly examine = Effect.fnUntraced(function* (
    this: Search,
    survey: Survey,
    first: Played,
    found: Found,
    key: string,
    conversation: number
  ) {
    this.shrinking = key
    this.tell()
    const clock = yield* Clock.Clock
    const until = clock.currentTimeMillisUnsafe() + shrinkTime
    const patience = this.options.patience ?? 5000
    const findIn = (played: Played | undefined) => played?.found.find((again) => keyOf(again) === key)
    const tried = (script: Script, patience: number) =>
      Effect.catch(this.play(survey, script, patience, key), () => Effect.undefined)
    const script = yield* shrink(
      first.script,
      (candidate) => Effect.map(tried(candidate, this.impatience), (played) => findIn(played) !== undefined),
      { cause: found.command, goesOn: () => clock.currentTimeMillisUnsafe() < until }
    )
    // With more patience, so that a slow answer is no fault.
    const again = yield* Effect.forEach(Array.from({ length: confirmations }), () => tried(script, 2 * patience))
    const confirmed = again.flatMap((played) => (played !== undefined && findIn(played) !== undefined ? [played] : []))
    const best = confirmed[0]
    const findings = best === undefined ? this.unconfirmed : this.findings
    findings.push({
      key,
      rule: found.rule,
      level: levelIn(found.rule, script.revision),
      detail: (best && findIn(best)?.detail) ?? found.detail,
      script,
      lines: best?.lines ?? first.lines,
      again: confirmed.length,
      conversation
    })
    this.shrinking = undefined
    this.tell()
  })
}

/** Searches a server for faults. It is what `surveys` says; see `survey`. */
export const search = (
  target: Target,
  surveys: ReadonlyArray<Survey>,
  options: Options = {}
): Effect.Effect<Report, TargetError> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const start = clock.currentTimeMillisUnsafe()
    const end = start + Duration.toMillis(Duration.fromInputUnsafe(options.time ?? "1 minute"))
    const running = new Search(target, surveys, options, () => clock.currentTimeMillisUnsafe() >= end)
    const jobs = Math.max(1, options.jobs ?? 1)
    yield* Effect.forEach(Array.from({ length: jobs }), () => running.work, { concurrency: jobs, discard: true })
    return {
      target: target.name,
      seed: options.seed ?? 1,
      surveys,
      conversations: running.conversations,
      milliseconds: clock.currentTimeMillisUnsafe() - start,
      findings: running.findings,
      unconfirmed: running.unconfirmed,
      lost: running.lost,
      rules: running.rules.map((rule) => ({ rule, ...(running.counts.get(rule.name) ?? { kept: 0, broken: 0 }) }))
    }
  })
