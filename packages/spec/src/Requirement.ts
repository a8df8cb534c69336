/**
 * A requirement: one normative statement of the Model Context Protocol specification, in our own words.
 *
 * Defines the entries of the ledger, and the functions that create them. A text always describes the behaviour of a conforming
 * implementation, even for MUST NOT, so that it reads as the claim that a test proves. It never quotes the specification, but links to it.
 */

import * as Rec from "effect/Record"

/** The dated revisions of the protocol, oldest first. */
export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/** The level of a statement. REQUIRED and SHALL count as MUST, RECOMMENDED as SHOULD. */
export type Level = "MUST" | "MUST NOT" | "SHOULD" | "SHOULD NOT"

/**
 * The party whose behaviour is described. `host` is the application around a client, with its user interface, user and model.
 * `authorization-server` issues the tokens. These two are not part of this library and are counted separately.
 */
export type Party = "server" | "client" | "both" | "host" | "authorization-server"

/** A statement without its place in the specification. */
export interface Statement {
  readonly level: Level
  readonly party: Party
  /** Behaviour of a conforming implementation, in one sentence of at most 200 characters. */
  readonly text: string
  /** Reason why no automated test of this library can prove it. Such entries are counted separately. */
  readonly note?: string
  /** Set if the specification uses no upper-case key word, so that the level is our interpretation. */
  readonly plain?: true
  /** Revisions in which the statement is only a SHOULD instead of a MUST. */
  readonly softer?: ReadonlyArray<Revision>
  /** Set if the same code implements the statement in every revision, so that a test in one revision proves all. */
  readonly sameInAll?: true
}

/** An entry of the ledger. */
export interface Requirement extends Statement {
  /** Revisions that contain the statement, oldest first. Never empty. */
  readonly revisions: ReadonlyArray<Revision>
  /** Page and anchor, such as `server/tools#calling-tools`. `link` converts it to a URL. */
  readonly section: string
}

/** Entries under one heading of the specification, with their ids as a literal union. */
export interface Section<out Id extends string> {
  readonly entries: ReadonlyArray<readonly [Id, Requirement]>
}

/** Further remarks about a statement. */
export interface Remarks {
  readonly note?: string
  readonly plain?: true
  readonly softer?: ReadonlyArray<Revision>
  readonly sameInAll?: true
}

/** All revisions, oldest first. */
export const every = [
  "2024-11-05",
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28"
] as const satisfies ReadonlyArray<Revision>

/** Returns the revisions from `first` to `last`, inclusive. `last` defaults to the newest one. */
export const since = (first: Revision, last: Revision = "2026-07-28"): ReadonlyArray<Revision> =>
  every.slice(every.indexOf(first), every.indexOf(last) + 1)

/** Returns the revisions up to and including `last`. */
export const until = (last: Revision): ReadonlyArray<Revision> => since("2024-11-05", last)

/** The stateful revisions: those with an `initialize` handshake. */
export const stateful: ReadonlyArray<Revision> = until("2025-11-25")

/** Returns only this revision. */
export const only = (revision: Revision): ReadonlyArray<Revision> => [revision]

const levels = (party: Party) => {
  const at =
    (level: Level) =>
    (text: string, remarks: Remarks = {}): Statement => ({ level, party, text, ...remarks })
  return { must: at("MUST"), mustNot: at("MUST NOT"), should: at("SHOULD"), shouldNot: at("SHOULD NOT") }
}

/** Statements about a server. */
export const server = levels("server")

/** Statements about a client. */
export const client = levels("client")

/** Statements about both sides. */
export const both = levels("both")

/** Statements about the application around a client, which a library cannot fulfil on its behalf. */
export const host = levels("host")

/** Statements about the server that issues tokens. */
export const authorizationServer = levels("authorization-server")

/** Places statements under one heading of the specification and in the revisions that contain them. */
export const at = <Id extends string>(
  section: string,
  revisions: ReadonlyArray<Revision>,
  statements: Readonly<Record<Id, Statement>>
): Section<Id> => ({
  entries: Rec.toEntries(Rec.map(statements, (statement) => ({ ...statement, revisions, section })))
})

/** Joins sections into an area, and areas into the ledger. Throws if an id is used twice. */
export const requirements = <Id extends string>(...sections: ReadonlyArray<Section<Id>>): Section<Id> => {
  const entries = sections.flatMap((section) => section.entries)
  const twice = entries.filter(([id], index) => entries.findIndex((entry) => entry[0] === id) !== index)
  if (twice.length > 0) throw new Error(`Given twice in the ledger: ${twice.map(([id]) => id).join(", ")}`)
  return { entries }
}

/** Returns the entries by their ids. */
export const byId = <Id extends string>(section: Section<Id>): Readonly<Record<Id, Requirement>> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `fromEntries` forgets the keys, which are all the ids
  Object.fromEntries(section.entries) as Readonly<Record<Id, Requirement>>
