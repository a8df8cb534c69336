/**
 * Holds traffic that is not the fuzzer's against its rules: what real clients and a server say to each other.
 *
 * Nothing is sent and nothing is changed. What depends on knowledge that only the client has is not judged: whether a resource exists,
 * whether a tool exists that was never listed, whether a cursor of another conversation is valid.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type Found, type Judge, keyOf, levelIn, type Rule } from "../model/Rule.ts"
import { Tally } from "../model/Tally.ts"
import type { Line } from "../play/Played.ts"
import type { Searched } from "../report/Report.ts"
import { all } from "../rules/all.ts"
import { chosen, type Finding } from "../search/Search.ts"
import { HttpTraffic } from "./HttpTraffic.ts"
import { LineTraffic } from "./LineTraffic.ts"

export type { Exchanged, HttpTraffic } from "./HttpTraffic.ts"
export { isStream } from "../model/Call.ts"
export { reading } from "../target/http.ts"
export type { HttpEvent, TargetRequest as HttpRequest } from "../target/Target.ts"
export type { LineTraffic } from "./LineTraffic.ts"

/** A rule that is broken, where it was seen first, and how often it was seen. */
export interface SeenFinding extends Finding<{ readonly revision: Version }> {
  readonly times: number
}

export interface Options {
  /** How people recognise the server: its command line or URL. */
  readonly name: string
  /** Keys of findings, or names of rules, that are accepted. */
  readonly known?: ReadonlySet<string> | undefined
  /** Only rules whose name, requirement or level begins with one of these. Default: all. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Rules of a user, beside those of the specification. */
  readonly rules?: ReadonlyArray<Rule> | undefined
  /** How long a request may take before it counts as never answered, in milliseconds. Default 60 000. */
  readonly patience?: number | undefined
  /** Called at once with what is seen for the first time. */
  readonly onFinding?: ((finding: SeenFinding) => void) | undefined
}

/** Findings that are kept: a server that is wrong in endless ways is told about by the first of them. */
const mostFindings = 1000

export interface TrafficRules {
  /** One client of a server over stdio. */
  readonly lines: () => LineTraffic
  /** Any number of clients of a server over Streamable HTTP, or over HTTP with SSE where requests have their URL. */
  readonly http: () => HttpTraffic
  /** What was seen so far. Conversations count what they exercised when they end. */
  readonly report: () => Searched
}

class Collected {
  readonly findings = new Map<string, SeenFinding & { times: number }>()
  readonly tally = new Tally()
  messages = 0
  conversations = 0
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  readonly add = (found: Found, revision: Version, lines: ReadonlyArray<Line>): void => {
    const { known, onFinding } = this.options
    const key = keyOf(found)
    if (known?.has(key) === true || known?.has(found.rule.name) === true) return
    const before = this.findings.get(`${key} ${revision}`)
    if (before !== undefined) return void before.times++
    if (this.findings.size >= mostFindings) return
    const { detail, rule } = found
    const level = levelIn(rule, revision)
    const seen = { key, rule, level, detail, script: { revision }, lines, again: 0, conversation: 0, times: 1 }
    this.findings.set(`${key} ${revision}`, seen)
    onFinding?.(seen)
  }

  readonly include = ({ counts }: Judge, revision: Version): void => this.tally.add(revision, counts)
}

/**
 * A judge of traffic. What passes is handed to `lines` or `http`; `report` is for `Fuzz.Report`.
 *
 * @example
 * ```ts
 * import { Traffic } from "@effect-mcp/fuzz"
 * import { Effect } from "effect"
 *
 * const bytes = (message: object) => new TextEncoder().encode(`${JSON.stringify(message)}\n`)
 *
 * const program = Effect.gen(function* () {
 *   const traffic = yield* Traffic.make({ name: "my server" })
 *   const wire = traffic.lines()
 *   const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } }
 *   wire.sent(bytes({ jsonrpc: "2.0", id: 1, method: "initialize", params }))
 *   const serverInfo = { name: "b", version: "1" }
 *   wire.received(bytes({ jsonrpc: "2.0", id: 1, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo } }))
 *   wire.received(bytes({ jsonrpc: "2.0", id: 7, result: {} }))
 *   wire.end()
 *   for (const { detail, key } of traffic.report().findings) console.log(`${key}: ${detail}`)
 *   // => answer-same-id: A response has the id 7, which no request had: the result {}
 * })
 *
 * await Effect.runPromise(program)
 * ```
 */
export const make = (options: Options): Effect.Effect<TrafficRules> =>
  Effect.map(Clock.Clock, (clock) => {
    const start = clock.currentTimeMillisUnsafe()
    const now = () => clock.currentTimeMillisUnsafe() - start
    const rules = chosen([...all, ...(options.rules ?? [])], options.only)
    const collected = new Collected(options)
    const listening = {
      rules,
      now,
      patience: options.patience ?? 60_000,
      onFound: collected.add,
      onEnd: collected.include
    }
    return {
      lines: () => {
        collected.conversations++
        return new LineTraffic(listening, () => void collected.messages++)
      },
      http: () =>
        new HttpTraffic(listening, (what) => {
          if (what === "conversation") collected.conversations++
          else collected.messages++
        }),
      report: () => ({
        target: options.name,
        about: options.name,
        seed: 0,
        conversations: collected.conversations,
        messages: collected.messages,
        milliseconds: now(),
        findings: [...collected.findings.values()],
        unconfirmed: [],
        rules: collected.tally.of(rules)
      })
    }
  })
