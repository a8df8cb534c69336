/**
 * A server's last 15 minutes: a few figures for each second, the calls to each tool, and problems such as failed requests.
 *
 * Its size is bounded: 900 samples, 200 tools, 200 problems and 100 rejected HTTP requests.
 */
import { count } from "../telemetry/openCounts.ts"
import { actorOf, outcomeOf, targetOf } from "../audit/entries.ts"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Observed, Observer, RequestEnd } from "@effect-mcp/server/Observer"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Ring } from "./Ring.ts"
import { minutes, quantile, Window } from "./Window.ts"

const Text = Schema.optional(Schema.String)

/** Requests that ended in one second, and the number of open requests at its end. */
export const Sample = Schema.Struct({
  /** Milliseconds since 1970. */
  time: Schema.Finite,
  sessions: Schema.Finite,
  running: Schema.Finite,
  pending: Schema.Finite,
  questions: Schema.Finite,
  /** Requests that ended in this second. */
  calls: Schema.Finite,
  failures: Schema.Finite,
  /** Duration in milliseconds that 95% of the requests in the last minute or two did not exceed. Absent if there were no requests. */
  p95: Schema.optional(Schema.Finite)
})
export type Sample = typeof Sample.Type

const LastError = Schema.Struct({ time: Schema.Finite, outcome: Schema.String, code: Schema.optional(Schema.Finite) })

/** Calls to a tool on one node. */
const ToolCounts = Schema.Struct({
  name: Schema.String,
  calls: Schema.Finite,
  failures: Schema.Finite,
  /** Calls in the current minute and in the previous one. */
  lately: Schema.Finite,
  durations: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite])),
  last: Schema.optional(LastError)
})

/** Calls to a tool in the last 15 minutes, on all nodes. Durations are in milliseconds, and off by at most a tenth. */
export const ToolRow = Schema.Struct({
  name: Schema.String,
  calls: Schema.Finite,
  failures: Schema.Finite,
  /** Calls per minute, over the last minute or two. */
  perMinute: Schema.Finite,
  p50: Schema.optional(Schema.Finite),
  p95: Schema.optional(Schema.Finite),
  last: Schema.optional(LastError)
})
export type ToolRow = typeof ToolRow.Type

/** A request that failed or was rejected, an interruption, or a task that ran again or failed. Contains no arguments or results. */
export const ProblemRow = Schema.Struct({
  /** Milliseconds since 1970. */
  time: Schema.Finite,
  kind: Schema.Literals(["failed", "refused", "retried", "interrupted"]),
  method: Schema.String,
  target: Text,
  code: Schema.optional(Schema.Finite),
  /** More about it, such as the operator's reason, or how many times a task has run. */
  more: Text,
  client: Text,
  subject: Text,
  session: Text,
  /** The node, if there are several. */
  node: Text,
  /** Milliseconds. */
  duration: Schema.optional(Schema.Finite)
})
export type ProblemRow = typeof ProblemRow.Type

/** One node's record. */
export const NodeRecord = Schema.Struct({
  samples: Schema.Array(Sample),
  tools: Schema.Array(ToolCounts),
  problems: Schema.Array(ProblemRow)
})
export type NodeRecord = typeof NodeRecord.Type

/** Response to `GET {path}/recent`. */
export const Recent = Schema.Struct({
  samples: Schema.Array(Sample),
  tools: Schema.Array(ToolRow),
  /** Newest first. */
  problems: Schema.Array(ProblemRow)
})
export type Recent = typeof Recent.Type

const toolsAtMost = 200
const problemsAtMost = 200
/** Kept apart from other problems, because anyone can send requests without a token. */
const refusalsAtMost = 100
/** Collects calls to tools beyond the limit, and to tools that do not exist. */
const other = "(other)"

interface Tool {
  readonly window: Window
  last: typeof LastError.Type | undefined
}

const kinds: Readonly<Record<string, ProblemRow["kind"]>> = {
  failed: "failed",
  tool_failed: "failed",
  refused: "refused",
  interrupted: "interrupted"
}

