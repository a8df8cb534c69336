/** One run of a task's handler, and its facts for views and metrics. */
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { OpenTask } from "@effect-mcp/server/internal/observing"
import type * as Effect from "effect/Effect"
import type { ClientFacts } from "./ClientFacts.ts"
import type { RunActivity } from "./RunActivity.ts"

export interface About {
  readonly tool: string
  /** Owner of the task. */
  readonly owner: string
  /** When the task was created, in milliseconds since 1970. */
  readonly createdAt: number
  /** Starts at 1 and increases with each run that recorded nothing new. */
  readonly attempt: number
  readonly client: ClientFacts
}

/** A handler that runs as a task, and its open waits. */
export interface Attempt {
  readonly handler: Effect.Effect<JsonObject, McpError>
  /** Its steps, questions and sleeps. */
  readonly activity: RunActivity
  /** Whether to park the run while it is only waiting. */
  readonly canPark: boolean
  readonly about: About
}

/** Returns a run's task, for views. */
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
