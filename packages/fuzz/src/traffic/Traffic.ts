/**
 * Checks existing traffic between real clients and a server against the fuzzer's rules.
 *
 * Nothing is sent or changed. The rules skip anything only the client can know: whether a resource exists, whether a tool that was never
 * listed exists, or whether a cursor from another conversation is valid.
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

/** A broken rule, with the first place it was seen and the number of times. */
export interface SeenFinding extends Finding<{ readonly revision: Version }> {
  readonly times: number
}

export interface Options {
  /** Name of the server to show to people, such as its command line or URL. */
  readonly name: string
  /** Finding keys or rule names to accept. */
  readonly known?: ReadonlySet<string> | undefined
  /** Checks only the rules whose name, requirement or level starts with one of these. Default: all rules. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Custom rules to check in addition to the specification's. */
  readonly rules?: ReadonlyArray<Rule> | undefined
  /** How long a request may take before it counts as unanswered, in milliseconds. Default 60 000. */
  readonly patience?: number | undefined
  /** Called immediately the first time a finding is seen. */
  readonly onFinding?: ((finding: SeenFinding) => void) | undefined
}

/** Maximum number of findings. A server that is wrong in endless ways is reported by the first of them. */
const mostFindings = 1000

export interface TrafficRules {
  /** Returns a checker for one client of a stdio server. */
  readonly lines: () => LineTraffic
  /** Returns a checker for any number of clients of a server over Streamable HTTP, or over HTTP with SSE if requests include their URL. */
  readonly http: () => HttpTraffic
  /** Returns the report so far. A conversation's rules are counted when it ends. */
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
 * Creates checkers for live traffic. Pass the traffic to `lines` or `http`, then pass the `report` to `Fuzz.Report`.
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
