/**
 * Property tests for any MCP client. The client performs the same task with servers that misbehave in generated ways, and everything it
 * sends is checked against rules that cite the specification.
 *
 * When the client breaks a rule, the server is reduced to the fewest faults that still cause it.
 */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { playServer, type ClientPlayed } from "./ClientPlayer.ts"
import type { ClientRule } from "./model/ClientRule.ts"
import type { ClientTarget } from "./ClientTarget.ts"
import { clientRules } from "./rules/clientRules.ts"
import { servers, simplerServers } from "./ServerGenerator.ts"
import { isEndless, right, ServerScript } from "./model/ServerScript.ts"
import { keyOf } from "../model/Rule.ts"
import * as Report from "../report/Report.ts"
import {
  chosen,
  confirmations,
  type SearchLimits,
  type SearchOutcome,
  searchSubject,
  type SearchSubject,
  timed
} from "../search/Search.ts"
import { TargetError } from "../target/Target.ts"

export { clientRules as rules } from "./rules/clientRules.ts"
export { client, stdioClient, type ClientTarget, type Given, type GivenCommand } from "./ClientTarget.ts"
export { command, stdioCommand, type CommandOptions } from "./clientCommand.ts"
export { playServer as play } from "./ClientPlayer.ts"
export { right, ServerScript } from "./model/ServerScript.ts"
export type { ClientRule } from "./model/ClientRule.ts"
export { confirmations } from "../search/Search.ts"

export interface Options extends SearchLimits {
  /** Revisions to test. Default: every revision the client supports; over HTTP, only those with Streamable HTTP. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  /** Custom rules to check in addition to the specification's. */
  readonly rules?: ReadonlyArray<ClientRule> | undefined
  /** Time limit for the client, from start to finish, in milliseconds. Default 10000. */
  readonly patience?: number | undefined
  /** Called at the start with a function that returns the report so far. Use it if the search may be interrupted. */
  readonly onStart?: ((report: () => ClientReport) => void) | undefined
}

export type ClientReport = SearchOutcome<ServerScript>

/** A finding in file format. Contains everything needed to replay it. */
export const ClientRecording = Schema.Struct({
  key: Schema.String,
  detail: Schema.String,
  /** Scenario the client was told to run, if the client is a program. Default `tools_call`. */
  scenario: Schema.optionalKey(Schema.String),
  /** Transport the client used to connect. Default `http`. */
  transport: Schema.optionalKey(Schema.Literal("stdio")),
  /** The server that triggers the finding. */
  server: ServerScript
})
export type ClientRecording = typeof ClientRecording.Type

/** The client breaks one or more rules. The message contains the report. */
export class ClientRulesBroken extends Data.TaggedError("ClientRulesBroken")<{
  readonly message: string
  readonly report: ClientReport
}> {}

/** True if the revision has Streamable HTTP. */
const isStreamable = ({ version }: Revision.Revision): boolean => version >= "2025-03-26"

/** Runs the client against correct servers with both kinds of responses. Returns `undefined` if the client fails. */
const survey = (target: ClientTarget, revision: Revision.Version, patience: number | undefined) =>
  Effect.gen(function* () {
    const script = right(revision)
    const played = yield* playServer(target, script, { rules: [], patience })
    const streamed =
      played.ending.kind === "done" || target.transport === "stdio"
        ? played
        : yield* playServer(target, { ...script, streams: true }, { rules: [], patience })
    return { revision, played: streamed }
  })

const nothingDone = (
  target: ClientTarget,
  all: ReadonlyArray<{ readonly revision: string; readonly played: ClientPlayed }>
) =>
  new TargetError({
    message: `${target.name} fails even with a correct server: ${all
      .map(({ played: { ending, methods }, revision }) => {
        const silent = ending.kind === "done" && methods.size === 0 ? ", and sent no request" : ""
        return `in ${revision} it ${ending.how}${silent}`
      })
      .join("; ")}. Pass a client that takes ${
      target.transport === "stdio" ? "the command of the server as its last arguments" : "the URL as its last argument"
    } and exits with code 0`
  })

/** Searches a client for faults. Fails if the client can't complete its task with a correct server. */
export const run = (target: ClientTarget, options: Options = {}): Effect.Effect<ClientReport, TargetError> =>
  Effect.gen(function* () {
    const { patience = 10_000, revisions = Revision.all } = options
    const left = yield* timed(options.time)
    const possible = target.transport === "stdio" ? revisions : revisions.filter(isStreamable)
    const all = yield* Effect.forEach(possible, ({ version }) => survey(target, version, patience))
    const spoken = all.filter(({ played }) => played.ending.kind === "done" && played.methods.size > 0)
    if (spoken.length === 0) return yield* nothingDone(target, all)
    const rules = chosen([...clientRules, ...(options.rules ?? [])], options.only)
    const newest = spoken.toReversed()
    const generators = newest.map(({ played, revision }) => servers(revision, played.methods, target.transport))
    const usual = Math.max(...spoken.map(({ played }) => played.milliseconds))
    const subject: SearchSubject<ServerScript> = {
      name: target.name,
      about: `${target.name} in ${newest.map(({ revision }) => revision).join(", ")}`,
      transport: target.transport,
      revisions: newest.map(({ revision }) => revision),
      rules,
      scripts: (number) => generators[number % generators.length],
      candidates: simplerServers,
      play: (script, { hasty, left }) => {
        // Some faults let a client wait forever, so don't wait for it to end.
        const enough = script.faults.some(isEndless) ? Math.min(patience, 3 * usual + 1000) : patience
        return playServer(target, script, { rules, patience: Math.min(left, hasty ? enough : 2 * enough) })
      }
    }
    return yield* searchSubject(subject, { ...options, time: left() }, options.onStart)
  })

/**
 * Runs the fuzzer as a test. Fails with the report if the client breaks a rule.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { FuzzClient } from "@effect-mcp/fuzz"
 * import { Effect, Layer, Stream } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const work = ({ url }: FuzzClient.Given) => {
 *   const tools = Effect.flatMap(McpClient.McpClient, (client) => Stream.runCollect(client.listTools))
 *   return Effect.provide(tools, Layer.provide(McpClient.layerHttp({ url }), FetchHttpClient.layer))
 * }
 *
 * export const test = Effect.gen(function* () {
 *   const target = yield* FuzzClient.client("lists tools", work)
 *   yield* FuzzClient.check(target, { time: "20 seconds", jobs: 4 })
 * })
 * ```
 */
export const check = (
  target: ClientTarget,
  options: Options = {}
): Effect.Effect<ClientReport, TargetError | ClientRulesBroken> =>
  Effect.flatMap(run(target, options), (report) =>
    Report.fails(report)
      ? Effect.fail(new ClientRulesBroken({ message: Report.text(report), report }))
      : Effect.succeed(report)
  )

/** Replays a recorded finding `confirmations` times. */
export const replay = (
  target: ClientTarget,
  { key, server }: ClientRecording,
  options: Pick<Options, "patience" | "rules"> = {}
): Effect.Effect<{ readonly again: number; readonly last: ClientPlayed }, TargetError> =>
  Effect.gen(function* () {
    const rules = [...clientRules, ...(options.rules ?? [])]
    const once = playServer(target, server, { ...options, rules })
    const first = yield* once
    const played = [first, ...(yield* Effect.replicateEffect(once, confirmations - 1))]
    const shows = ({ found }: ClientPlayed) => found.some((each) => keyOf(each) === key)
    return { again: played.filter(shows).length, last: played.findLast(shows) ?? first }
  })
