/**
 * Property tests for any MCP server. Conversations are generated from a model of the specification and from the features the server offers.
 *
 * Every server message is checked against rules that cite the specification. When a rule is broken, the conversation is shrunk to the
 * shortest one that still breaks it.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { McpServer } from "@effect-mcp/server/McpServer"
import type * as Revision from "@effect-mcp/protocol/Revision"
import { keyOf } from "./model/Rule.ts"
import { play } from "./play/Player.ts"
import type { Played } from "./play/Played.ts"
import * as Report from "./report/Report.ts"
import { all } from "./rules/all.ts"
import * as Search from "./search/Search.ts"
import * as ServerSearch from "./search/ServerSearch.ts"
import { survey } from "./search/Surveyor.ts"
import type { Target, TargetError } from "./target/Target.ts"
import { memory } from "./target/memory.ts"

export * as Generator from "./generator/Generator.ts"
export * as Values from "./generator/Values.ts"
export * as Report from "./report/Report.ts"
export { toolResult } from "./rules/ofTool.ts"
export { all as rules } from "./rules/all.ts"
export { command } from "./target/command.ts"
export { http } from "./target/http.ts"
export { isSse, sse } from "./target/sse.ts"
export { memory, memoryShared } from "./target/memory.ts"
export { search } from "./search/ServerSearch.ts"
export { survey } from "./search/Surveyor.ts"
export { shrink } from "./search/Shrinker.ts"
export { play } from "./play/Player.ts"
export type { Command, Script } from "./model/Script.ts"
export type { Survey } from "./model/Survey.ts"
export type { Rule, Verdict, Violation } from "./model/Rule.ts"
export type { HttpTarget, LineTarget, Target, TargetError } from "./target/Target.ts"
export {
  confirmations,
  type Finding,
  type SearchOutcome as Outcome,
  type SearchProgress as Progress,
  type ConversationResult as Seen
} from "./search/Search.ts"
export type { Report as FuzzReport } from "./search/ServerSearch.ts"

export interface Options extends ServerSearch.Options {
  /** Revisions to test. Default: every revision the server supports. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
}

/** The server breaks one or more rules. The message contains the report. */
export class RulesBroken extends Data.TaggedError("RulesBroken")<{
  readonly message: string
  readonly report: ServerSearch.Report
}> {}

/** Surveys a server, then searches it for faults. The survey counts toward `time`. */
export const run = Effect.fnUntraced(function* (
  target: Target,
  options: Options = {}
): Effect.fn.Return<ServerSearch.Report, TargetError> {
  const left = yield* Search.timed(options.time)
  const surveys = yield* survey(target, options)
  return yield* ServerSearch.search(target, surveys, { ...options, time: left() })
})

/** Runs the fuzzer against an in-process server. For use in tests: fails with the report if the server breaks a rule. */
export const check = <E, R>(
  server: Layer.Layer<McpServer, E, R>,
  options: Options = {}
): Effect.Effect<ServerSearch.Report, TargetError | RulesBroken, R> =>
  Effect.gen(function* () {
    const report = yield* run(yield* memory(server), options)
    return Report.fails(report) ? yield* new RulesBroken({ message: Report.text(report), report }) : report
  })

/** The result of replaying a recording. */
export interface Replayed {
  /** Number of times the finding was reproduced, out of `Search.confirmations` attempts. */
  readonly again: number
  readonly last: Played
}

/** Replays a recorded finding. */
export const replay = (
  target: Target,
  { key, script, survey }: Report.Recording,
  options: Pick<Options, "patience" | "rules"> = {}
): Effect.Effect<Replayed, TargetError> =>
  Effect.gen(function* () {
    const rules = [...all, ...(options.rules ?? [])]
    const first = yield* play(target, survey, script, { ...options, rules })
    const others = yield* Effect.forEach(Array.from({ length: Search.confirmations - 1 }), () =>
      play(target, survey, script, { ...options, rules })
    )
    const shows = (played: Played) => played.found.some((found) => keyOf(found) === key)
    const played = [first, ...others]
    return { again: played.filter(shows).length, last: played.findLast(shows) ?? first }
  })
