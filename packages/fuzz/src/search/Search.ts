/**
 * Generates conversations and plays them until the time is over. A broken rule is shrunk and confirmed, and the search continues.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type Count, type Found, keyOf, type Level, levelIn, type Statement } from "../model/Rule.ts"
import { type RuleCount, Tally } from "../model/Tally.ts"
import type { Line } from "../play/Played.ts"
import { shrinkBy } from "@effect-mcp/testing/internal/Shrinker"
import type { Script } from "../model/Script.ts"
import type { TargetError } from "../target/Target.ts"

/** A rule that is broken, and the shortest conversation that shows it. */
export interface Finding<S = Script> {
  /** Tells it from others: the name of the rule, and what it is about. */
  readonly key: string
  readonly rule: Statement
  readonly level: Level
  readonly detail: string
  readonly script: S
  /** What crossed the wire when it was played. */
  readonly lines: ReadonlyArray<Line>
  /** How often it happened again, of `confirmations` times. */
  readonly again: number
  /** How often it was seen, where real traffic is judged. */
  readonly times?: number | undefined
  /** Whether a shorter conversation may show it, too: the time was over before all were tried. */
  readonly isCut?: true | undefined
  /** The conversation that showed it first: `--seed` and this number find it again. */
  readonly conversation: number
}

export interface SearchProgress {
  readonly conversations: number
  readonly findings: ReadonlyArray<Finding<unknown>>
  /** The finding that is made shorter at the moment. */
  readonly shrinking: string | undefined
}

/** Options of any search. */
export interface SearchLimits {
  /** Decides which conversations are generated. Default 1. */
  readonly seed?: number | string | undefined
  /** Conversations at most. Default: as many as the time allows. */
  readonly runs?: number | undefined
  /** Default 1 minute. Findings that are open when the time is over are confirmed, and the search ends within 5 more seconds. */
  readonly time?: Duration.Input | undefined
  /** Stops after this many findings. Default: never. */
  readonly findings?: number | undefined
  /** Conversations at once. Default 1. */
  readonly jobs?: number | undefined
  /** Keys of findings, or names of rules, that are accepted. */
  readonly known?: ReadonlySet<string> | undefined
  /** Only rules whose name, requirement or level begins with one of these. Default: all. */
  readonly only?: ReadonlyArray<string> | undefined
  readonly onProgress?: ((progress: SearchProgress) => void) | undefined
  /** Called with each finding once it is confirmed. */
  readonly onFinding?: ((finding: Finding<{ readonly revision: Version }>) => void) | undefined
}

/** What any search gives. */
export interface SearchOutcome<S> {
  readonly target: string
  /** The name and the revisions of what was searched, for people. */
  readonly about: string
  /** How it was reached, and in which revisions. */
  readonly transport?: "stdio" | "http" | "memory" | "sse" | undefined
  readonly revisions?: ReadonlyArray<Version> | undefined
  readonly seed: number | string
  readonly conversations: number
  readonly milliseconds: number
  readonly findings: ReadonlyArray<Finding<S>>
  /** What was seen once and did not happen again: most often a machine that was busy. */
  readonly unconfirmed: ReadonlyArray<Finding<S>>
  /** Why the search ended early: the server could not be reached any more. */
  readonly lost?: string | undefined
  /** Every rule that was looked at. */
  readonly rules: ReadonlyArray<RuleCount>
}

/** What was seen in one conversation. */
export interface ConversationResult<S = never> {
  readonly found: ReadonlyArray<Found>
  readonly counts: ReadonlyMap<string, Count>
  readonly lines: ReadonlyArray<Line>
  /** The same with the conversations that its server had before, and the number of their commands; undefined where it had none. */
  readonly whole?: { readonly script: S; readonly earlier: number } | undefined
  /** What servers did between two conversations, each with a conversation that may show it. */
  readonly between?: ReadonlyArray<{ readonly found: Found; readonly script: S }> | undefined
}

/** How a conversation is played. */
export interface Playing {
  /** Whether time is short: what is only slow is told apart later. */
  readonly hasty: boolean
  /** Time left for this conversation, in milliseconds. */
  readonly left: number
  /** The key of the finding that is looked for; undefined while all are. */
  readonly wanted: string | undefined
  readonly isKnown: (key: string, rule: string) => boolean
}

/** What is searched: a server or a client. */
export interface SearchSubject<S> {
  readonly name: string
  /** Its name and revisions, for people. */
  readonly about: string
  readonly transport: "stdio" | "http" | "memory" | "sse"
  readonly revisions: ReadonlyArray<Version>
  readonly rules: ReadonlyArray<Statement>
  /** The generator for the conversation of this number. */
  readonly scripts: (number: number) => Arbitrary.Arbitrary<S> | undefined
  readonly play: (script: S, playing: Playing) => Effect.Effect<ConversationResult<S>, TargetError>
  readonly candidates: (script: S, cause?: number) => Iterable<S>
}

