/**
 * Compares the ids that tests cite with the ledger.
 *
 * A requirement is proven in a revision if a test in this revision cites it and all such tests pass. A test covers the revisions that its
 * title names. A test whose title names no revision counts if the requirement has only one revision, or if the code is the same in all of
 * them (`sameInAll`).
 */
import * as Rec from "effect/Record"
import { type Area, areas, isRequirementId, ledger, type RequirementId } from "./Ledger.ts"
import { every } from "./Requirement.ts"
import type { Level, Requirement, Revision } from "./Requirement.ts"

/** A test that ran. `title` includes the titles of its groups. */
export interface Test {
  readonly title: string
  readonly file: string
  readonly state: "passed" | "failed" | "skipped" | "pending"
  /** Ids that the test cites with `verifies`. */
  readonly requirements: ReadonlyArray<string>
}

/** Tests by the ids that they cite. */
export type Proofs = Readonly<Record<string, ReadonlyArray<Test>>>

/** Groups the tests by the ids that they cite. */
export const collect = (tests: Iterable<Test>): Proofs => {
  const proofs: Record<string, Array<Test>> = {}
  for (const test of tests) for (const id of test.requirements) (proofs[id] ??= []).push(test)
  return proofs
}

/**
 * Returns the problems of the citations: unknown ids, and cited tests that did not run. With `narrowed`, the run was filtered by test name,
 * so tests that did not run are not reported.
 */
export const faults = (proofs: Proofs, narrowed = false): ReadonlyArray<string> =>
  Object.entries(proofs).flatMap(([id, tests]) =>
    isRequirementId(id)
      ? tests
          .filter((test) => test.state === "skipped" && !narrowed)
          .map((test) => `${id} is cited by a test that is skipped: ${test.title} (${test.file})`)
      : tests.map((test) => `${id} is not in the requirements ledger, but cited: ${test.title} (${test.file})`)
  )

/** True if only others can meet a requirement: the host application, an authorization server, an author or an operator. */
export const isForOthers = (requirement: Requirement): boolean =>
  requirement.note !== undefined || requirement.party === "host" || requirement.party === "authorization-server"

/** Returns a requirement's level in a revision. */
export const levelIn = (requirement: Requirement, revision: Revision): Level => {
  if (requirement.softer?.includes(revision) !== true) return requirement.level
  return requirement.level === "MUST" ? "SHOULD" : "SHOULD NOT"
}

/** A requirement in one revision, and the tests that prove it. Without tests it is not proven. */
export interface Entry {
  readonly id: RequirementId
  readonly level: Level
  readonly proofs: ReadonlyArray<Test>
}

/** An area in one revision. */
export interface Standing {
  readonly revision: Revision
  readonly area: Area
  readonly proven: ReadonlyArray<Entry>
  readonly unproven: ReadonlyArray<Entry>
  /** Requirements for other parties, which no test proves. */
  readonly others: ReadonlyArray<Entry>
}

/** True if a test counts for a requirement in a revision, because its title names the revision or does not need to. */
export const provesIn = (test: Test, requirement: Requirement, revision: Revision): boolean => {
  const named = every.filter((known) => test.title.includes(known))
  if (named.length > 0) return named.includes(revision)
  return requirement.sameInAll === true || requirement.revisions.length === 1
}

/** Returns the standing of every area in every revision that has it. */
export const standings = (proofs: Proofs): ReadonlyArray<Standing> =>
  every.flatMap((revision) =>
    Rec.keys(areas).flatMap((area) => {
      const entries = areas[area].entries.flatMap(([id]): ReadonlyArray<Entry> => {
        const requirement = ledger[id]
        if (!requirement.revisions.includes(revision)) return []
        const tests = (proofs[id] ?? []).filter((test) => provesIn(test, requirement, revision))
        const broken = tests.some((test) => test.state !== "passed")
        return [{ id, level: levelIn(requirement, revision), proofs: broken ? [] : tests }]
      })
      const missing = entries.filter((entry) => entry.proofs.length === 0)
      const standing = {
        revision,
        area,
        proven: entries.filter((entry) => entry.proofs.length > 0),
        unproven: missing.filter((entry) => !isForOthers(ledger[entry.id])),
        others: missing.filter((entry) => isForOthers(ledger[entry.id]))
      }
      return entries.length === 0 ? [] : [standing]
    })
  )
