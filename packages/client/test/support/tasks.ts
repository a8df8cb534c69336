/** Hand-written servers that turn calls into tasks, in both generations. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"
import { connected, quiesce } from "./connected.ts"
// Loaded before the test clock starts: the code that follows tasks otherwise loads with the first task, and the validation of answers with
// the first question.
import "../../src/tasks/Tasks.ts"
import "@effect-mcp/protocol/JsonSchemaValidator"
import * as Modern from "./modern.ts"
import type * as Scripted from "./scripted.ts"

export const id = "io.modelcontextprotocol/tasks"
/** The revisions that have tasks. */
export const generations = ["2025-11-25", "2026-07-28"] as const
export type Version = (typeof generations)[number]

const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z" }

/** A state of the task `t1` in the form of a generation. */
export const state = (version: Version, status: string, more: JsonObject = {}, interval?: number): JsonObject => {
  const suffix = version === "2025-11-25" ? "" : "Ms"
  const pollInterval = interval === undefined ? undefined : { [`pollInterval${suffix}`]: interval }
  return { taskId: "t1", status, ...times, [`ttl${suffix}`]: null, ...pollInterval, ...more }
}

/** The answer to a request other than a call. */
export const answer = (version: Version, value: object) => (version === "2025-11-25" ? value : Modern.complete(value))

/** The answer to a call that became a task. */
export const created = (version: Version, more?: JsonObject, interval?: number) => {
  const task = state(version, "working", more, interval)
  return version === "2025-11-25" ? { task } : { resultType: "task", ...task }
}

export const sum = { content: [{ type: "text", text: "3" }], structuredContent: { sum: 3 } }

const capabilities = (version: Version) => ({
  tools: {},
  ...(version === "2025-11-25"
    ? { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    : { extensions: { [id]: {} } })
})

export interface Script extends Omit<Scripted.Script, "version"> {
  readonly version: Version
  /**
   * The results of `tasks/get`, in order; the last one repeats. In 2025-11-25, fields other than the status are dropped.
   */
  readonly states?: ReadonlyArray<readonly [status: string, more?: JsonObject]>
  /** The outcome, for `tasks/result`. */
  readonly result?: JsonObject
  /** Polling interval of each state, in milliseconds. Default 500. */
  readonly interval?: number | undefined
  readonly support?: "optional" | "required" | "forbidden" | null
}

/**
 * The script of a server whose tool `add` runs as a task. It grants no subscription unless the script says otherwise.
 */
export const scriptOf = (
  {
    answers,
    result = sum,
    states = [["completed", { result: sum }]],
    support = "required",
    version,
    ...script
  }: Script,
  seen = { reads: 0 }
): Scripted.Script & { readonly version: Version } => {
  const interval = "interval" in script ? script.interval : 500
  return {
    version,
    capabilities: capabilities(version),
    ...script,
    answers: {
      "tools/list": () =>
        answer(version, {
          tools: [
            { name: "add", inputSchema: { type: "object" }, ...(support && { execution: { taskSupport: support } }) }
          ],
          ...(version === "2025-11-25" ? {} : { ttlMs: 0, cacheScope: "private" })
        }),
      "tools/call": () => created(version, {}, interval),
      "tasks/get": () => {
        const [status, more = {}] = states[Math.min(seen.reads++, states.length - 1)] ?? ["working"]
        const { error: _error, inputRequests: _asked, result: _result, ...rest } = more
        return answer(version, state(version, status, version === "2025-11-25" ? rest : more, interval))
      },
      "tasks/result": () => Effect.succeed(result),
      "tasks/cancel": () => answer(version, version === "2025-11-25" ? state(version, "cancelled") : {}),
      "tasks/update": () => answer(version, {}),
      "subscriptions/listen": (_params, { peer, request }) => {
        peer.notify("notifications/subscriptions/acknowledged", {
          _meta: { "io.modelcontextprotocol/subscriptionId": request.id },
          notifications: {}
        })
        return Effect.never
      },
      ...answers
    }
  }
}

/** A client of such a server. */
export const serving = (script: Script, options?: McpClient.Options) =>
  Effect.suspend(() => {
    const seen = { reads: 0 }
    return Effect.map(connected(scriptOf(script, seen), { revisions: [script.version], ...options }), (both) => ({
      ...both,
      seen
    }))
  })

/** Advances time step by step, so that everything due at a moment happens in it. Returns how the fiber ended. */
export const ended = Effect.fnUntraced(function* <A, E>(
  fiber: Fiber.Fiber<A, E>,
  { step = 500, steps = 40 }: { readonly step?: number; readonly steps?: number } = {}
) {
  for (let i = 0; i < steps; i++) {
    yield* quiesce
    if (fiber.pollUnsafe() !== undefined) break
    yield* TestClock.adjust(step)
  }
  return yield* fiber.pollUnsafe() ?? Effect.die(new Error("The call goes on"))
})
