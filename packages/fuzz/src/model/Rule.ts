/**
 * Rules that are checked against everything observed about a server.
 *
 * A rule judges only what is observed, not the generator's intent, so it works for conversations from any source. It cites the
 * requirement it checks by its ID in the ledger of requirements. A rule without such an ID is about robustness.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import { memoize } from "effect/Function"
import type { Model } from "./Model.ts"
import { type Name, names, type Observation, type Observations } from "./Observation.ts"

/**
 * `robustness`: the specification doesn't mention it, but a server that does this breaks its callers. `difference`: two servers behave
 * differently, though neither has to be wrong.
 */
export type Level = "MUST" | "SHOULD" | "robustness" | "difference"

/** `pass`: the rule was exercised and followed. */
export interface Violation {
  /** The observed behavior, in one sentence. */
  readonly detail: string
  /** Tells violations of the same rule apart, for example by method or tool. */
  readonly about?: string | undefined
}

/** The outcome, or `undefined` if the rule was not exercised. */
export type Verdict = "pass" | Violation | undefined

/** A rule's verdict on each kind of observation. The model reflects the state before the observation. */
export type RuleHandlers = {
  readonly [N in Name]?: (observation: Observations[N], model: Model) => Verdict
}

/** A rule for servers or clients, without its check. */
export interface Statement {
  /** Name of the rule in reports and lists of known violations. */
  readonly name: string
  readonly level: Level
  /** ID in the ledger of requirements, or `undefined` for robustness rules and custom rules. */
  readonly requirement?: string | undefined
  /** Section of the specification, such as `server/tools#error-handling`. */
  readonly section?: string | undefined
  /** How a server or client that follows the rule behaves. */
  readonly text: string
  /** First revision the rule applies to. Default: every revision. */
  readonly since?: Version | undefined
  readonly until?: Version | undefined
  /** Newest revision in which this MUST is only a SHOULD. */
  readonly softerUntil?: Version | undefined
  /** Transport on which the rule can be observed. Default: every transport. */
  readonly transport?: "stdio" | "http" | undefined
}

/** A rule for servers. */
export interface Rule extends Statement {
  readonly on: RuleHandlers
}

/** True if the rule applies to this revision. Versions are dates, so they can be compared as strings. */
export const holdsIn = ({ since, until }: Statement, version: Version): boolean =>
  (since === undefined || since <= version) && (until === undefined || version <= until)

/** Returns the rule's level in this revision. */
export const levelIn = ({ level, softerUntil }: Statement, version: Version): Level =>
  softerUntil !== undefined && version <= softerUntil ? "SHOULD" : level

/** Number of times a rule was followed and broken. Both are 0 if it was never exercised. */
export interface Count {
  kept: number
  broken: number
}

/** A violation and the rule it breaks. */
export interface Found extends Violation {
  readonly rule: Statement
  /** Index of the script command that most likely caused it. */
  readonly command: number
}

/** Identifies a violation by the rule's name and the violation's subject. */
export const keyOf = ({ about, rule }: Found): string => (about === undefined ? rule.name : `${rule.name} ${about}`)

/** A rule and its verdict on one kind of observation. */
interface Concern<N extends Name> {
  readonly rule: Rule
  readonly verdict: NonNullable<RuleHandlers[N]>
}

/** The rules that concern an observation, by its name. */
export type Concerned = { readonly [N in Name]?: ReadonlyArray<Concern<N>> }

/** Rules by revision and transport, grouped once per search. */
const sorted = memoize<ReadonlyArray<Rule>, Map<string, Concerned>>(() => new Map())

/** Returns the rules that can be observed in this revision over this transport. */
export const concerned = (
  rules: ReadonlyArray<Rule>,
  version: Version,
  transport: "stdio" | "http" | "memory" | "sse"
): Concerned => {
  const of = sorted(rules)
  const key = `${version} ${transport}`
  const known = of.get(key)
  if (known !== undefined) return known
  const made: { [N in Name]?: Array<Concern<N>> } = {}
  const add = <N extends Name>(name: N, rule: Rule): void => {
    const verdict: RuleHandlers[N] = rule.on[name]
    const all: { [K in N]?: Array<Concern<K>> } = made
    if (verdict !== undefined) (all[name] ??= []).push({ rule, verdict })
  }
  for (const rule of rules) {
    if (holdsIn(rule, version) && (rule.transport ?? transport) === transport) for (const name of names) add(name, rule)
  }
  of.set(key, made)
  return made
}

/** Checks the observations of one conversation against rules. */
export class Judge {
  readonly counts = new Map<string, Count>()
  readonly found: Array<Found> = []
  private readonly concerned: Concerned
  private readonly model: Model

  constructor(concerned: Concerned, model: Model) {
    this.concerned = concerned
    this.model = model
  }

  judge(observation: Observation): void {
    this.hold(observation)
  }

  private hold<N extends Name>(observation: { readonly _tag: N } & Observations[N]): void {
    const all: Concerned[N] = this.concerned[observation._tag]
    if (all === undefined) return
    for (const { rule, verdict } of all) {
      const said = verdict(observation, this.model)
      if (said === undefined) continue
      const counted = count(this.counts, rule.name)
      if (said === "pass") counted.kept++
      else {
        counted.broken++
        const command = "exchange" in observation ? observation.exchange.command : this.model.command
        this.found.push({ ...said, rule, command })
      }
    }
  }

  /** Adds the results for a part of the conversation, attributed to this command. */
  include({ counts, found }: Judge, command: number): void {
    for (const [name, { broken, kept }] of counts) {
      const counted = count(this.counts, name)
      counted.broken += broken
      counted.kept += kept
    }
    this.found.push(...found.map((each) => ({ ...each, command })))
  }
}

/** Returns a rule's count, and creates it on first use. */
export const count = (counts: Map<string, Count>, name: string): Count => {
  const known = counts.get(name)
  if (known !== undefined) return known
  const made = { kept: 0, broken: 0 }
  counts.set(name, made)
  return made
}
