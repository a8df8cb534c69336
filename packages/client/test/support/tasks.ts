/** Servers by hand that make tasks of calls, in both generations. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"
import { connected, quiesce } from "./connected.ts"
// Loaded before time stands still: what follows a task is loaded when the first one arrives, what checks an answer with the first question.
import "../../src/tasks/Tasks.ts"
import "@effect-mcp/protocol/JsonSchemaValidator"
import * as Modern from "./modern.ts"
import type * as Scripted from "./scripted.ts"

export const id = "io.modelcontextprotocol/tasks"
/** The revisions that have tasks. */
export const generations = ["2025-11-25", "2026-07-28"] as const
export type Version = (typeof generations)[number]

const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z" }

/** A state of the task `t1` in the words of a generation. */
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
  /** What `tasks/get` shows, one after the other; the last stays. With 2025-11-25 what comes beside the status is left out. */
  readonly states?: ReadonlyArray<readonly [status: string, more?: JsonObject]>
  /** The outcome, for `tasks/result`. */
  readonly result?: JsonObject
  /** Of each state, in milliseconds. Default 500. */
  readonly interval?: number | undefined
  readonly support?: "optional" | "required" | "forbidden" | null
}

/** A server whose tool `add` is called as a task, as a script. It grants no subscription unless the script says otherwise. */
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

/** Lets time pass step by step, so that what a moment leads to happens in it; gives how the fiber ended. */
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
