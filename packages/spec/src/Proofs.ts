/**
 * What the tests prove: the ids that they cite, and how that stands against the ledger.
 *
 * Pure. Owns the rules of counting: a requirement is proven in a revision when a test that ran this revision cites it and
 * all such tests pass. A test runs the revisions that its title names. A title that names none counts where the requirement has one
 * revision, and where the code is the same in all of them (`sameInAll`).
 */
import * as Rec from "effect/Record"
import { type Area, areas, isRequirementId, ledger, type RequirementId } from "./Ledger.ts"
import { every } from "./Requirement.ts"
import type { Level, Requirement, Revision } from "./Requirement.ts"

/** A test as the runner saw it; `title` includes the titles around it. */
export interface Test {
  readonly title: string
  readonly file: string
  readonly state: "passed" | "failed" | "skipped" | "pending"
  /** The ids that the test cites by `verifies`. */
  readonly requirements: ReadonlyArray<string>
}

/** The tests that cite each id. */
export type Proofs = Readonly<Record<string, ReadonlyArray<Test>>>

/** Groups the tests by the ids that they cite. */
export const collect = (tests: Iterable<Test>): Proofs => {
  const proofs: Record<string, Array<Test>> = {}
  for (const test of tests) for (const id of test.requirements) (proofs[id] ??= []).push(test)
  return proofs
}

/**
 * What is wrong with the citations: unknown ids, and tests that were cited as proofs but did not run. With `narrowed`,
 * where the run was filtered by test name, tests that did not run are none of our business.
 */
export const faults = (proofs: Proofs, narrowed = false): ReadonlyArray<string> =>
  Object.entries(proofs).flatMap(([id, tests]) =>
    isRequirementId(id)
      ? tests
          .filter((test) => test.state === "skipped" && !narrowed)
          .map((test) => `${id} is cited by a test that is skipped: ${test.title} (${test.file})`)
      : tests.map((test) => `${id} is not in the requirements ledger, but cited: ${test.title} (${test.file})`)
  )

/** Whether only others can keep a requirement: the host application, an authorization server, an author, an operator. */
export const isForOthers = (requirement: Requirement): boolean =>
  requirement.note !== undefined || requirement.party === "host" || requirement.party === "authorization-server"

/** The level of a requirement in one revision. */
export const levelIn = (requirement: Requirement, revision: Revision): Level => {
  if (requirement.softer?.includes(revision) !== true) return requirement.level
  return requirement.level === "MUST" ? "SHOULD" : "SHOULD NOT"
}

/** One requirement in one revision and the tests that prove it; not proven when there are none. */
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
  /** Kept by others, and proven by no test. */
  readonly others: ReadonlyArray<Entry>
}

/** Whether a test counts for a requirement in a revision: its title names it, or need not. */
export const provesIn = (test: Test, requirement: Requirement, revision: Revision): boolean => {
  const named = every.filter((known) => test.title.includes(known))
  if (named.length > 0) return named.includes(revision)
  return requirement.sameInAll === true || requirement.revisions.length === 1
}

/** How every area stands in every revision; areas that a revision lacks are left out. */
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
