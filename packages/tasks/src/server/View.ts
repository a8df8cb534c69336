/** A server's open tasks, for views: tasks running in this process, and stored tasks that no node is running. */
import type { OpenTask, TaskSource } from "@effect-mcp/server/internal/observing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ClientFacts from "../run/ClientFacts.ts"
import type { Parked } from "../store/Journal.ts"
import type { Service } from "./Service.ts"

/** Maximum number of parked tasks to show, oldest first. */
const parkedAtMost = 1000

const parkedTask = ({ due, input, task }: Parked, now: number): Effect.Effect<OpenTask> => {
  const asking = [...task.questions.values()].map(({ method }) => method)
  const sleeps = due !== undefined && due > now
  // A row of another version may be unreadable. Then it is shown without its caller.
  return Effect.map(Effect.option(ClientFacts.read(input.client)), (client) => ({
    id: task.id,
    tool: input.tool,
    state: due !== undefined && !sleeps ? "pending" : asking.length > 0 ? "asking" : "sleeping",
    since: task.createdAt,
    asking,
    wakesAt: sleeps ? due : undefined,
    progress: undefined,
    facts: Option.getOrUndefined(client)?.facts
  }))
}

export const sourceOf = ({
  journal,
  store,
  supervisor
}: Pick<Service, "journal" | "store" | "supervisor">): TaskSource => {
  const parked = Effect.flatMap(journal.parked(parkedAtMost), (all) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.forEach(all, (one) => parkedTask(one, now)))
  )
  return {
    list: Effect.map(parked, (waiting) => {
      const running = supervisor.running()
      const ids = new Set(running.map(({ id }) => id))
      return [...running, ...waiting.filter(({ id }) => !ids.has(id))]
    }),
    count: () => {
      const tasks = supervisor.running()
      const of = (state: OpenTask["state"]) => tasks.filter((task) => task.state === state).length
      const questions = tasks.reduce((sum, { asking }) => sum + asking.length, 0)
      return { running: of("running"), asking: of("asking"), sleeping: of("sleeping"), questions }
    },
    parked: journal.parkedCounts,
    // No task has this id, which makes it the cheapest query.
    answers: store.outlives ? Effect.asVoid(store.get("", "")) : undefined,
    cancel: (id, reason) =>
      Effect.gen(function* () {
        const owner =
          supervisor.ownerOf(id) ??
          (yield* journal.parked(parkedAtMost)).find(({ task }) => task.id === id)?.input.owner
        if (owner === undefined) return false
        const before = Option.getOrUndefined(yield* store.get(id, owner))
        if (before === undefined || before.outcome !== undefined) return false
        return Option.isSome(yield* store.cancel(id, owner, reason))
      })
  }
}
