/** One run of the handler of a task, and what views and metrics say of it. */
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { OpenTask } from "@effect-mcp/server/internal/TaskSource"
import type * as Effect from "effect/Effect"
import type { ClientFacts } from "./ClientFacts.ts"
import type { RunActivity } from "./RunActivity.ts"

export interface About {
  readonly tool: string
  /** The owner of the task. */
  readonly owner: string
  /** When the task was created, in milliseconds since the epoch. */
  readonly createdAt: number
  /** From 1; grows with each run that recorded nothing new. */
  readonly attempt: number
  readonly client: ClientFacts
}

/** A handler that runs as a task, and what it waits for. */
export interface Attempt {
  readonly handler: Effect.Effect<JsonObject, McpError>
  /** Its steps, questions and sleeps. */
  readonly activity: RunActivity
  /** Whether it is parked once it only waits. */
  readonly canPark: boolean
  readonly about: About
}

/** The task of a run, as views show it. */
export const openTask = (id: string, { about, activity }: Attempt, progress: OpenTask["progress"]): OpenTask => {
  const { asking, wakesAt } = activity
  return {
    id,
    tool: about.tool,
    state: asking.length > 0 ? "asking" : wakesAt === undefined ? "running" : "sleeping",
    since: about.createdAt,
    asking,
    wakesAt,
    progress,
    facts: about.client.facts
  }
}