/** How often a finding is played again. */
export const confirmations = 3
/** The share of a search's time that making findings shorter may take. */
const shrinkShare = 1 / 3
/** The share of the rest of that time which one finding may take. */
const findingShare = 1 / 4
/** After the time is over: how long findings are still made shorter, and then confirmed, in milliseconds. */
const [shrinkOvertime, overtime] = [1000, 4000]
/** Milliseconds that a conversation may always take. */
const leastLeft = 250

/** The rules that a search is about. */
export const chosen = <R extends Statement>(rules: ReadonlyArray<R>, only: ReadonlyArray<string> = []) =>
  rules.filter(
    (rule) =>
      only.length === 0 ||
      only.some((word) => [rule.name, rule.requirement ?? "", rule.level].some((text) => text.startsWith(word)))
  )

/** A finding that is examined. */
interface Met<S> {
  readonly key: string
  readonly found: Found
  /** The shortest conversation so far. */
  script: S
  isCut: boolean
  /** The conversations that showed it again. */
  readonly confirmed: Array<ConversationResult<S>>
}

const findIn = (played: ConversationResult<unknown>, key: string): Found | undefined =>
  played.found.find((again) => keyOf(again) === key)

class Search<S extends { readonly revision: Version }> {
  readonly findings: Array<Finding<S>> = []
  readonly unconfirmed: Array<Finding<S>> = []
  /** Why the search ended early. */
  lost: string | undefined
  readonly tally = new Tally()
  private readonly seen = new Set<string>()
  private played = 0
  private next = 0
  private shrinking: string | undefined
  private readonly alone = Semaphore.makeUnsafe(1)
  private readonly subject: SearchSubject<S>
  private readonly options: SearchLimits
  private readonly now: () => number
  private readonly start: number
  /** The time at which no further conversation begins. */
  private readonly end: number
  /** Milliseconds left for making findings shorter. */
  private shrinkLeft: number

  constructor(subject: SearchSubject<S>, options: SearchLimits, now: () => number, time: number) {
    this.subject = subject
    this.options = options
    this.now = now
    this.start = now()
    this.end = this.start + time
    this.shrinkLeft = time * shrinkShare
  }

  private readonly isKnown = (key: string, rule: string): boolean => {
    const { known } = this.options
    return this.seen.has(key) || known?.has(key) === true || known?.has(rule) === true
  }

  private play(
    script: S,
    hasty: boolean,
    wanted?: string,
    parts = 1
  ): Effect.Effect<ConversationResult<S>, TargetError> {
    const left = Math.max(leastLeft, (this.end + overtime - this.now()) / parts)
    return this.subject.play(script, { hasty, left, wanted, isKnown: this.isKnown })
  }

  private tell(): void {
    this.options.onProgress?.({ conversations: this.played, findings: this.findings, shrinking: this.shrinking })
  }

  /** The conversation of this number: the same for the same seed and subject. */
  private script(number: number): Effect.Effect<S | undefined> {
    const scripts = this.subject.scripts(number)
    if (scripts === undefined) return Effect.undefined
    const sampled = Arbitrary.sampleEffect(scripts, { count: 1, size: 12, seed: `${this.options.seed ?? 1}:${number}` })
    return Effect.map(Effect.orDie(sampled), ([script]) => script)
  }

  /** One of the jobs: conversations until it is over. */
  readonly work: Effect.Effect<void, TargetError> = Effect.gen({ self: this }, function* () {
    const { findings = Infinity, runs = Infinity } = this.options
    while (this.now() < this.end && this.lost === undefined && this.next < runs && this.findings.length < findings) {
      const number = this.next++
      const script = yield* this.script(number)
      if (script === undefined) return
      const played = yield* Effect.catch(this.play(script, true), (error) => this.gone(error))
      if (played === undefined) return
      this.played++
      this.tally.add(script.revision, played.counts)
      this.tell()
      for (const found of played.found) yield* this.meet(script, played, found, number)
      const unseen = { found: [], counts: new Map(), lines: [] }
      for (const { found, script } of played.between ?? []) yield* this.meet(script, unseen, found, number)
    }
  })