/** Outcomes of a call whose tool exists, unless another tool ran in its place. */
const ran: ReadonlySet<string> = new Set(["answered", "asked", "tool_failed", "interrupted"])

/** Reasons of an HTTP rejection, by status. */
const refusals: Readonly<Record<number, string>> = {
  401: "missing or invalid token",
  403: "forbidden",
  404: "no such session",
  413: "too large",
  429: "too many requests",
  503: "draining, or too many sessions"
}

export class RecentRecorder {
  private readonly clock: Clock.Clock
  private readonly servers = new Set<Observed>()
  private readonly samples = new Ring<Sample>(minutes * 60)
  private readonly problems = new Ring<ProblemRow>(problemsAtMost)
  private readonly refusals = new Ring<ProblemRow>(refusalsAtMost)
  private readonly tools = new Map<string, Tool>()
  private readonly all = new Window()
  private calls = 0
  private failures = 0

  constructor(clock: Clock.Clock) {
    this.clock = clock
  }

  private toolOf(name: string, isKnown: boolean): Tool {
    const known = this.tools.get(name)
    if (known !== undefined) return known
    if (name !== other && (!isKnown || !this.hasRoom())) return this.toolOf(other, true)
    const tool = { window: new Window(), last: undefined }
    this.tools.set(name, tool)
    return tool
  }

  /** Forgets tools that were not called in the last 15 minutes if there are too many. */
  private hasRoom(): boolean {
    if (this.tools.size < toolsAtMost) return true
    const now = this.clock.currentTimeMillisUnsafe()
    for (const [name, { window }] of this.tools) if (window.isEmpty(now)) this.tools.delete(name)
    return this.tools.size < toolsAtMost
  }

  private requested(end: RequestEnd, exit: Exit.Exit<unknown, unknown>): void {
    const { duration, interrupted, principal, session, transport } = end
    const { method, params = {} } = end.request
    const { code, outcome } = outcomeOf(exit, interrupted)
    const kind = kinds[outcome]
    const time = this.clock.currentTimeMillisUnsafe()
    const target = targetOf(params)
    this.calls++
    if (kind !== undefined) this.failures++
    this.all.record(time, duration, kind !== undefined)
    if (method === "tools/call" && target !== undefined) {
      // A client chooses the name. It is only kept if a tool with this name ran.
      const tool = this.toolOf(target, ran.has(outcome) || code === McpError.InternalError)
      tool.window.record(time, duration, kind !== undefined)
      if (kind !== undefined) tool.last = { time, outcome, ...(code === undefined ? undefined : { code }) }
    }
    if (kind === undefined) return
    const { client, session: id, subject } = actorOf(principal, session, { transport, meta: params["_meta"] })
    const more = outcome === "tool_failed" ? "the tool reported an error" : interrupted
    this.problems.push({
      time,
      kind,
      method: beginning(method),
      target,
      code,
      more: more === undefined ? undefined : beginning(more),
      client,
      subject,
      session: id,
      node: undefined,
      duration
    })
  }

  private problem(kind: ProblemRow["kind"], method: string, about: Partial<ProblemRow>): ProblemRow {
    return { time: this.clock.currentTimeMillisUnsafe(), kind, method, ...about }
  }

  readonly observer: Observer = {
    request: (end, exit) => this.requested(end, exit),
    refused: ({ method, principal, status }) =>
      this.refusals.push(
        this.problem("refused", `HTTP ${beginning(method)}`, {
          code: status,
          more: refusals[status],
          subject: principal?.subject
        })
      ),
    task: ({ age, principal, reason, state, tool }) => {
      if (state !== "failed" && state !== "expired") return
      const more = reason === undefined ? state : `${state}: ${beginning(reason)}`
      const about = { target: tool, more, subject: principal?.subject, duration: age }
      this.problems.push(this.problem("failed", "task", about))
    },
    taskRun: ({ attempt, duration, tool }) => {
      if (attempt <= 1) return
      this.problems.push(this.problem("retried", "task", { target: tool, more: `run ${attempt}`, duration }))
    },
    serves: (observed) =>
      Effect.acquireRelease(
        Effect.sync(() => void this.servers.add(observed)),
        () => Effect.sync(() => this.servers.delete(observed))
      )
  }

