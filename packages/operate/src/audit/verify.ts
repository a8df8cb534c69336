/** Verifies that no line of an audit trail was changed, removed or inserted, and that its end was not cut off. */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as chain from "./chain.ts"

/** A problem with a line. Line numbers start at 1. */
export interface TrailProblem {
  readonly line: number
  readonly reason: string
}

export interface TrailReport {
  readonly records: number
  readonly problems: ReadonlyArray<TrailProblem>
  /** True if the last record is `audit.closed`. It is false for a trail that is still being written, and for one whose end was cut off. */
  readonly closed: boolean
  /** Hash of the last record. Store it elsewhere so that you can later detect whether the end was cut off. */
  readonly head: string
  /** Times of the first and last events. */
  readonly from: string | undefined
  readonly to: string | undefined
}

export interface Options {
  /** The HMAC chain's key. */
  readonly key?: Redacted.Redacted | undefined
  /** Hash of a record that the trail must contain, for example its last record when you last checked. */
  readonly head?: string | undefined
}

/** Maximum number of problems to report. A single change breaks the chain once. */
const most = 100

/** Verifies lines without their newlines. */
export const verify = <E, R>(
  lines: Stream.Stream<string, E, R>,
  { head, key }: Options = {}
): Effect.Effect<TrailReport, E, R> =>
  Effect.gen(function* () {
    const hash = yield* chain.hasherOf(key)
    const problems: Array<TrailProblem> = []
    let tail = chain.start
    let line = 0
    let records = 0
    let torn: number | undefined
    let known = head === undefined
    let first: chain.Linked | undefined
    let last: chain.Linked | undefined
    const wrong = (reason: string, at = line): void => {
      if (problems.length < most) problems.push({ line: at, reason })
    }
    yield* Stream.runForEach(
      lines,
      Effect.fnUntraced(function* (text) {
        line++
        if (text === "") return
        const linked = chain.read(text)
        if (linked === undefined) {
          if (torn !== undefined) wrong("Not an audit record", torn)
          torn = line
          return
        }
        if (torn !== undefined && !isTorn(linked)) wrong("Not an audit record", torn)
        torn = undefined
        if ((yield* hash(linked.body)) !== linked.hash) wrong(`Record ${linked.seq} was modified`)
        else if (linked.seq !== tail.seq + 1)
          wrong(`Record ${linked.seq} follows record ${tail.seq}: records were removed or inserted`)
        else if (linked.prev !== tail.hash)
          wrong(`Record ${linked.seq} does not match the record before it, which was modified`)
        tail = { seq: linked.seq, hash: linked.hash }
        if (tail.hash === head) known = true
        records++
        first ??= linked
        last = linked
      })
    )
    if (torn !== undefined) wrong("Not an audit record, or only partially written", torn)
    if (!known) wrong(`No record has the hash ${head}: the end was truncated, or the whole trail was rewritten`)
    return {
      records,
      problems,
      closed: last?.record["event"] === "audit.closed",
      head: tail.hash,
      from: timeOf(first),
      to: timeOf(last)
    }
  })

/** True if a record says that the line before it was torn when its process ended. */
const isTorn = ({ record: { details, event } }: chain.Linked): boolean =>
  event === "audit.opened" && typeof details === "object" && details !== null && "torn" in details

const timeOf = (linked: chain.Linked | undefined): string | undefined => {
  const time = linked?.record["time"]
  return typeof time === "string" ? time : undefined
}
