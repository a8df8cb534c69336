/**
 * Generates and plays conversations until time runs out. Whenever a rule is broken, the search shrinks and confirms the finding, then
 * continues.
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

/** A broken rule and the shortest conversation that demonstrates it. */
export interface Finding<S = Script> {
  /** Identifies the finding by its rule's name and its subject. */
  readonly key: string
  readonly rule: Statement
  readonly level: Level
  readonly detail: string
  readonly script: S
  /** Messages exchanged in the conversation. */
  readonly lines: ReadonlyArray<Line>
  /** Number of times the finding was reproduced, out of `confirmations` attempts. */
  readonly again: number
  /** Number of times it was seen, when checking real traffic. */
  readonly times?: number | undefined
  /** True if time ran out before all shorter conversations were tried, so a shorter one may exist. */
  readonly isCut?: true | undefined
  /** Number of the conversation that first showed the finding. Use it with `--seed` to reproduce the finding. */
  readonly conversation: number
}

export interface SearchProgress {
  readonly conversations: number
  readonly findings: ReadonlyArray<Finding<unknown>>
  /** The finding currently being shrunk. */
  readonly shrinking: string | undefined
}

/** Options shared by all searches. */
export interface SearchLimits {
  /** Seed for generating conversations. Default 1. */
  readonly seed?: number | string | undefined
  /** Maximum number of conversations. Default: as many as time allows. */
  readonly runs?: number | undefined
  /**
   * Time limit. Default 1 minute. When time runs out, unconfirmed findings are still confirmed, so the search may take up to 5 seconds
   * longer.
   */
  readonly time?: Duration.Input | undefined
  /** Number of findings after which to stop. Default: never stops early. */
  readonly findings?: number | undefined
  /** Number of conversations to run at the same time. Default 1. */
  readonly jobs?: number | undefined
  /** Finding keys or rule names to accept. */
  readonly known?: ReadonlySet<string> | undefined
  /** Checks only the rules whose name, requirement or level starts with one of these. Default: all rules. */
  readonly only?: ReadonlyArray<string> | undefined
  readonly onProgress?: ((progress: SearchProgress) => void) | undefined
  /** Called with each finding as soon as it is confirmed. */
  readonly onFinding?: ((finding: Finding<{ readonly revision: Version }>) => void) | undefined
}

/** The result of a search. */
export interface SearchOutcome<S> {
  readonly target: string
  /** Display name and revisions of the server or client that was searched. */
  readonly about: string
  /** Transport used for the search. */
  readonly transport?: "stdio" | "http" | "memory" | "sse" | undefined
  readonly revisions?: ReadonlyArray<Version> | undefined
  readonly seed: number | string
  readonly conversations: number
  readonly milliseconds: number
  readonly findings: ReadonlyArray<Finding<S>>
  /** Findings that could not be reproduced, usually because the machine was busy. */
  readonly unconfirmed: ReadonlyArray<Finding<S>>
  /** Why the search ended early, if the server became unreachable. */
  readonly lost?: string | undefined
  /** Every rule that was exercised. */
  readonly rules: ReadonlyArray<RuleCount>
}

/** The observations of one conversation. */
export interface ConversationResult<S = never> {
  readonly found: ReadonlyArray<Found>
  readonly counts: ReadonlyMap<string, Count>
  readonly lines: ReadonlyArray<Line>
  /** The script with the server's earlier conversations, and the number of their commands, or `undefined` if it had none. */
  readonly whole?: { readonly script: S; readonly earlier: number } | undefined
  /** Findings between two conversations, each with a conversation that may show it. */
  readonly between?: ReadonlyArray<{ readonly found: Found; readonly script: S }> | undefined
}

/** How a conversation is played. */
export interface Playing {
  /** Whether to save time. A slow response then counts as missing until the finding is confirmed. */
  readonly hasty: boolean
  /** Time left for this conversation, in milliseconds. */
  readonly left: number
  /** Key of the finding to reproduce, or `undefined` to look for any finding. */
  readonly wanted: string | undefined
  readonly isKnown: (key: string, rule: string) => boolean
}

/** The server or client that is searched. */
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

/** Number of times each finding is replayed to confirm it. */
export const confirmations = 3
/** Maximum share of a search's time to spend on shrinking. */
const shrinkShare = 1 / 3
/** Maximum share of the remaining shrinking time to spend on one finding. */
const findingShare = 1 / 4
/** How long findings are still shrunk and confirmed after the time limit, in milliseconds. */
const [shrinkOvertime, overtime] = [1000, 4000]
/** Minimum time for a conversation, in milliseconds. */
const leastLeft = 250

/** Returns the rules to check. */
export const chosen = <R extends Statement>(rules: ReadonlyArray<R>, only: ReadonlyArray<string> = []) =>
  rules.filter(
    (rule) =>
      only.length === 0 ||
      only.some((word) => [rule.name, rule.requirement ?? "", rule.level].some((text) => text.startsWith(word)))
  )

/** A finding that is being examined. */
interface Met<S> {
  readonly key: string
  readonly found: Found
  /** The shortest conversation so far. */
  script: S
  isCut: boolean
  /** Replays that reproduced the finding. */
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
  /** Time after which no further conversation begins. */
  private readonly end: number
  /** Milliseconds left for shrinking. */
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

  /** Generates the conversation with this number, which depends only on the seed and the subject. */
  private script(number: number): Effect.Effect<S | undefined> {
    const scripts = this.subject.scripts(number)
    if (scripts === undefined) return Effect.undefined
    const sampled = Arbitrary.sampleEffect(scripts, { count: 1, size: 12, seed: `${this.options.seed ?? 1}:${number}` })
    return Effect.map(Effect.orDie(sampled), ([script]) => script)
  }

  /** Runs one job: plays conversations until the search ends. */
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

  /** Examines a new finding. If it is interrupted, the finding stays as it is. */
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

  /** Ends the search if the server became unreachable. Fails if it was never reachable. */
  private gone(error: TargetError): Effect.Effect<undefined, TargetError> {
    if (this.played === 0) return Effect.fail(error)
    this.lost ??= error.message
    return Effect.undefined
  }

  /** Returns the time until which a new finding may be shrunk. */
  private shrinkEnd(): number {
    return Math.min(this.now() + this.shrinkLeft * findingShare, this.end + shrinkOvertime)
  }

  /** Shrinks and confirms a finding. */
  private readonly examine = Effect.fnUntraced(function* (this: Search<S>, met: Met<S>, first: ConversationResult<S>) {
    this.shrinking = met.key
    this.tell()
    const begun = this.now()
    yield* this.shorten(met, first)
    this.shrinkLeft -= this.now() - begun
    for (let left = confirmations; left > 0; left--) {
      // Wait longer now, so that a slow answer doesn't count as missing.
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
    // If a new server doesn't show the finding, it may depend on earlier conversations.
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

  /** Searches until the time is over. Interrupts conversations that still run 4 seconds later. */
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

/** Returns a function that returns the time left, in milliseconds. */
export const timed = (time: Duration.Input = "1 minute"): Effect.Effect<() => number> =>
  Effect.map(Clock.Clock, (clock) => {
    const end = clock.currentTimeMillisUnsafe() + Duration.toMillis(Duration.fromInputUnsafe(time))
    return () => Math.max(0, end - clock.currentTimeMillisUnsafe())
  })

/** Searches a server or client for faults. `begun` is called at the start with a function that returns the results so far. */
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
