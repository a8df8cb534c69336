/** Counts how often each rule was followed and broken, per revision. */
import type { Version } from "@effect-mcp/protocol/Revision"
import { type Count, count, type Statement } from "./Rule.ts"

/** A rule, and how often it was followed and broken. */
export interface RuleCount extends Readonly<Count> {
  readonly rule: Statement
  /** Counts by revision. Revisions in which the rule was not exercised are missing. */
  readonly revisions: { readonly [revision: string]: Readonly<Count> }
}

export class Tally {
  private readonly counts = new Map<Version, Map<string, Count>>()

  add(revision: Version, counts: ReadonlyMap<string, Count>): void {
    const known = this.counts.get(revision) ?? new Map<string, Count>()
    this.counts.set(revision, known)
    for (const [name, { broken, kept }] of counts) {
      const counted = count(known, name)
      counted.kept += kept
      counted.broken += broken
    }
  }

  of(rules: ReadonlyArray<Statement>): ReadonlyArray<RuleCount> {
    return rules.map((rule) => {
      const counted = [...this.counts].flatMap(([revision, counts]) => {
        const one = counts.get(rule.name)
        return one === undefined ? [] : [[revision, one] as const]
      })
      return {
        rule,
        kept: counted.reduce((sum, [, { kept }]) => sum + kept, 0),
        broken: counted.reduce((sum, [, { broken }]) => sum + broken, 0),
        revisions: Object.fromEntries(counted)
      }
    })
  }
}