  /** Examines what was found for the first time. An interrupt leaves what is known by then. */
  private meet(shown: S, first: ConversationResult<S>, found: Found, conversation: number): Effect.Effect<void> {
    const key = keyOf(found)
    if (this.isKnown(key, found.rule.name)) return Effect.void
    this.seen.add(key)
    const met: Met<S> = { key, found, script: shown, isCut: true, confirmed: [] }
    const conclude = Effect.sync(() => {
      const { confirmed, isCut, script } = met
      const [best] = confirmed
      const finding = {
        key,
        rule: found.rule,
        level: levelIn(found.rule, script.revision),
        detail: (best && findIn(best, key)?.detail) ?? found.detail,
        script,
        lines: best?.lines ?? first.lines,
        again: confirmed.length,
        conversation,
        ...(isCut ? { isCut } : undefined)
      }
      ;(best === undefined ? this.unconfirmed : this.findings).push(finding)
      if (best !== undefined) this.options.onFinding?.(finding)
      this.shrinking = undefined
      this.tell()
    })
    return Effect.ensuring(this.alone.withPermit(this.examine(met, first)), conclude)
  }

  /** A server that was there before has a fault; one that never was cannot be searched. */
  private gone(error: TargetError): Effect.Effect<undefined, TargetError> {
    if (this.played === 0) return Effect.fail(error)
    this.lost ??= error.message
    return Effect.undefined
  }

  /** The time until which a finding that is met now is made shorter. */
  private shrinkEnd(): number {
    return Math.min(this.now() + this.shrinkLeft * findingShare, this.end + shrinkOvertime)
  }

  /** Makes a finding shorter and confirms it. */
  private readonly examine = Effect.fnUntraced(function* (this: Search<S>, met: Met<S>, first: ConversationResult<S>) {
    this.shrinking = met.key
    this.tell()
    const begun = this.now()
    yield* this.shorten(met, first)
    this.shrinkLeft -= this.now() - begun
    for (let left = confirmations; left > 0; left--) {
      // With more patience, so that a slow answer is no fault.
      const played = yield* Effect.catch(this.play(met.script, false, met.key, left), () => Effect.undefined)
      if (played !== undefined && findIn(played, met.key) !== undefined) met.confirmed.push(played)
    }
  })

  /** Looks for the shortest conversation that shows a finding. */
  private readonly shorten = Effect.fnUntraced(function* (this: Search<S>, met: Met<S>, first: ConversationResult<S>) {
    const { found, key, script: shown } = met
    const until = this.shrinkEnd()
    const shows = (script: S) =>
      Effect.map(
        Effect.catch(this.play(script, true, key), () => Effect.undefined),
        (played) => played !== undefined && findIn(played, key) !== undefined
      )
    // What does not show in a server of its own may need what the server was told before.
    const { whole } = first
    const alone = whole === undefined || (yield* shows(shown))
    const isShown = first.found.includes(found) || (yield* shows(shown))
    let isCut = false
    const script = yield* shrinkBy(this.subject.candidates, alone ? shown : whole.script, shows, {
      cause: found.command + (alone ? 0 : whole.earlier),
      goesOn: () => {
        isCut = isShown && this.now() >= until
        return isShown && !isCut
      }
    })
    Object.assign(met, { script, isCut })
  })

  /** Searches until the time is over. What still runs 4 seconds later is interrupted. */
  get all(): Effect.Effect<void, TargetError> {
    const jobs = Math.max(1, this.options.jobs ?? 1)
    const work = Effect.forEach(Array.from({ length: jobs }), () => this.work, { concurrency: jobs, discard: true })
    return Effect.asVoid(Effect.timeoutOption(work, this.end + overtime - this.now()))
  }

  /** The outcome so far. */
  readonly outcome = (): SearchOutcome<S> => ({
    target: this.subject.name,
    about: this.subject.about,
    transport: this.subject.transport,
    revisions: this.subject.revisions,
    seed: this.options.seed ?? 1,
    conversations: this.played,
    milliseconds: this.now() - this.start,
    findings: this.findings,
    unconfirmed: this.unconfirmed,
    lost: this.lost,
    rules: this.tally.of(this.subject.rules)
  })
}

/** Returns a function that says how much of the time is left, in milliseconds. */
export const timed = (time: Duration.Input = "1 minute"): Effect.Effect<() => number> =>
  Effect.map(Clock.Clock, (clock) => {
    const end = clock.currentTimeMillisUnsafe() + Duration.toMillis(Duration.fromInputUnsafe(time))
    return () => Math.max(0, end - clock.currentTimeMillisUnsafe())
  })

/** Searches a server or a client for faults. `begun` is called at the start with a function that returns the outcome so far. */
export const searchSubject = <S extends { readonly revision: Version }>(
  subject: SearchSubject<S>,
  options: SearchLimits = {},
  begun: (outcome: () => SearchOutcome<S>) => void = () => {}
): Effect.Effect<SearchOutcome<S>, TargetError> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const time = Duration.toMillis(Duration.fromInputUnsafe(options.time ?? "1 minute"))
    const search = new Search(subject, options, () => clock.currentTimeMillisUnsafe(), time)
    begun(search.outcome)
    yield* search.all
    return search.outcome()
  })
