/**
 * Generates conversations and plays them until the time is over. A broken rule is shrunk and confirmed, and the search continues.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Arbitrary from "effect/Arbitrary"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type Count, count, type Found, keyOf, type Level, levelIn, type Statement } from "./model/Rule.ts"
import type { Line } from "./Played.ts"
import { shrinkBy } from "./Shrinker.ts"
import type { Script } from "./model/Script.ts"
import type { TargetError } from "./target/Target.ts"

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
  /** Default 1 minute. After it a search makes its findings shorter for 5 seconds at most, and confirms them. */
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
}

/** What any search gives. */
export interface SearchOutcome<S> {
  readonly target: string
  /** The name and the revisions of what was searched, for people. */
  readonly about: string
  readonly seed: number | string
  readonly conversations: number
  readonly milliseconds: number
  readonly findings: ReadonlyArray<Finding<S>>
  /** What was seen once and did not happen again: most often a machine that was busy. */
  readonly unconfirmed: ReadonlyArray<Finding<S>>
  /** Why the search ended early: the server could not be reached any more. */
  readonly lost?: string | undefined
  /** Every rule that was looked at. */
  readonly rules: ReadonlyArray<{ readonly rule: Statement } & Readonly<Count>>
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
  /** The key of the finding that is looked for; undefined while all are. */
  readonly wanted: string | undefined
  readonly isKnown: (key: string, rule: string) => boolean
}

/** What is searched: a server or a client. */
export interface SearchSubject<S> {
  readonly name: string
  /** Its name and revisions, for people. */
  readonly about: string
  readonly rules: ReadonlyArray<Statement>
  /** The generator for the conversation of this number. */
  readonly scripts: (number: number) => Arbitrary.Arbitrary<S> | undefined
  readonly play: (script: S, playing: Playing) => Effect.Effect<ConversationResult<S>, TargetError>
  readonly candidates: (script: S, cause?: number) => Iterable<S>
}

/** How often a finding is played again. */
export const confirmations = 3
/** The time that making one finding shorter may take. */
const shrinkTime = 30_000
/** How long after the end of a search findings are made shorter. */
const overtime = 5000

/** The rules that a search is about. */
export const chosen = <R extends Statement>(rules: ReadonlyArray<R>, only: ReadonlyArray<string> = []) =>
  rules.filter(
    (rule) =>
      only.length === 0 ||
      only.some((word) => [rule.name, rule.requirement ?? "", rule.level].some((text) => text.startsWith(word)))
  )

class Search<S extends { readonly revision: Version }> {
  readonly findings: Array<Finding<S>> = []
  readonly unconfirmed: Array<Finding<S>> = []
  /** Why the search ended early. */
  lost: string | undefined
  readonly counts = new Map<string, Count>()
  private readonly seen = new Set<string>()
  private played = 0
  private next = 0
  private shrinking: string | undefined
  private readonly alone = Semaphore.makeUnsafe(1)
  private readonly subject: SearchSubject<S>
  private readonly options: SearchLimits
  private readonly now: () => number
  private readonly end: number

  /** `end`: the time at which no further conversation begins. */
  constructor(subject: SearchSubject<S>, options: SearchLimits, now: () => number, end: number) {
    this.subject = subject
    this.options = options
    this.now = now
    this.end = end
  }

  get conversations(): number {
    return this.played
  }

  private readonly isKnown = (key: string, rule: string): boolean => {
    const { known } = this.options
    return this.seen.has(key) || known?.has(key) === true || known?.has(rule) === true
  }

  private play(script: S, hasty: boolean, wanted?: string): Effect.Effect<ConversationResult<S>, TargetError> {
    return this.subject.play(script, { hasty, wanted, isKnown: this.isKnown })
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
      this.count(played)
      this.tell()
      for (const found of played.found) yield* this.meet(script, played, found, number)
      const unseen = { found: [], counts: new Map(), lines: [] }
      for (const { found, script } of played.between ?? []) yield* this.meet(script, unseen, found, number)
    }
  })

  /** Examines what was found for the first time. */
  private meet(script: S, first: ConversationResult<S>, found: Found, number: number): Effect.Effect<void> {
    const key = keyOf(found)
    if (this.isKnown(key, found.rule.name)) return Effect.void
    this.seen.add(key)
    return this.alone.withPermit(this.examine(script, first, found, key, number))
  }

  /** A server that was there before has a fault; one that never was cannot be searched. */
  private gone(error: TargetError): Effect.Effect<undefined, TargetError> {
    if (this.played === 0) return Effect.fail(error)
    this.lost ??= error.message
    return Effect.undefined
  }

  private count({ counts }: ConversationResult<S>): void {
    for (const [name, { broken, kept }] of counts) {
      const counted = count(this.counts, name)
      counted.kept += kept
      counted.broken += broken
    }
  }

  private readonly examine = Effect.fnUntraced(function* (
    this: Search<S>,
    shown: S,
    first: ConversationResult<S>,
    found: Found,
    key: string,
    conversation: number
  ) {
    this.shrinking = key
    this.tell()
    const until = Math.min(this.now() + shrinkTime, this.end + overtime)
    let isCut = false
    const findIn = (played: ConversationResult<S> | undefined) => played?.found.find((again) => keyOf(again) === key)
    const tried = (script: S, hasty: boolean) => Effect.catch(this.play(script, hasty, key), () => Effect.undefined)
    // What does not show in a server of its own may need what the server was told before.
    const { whole } = first
    const alone = whole === undefined || findIn(yield* tried(shown, true)) !== undefined
    const isShown = first.found.includes(found) || findIn(yield* tried(shown, true)) !== undefined
    const script = yield* shrinkBy(
      this.subject.candidates,
      alone ? shown : whole.script,
      (candidate) => Effect.map(tried(candidate, true), (played) => findIn(played) !== undefined),
      {
        cause: found.command + (alone ? 0 : whole.earlier),
        goesOn: () => {
          isCut = isShown && this.now() >= until
          return isShown && !isCut
        }
      }
    )
    // With more patience, so that a slow answer is no fault.
    const again = yield* Effect.forEach(Array.from({ length: confirmations }), () => tried(script, false))
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
      conversation,
      ...(isCut ? { isCut } : undefined)
    })
    this.shrinking = undefined
    this.tell()
  })
}

/** Searches a server or a client for faults. */
export const searchSubject = <S extends { readonly revision: Version }>(
  subject: SearchSubject<S>,
  options: SearchLimits = {}
): Effect.Effect<SearchOutcome<S>, TargetError> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const start = now()
    const end = start + Duration.toMillis(Duration.fromInputUnsafe(options.time ?? "1 minute"))
    const running = new Search(subject, options, now, end)
    const jobs = Math.max(1, options.jobs ?? 1)
    yield* Effect.forEach(Array.from({ length: jobs }), () => running.work, { concurrency: jobs, discard: true })
    return {
      target: subject.name,
      about: subject.about,
      seed: options.seed ?? 1,
      conversations: running.conversations,
      milliseconds: now() - start,
      findings: running.findings,
      unconfirmed: running.unconfirmed,
      lost: running.lost,
      rules: subject.rules.map((rule) => ({ rule, ...(running.counts.get(rule.name) ?? { kept: 0, broken: 0 }) }))
    }
  })
