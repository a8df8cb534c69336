/**
 * Rules: statements about a server that every observation is held against.
 *
 * A rule judges what is observed, never what the generator meant: it holds for conversations of any origin. It cites the statement of the
 * specification that it checks by its id in the ledger of requirements; one without such an id is about robustness.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import type { Model } from "./Model.ts"
import { type Name, names, type Observation, type Observations } from "./Observation.ts"

/**
 * `robustness`: no statement of the specification, but a server that does this breaks its callers. `difference`: two servers do not do the
 * same, of which neither need be wrong.
 */
export type Level = "MUST" | "SHOULD" | "robustness" | "difference"

/** `pass`: the rule was exercised and kept. */
export interface Violation {
  /** What was observed, in one sentence. */
  readonly detail: string
  /** What tells this violation from others of the same rule: a method, a tool. */
  readonly about?: string | undefined
}

/** Undefined: the rule was not exercised. */
export type Verdict = "pass" | Violation | undefined

/** What a rule says of each observation that concerns it. The model is as it was before the observation. */
export type RuleHandlers = {
  readonly [N in Name]?: (observation: Observations[N], model: Model) => Verdict
}

/** What a rule says, whichever side it judges. */
export interface Statement {
  /** Names the rule in reports and in lists of known violations. */
  readonly name: string
  readonly level: Level
  /** The id in the ledger of requirements; undefined for robustness and for rules of users. */
  readonly requirement?: string | undefined
  /** The section of the specification, such as `server/tools#error-handling`. */
  readonly section?: string | undefined
  /** What a server, or a client, that keeps the rule does. */
  readonly text: string
  /** Where it holds. Default: every revision. */
  readonly since?: Version | undefined
  readonly until?: Version | undefined
  /** The newest revision in which a MUST is only a SHOULD. */
  readonly softerUntil?: Version | undefined
  /** Where it can be observed. Default: every transport. */
  readonly transport?: "stdio" | "http" | undefined
}

/** A rule about servers. */
export interface Rule extends Statement {
  readonly on: RuleHandlers
}

/** Whether the rule holds in this revision. Versions are dates, so they compare as texts. */
export const holdsIn = ({ since, until }: Statement, version: Version): boolean =>
  (since === undefined || since <= version) && (until === undefined || version <= until)

/** The level of the rule in this revision. */
export const levelIn = ({ level, softerUntil }: Statement, version: Version): Level =>
  softerUntil !== undefined && version <= softerUntil ? "SHOULD" : level

/** How often a rule was kept and broken; neither where it was not exercised. */
export interface Count {
  kept: number
  broken: number
}

/** A violation, with the rule that says so. */
export interface Found extends Violation {
  readonly rule: Statement
  /** The place in the script of the command that it comes from, most likely. */
  readonly command: number
}

/** What tells violations apart: the name of the rule, and what it is about. */
export const keyOf = ({ about, rule }: Found): string => (about === undefined ? rule.name : `${rule.name} ${about}`)

/** A rule that concerns an observation, and what it says of it. */
interface Concern<N extends Name> {
  readonly rule: Rule
  readonly verdict: NonNullable<RuleHandlers[N]>
}

/** The rules that concern an observation, by its name. */
export type Concerned = { readonly [N in Name]?: ReadonlyArray<Concern<N>> }

/** Rules as conversations need them, for every revision and transport: made once for a search. */
const sorted = new WeakMap<ReadonlyArray<Rule>, Map<string, Concerned>>()

/** The rules that can be observed in this revision over this transport. */
export const concerned = (
  rules: ReadonlyArray<Rule>,
  version: Version,
  transport: "stdio" | "http" | "memory" | "sse"
): Concerned => {
  const of = sorted.get(rules) ?? new Map<string, Concerned>()
  sorted.set(rules, of)
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

/** Holds observations of one conversation against rules. */
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

  /** Takes over what was found in a part of the conversation: all of it comes from this command. */
  include({ counts, found }: Judge, command: number): void {
    for (const [name, { broken, kept }] of counts) {
      const counted = count(this.counts, name)
      counted.broken += broken
      counted.kept += kept
    }
    this.found.push(...found.map((each) => ({ ...each, command })))
  }
}

/** The count of a rule, which is made with its first use. */
export const count = (counts: Map<string, Count>, name: string): Count => {
  const known = counts.get(name)
  if (known !== undefined) return known
  const made = { kept: 0, broken: 0 }
  counts.set(name, made)
  return made
}