  /** Adds a sample. Called every second. */
  readonly sample = (): void => {
    const time = this.clock.currentTimeMillisUnsafe()
    const { active, pending, questions, sessions } = count(this.servers)
    const p95 = quantile(this.all.counts(time, 2).durations, 0.95)
    const { calls, failures } = this
    const sample = { time, sessions, running: active, pending, questions, calls, failures }
    this.samples.push(p95 === undefined ? sample : { ...sample, p95 })
    this.calls = 0
    this.failures = 0
  }

  /** Returns the record, with the samples after `since`. */
  read(since: number): NodeRecord {
    const now = this.clock.currentTimeMillisUnsafe()
    return {
      samples: this.samples.all().filter(({ time }) => time > since),
      tools: [...this.tools].flatMap(([name, { last, window }]) => {
        if (window.isEmpty(now)) return []
        const isLate = last !== undefined && last.time > now - minutes * 60_000
        return [
          { name, ...window.counts(now), lately: window.counts(now, 2).calls, ...(isLate ? { last } : undefined) }
        ]
      }),
      problems: [...this.problems.all(), ...this.refusals.all()]
    }
  }
}

/** How long the current minute and the previous one have lasted so far, in milliseconds. */
const latelyLasted = (now: number): number => 60_000 + (now % 60_000)

const latest = (errors: ReadonlyArray<typeof LastError.Type | undefined>) =>
  errors.filter((error) => error !== undefined).toSorted((a, b) => b.time - a.time)[0]

/** Adds up the samples of the same second. Nodes take them at different times, so the current second is incomplete. */
const mergedSamples = (all: ReadonlyArray<Sample>, now: number): ReadonlyArray<Sample> =>
  [...Map.groupBy(all, ({ time }) => Math.floor(time / 1000))]
    .filter(([second]) => second < Math.floor(now / 1000))
    .map(([, same]): Sample => {
      const sum = (of: (sample: Sample) => number) => same.reduce((total, sample) => total + of(sample), 0)
      const slow = same.flatMap(({ p95 }) => p95 ?? [])
      return {
        time: Math.max(...same.map(({ time }) => time)),
        sessions: sum(({ sessions }) => sessions),
        running: sum(({ running }) => running),
        pending: sum(({ pending }) => pending),
        questions: sum(({ questions }) => questions),
        calls: sum(({ calls }) => calls),
        failures: sum(({ failures }) => failures),
        ...(slow.length === 0 ? undefined : { p95: Math.max(...slow) })
      }
    })
    .toSorted((a, b) => a.time - b.time)

/** Merges all nodes' records. */
export const merged = (
  records: ReadonlyArray<{ readonly node: string | undefined; readonly record: NodeRecord }>,
  now: number
): Recent => {
  const tools = Map.groupBy(
    records.flatMap(({ record }) => record.tools),
    ({ name }) => name
  )
  return {
    samples:
      records.length === 1
        ? (records[0]?.record.samples ?? [])
        : mergedSamples(
            records.flatMap(({ record }) => record.samples),
            now
          ),
    tools: [...tools].map(([name, counts]) => {
      const sum = (of: (one: (typeof counts)[number]) => number) => counts.reduce((total, one) => total + of(one), 0)
      const durations = counts.flatMap((one) => one.durations)
      return {
        name,
        calls: sum(({ calls }) => calls),
        failures: sum(({ failures }) => failures),
        perMinute: (sum(({ lately }) => lately) * 60_000) / latelyLasted(now),
        p50: quantile(durations, 0.5),
        p95: quantile(durations, 0.95),
        last: latest(counts.map(({ last }) => last))
      }
    }),
    problems: records
      .flatMap(({ node, record }) => record.problems.map((problem) => ({ ...problem, node })))
      .toSorted((a, b) => b.time - a.time)
  }
}
