/**
 * The audit log for tasks: a line when a task is created, ends, or is read or changed by its caller, and for each rejection.
 *
 * Lines go to the server's loggers, never to a client. An owner is shown as its principal, or as a digest if it is a connection. No line
 * contains arguments or results.
 */
import { digest } from "@effect-mcp/core/internal/digest"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type { TaskOutcome } from "../model/Task.ts"
import * as Defects from "./defects.ts"
import { reporting, type TaskStores } from "./reporting.ts"

/** Formats a task's owner for a log. */
const nameOf = (owner: string): string =>
  owner.startsWith("principal ") || owner === "anonymous" ? excerpt(owner) : `connection ${digest(owner)}`

const endOf = (outcome: TaskOutcome): string =>
  outcome._tag === "Error" ? `error ${outcome.code}` : outcome._tag === "Result" ? "result" : "cancelled"

interface Facts {
  readonly id?: string
  /** The owner, or `undefined` if this process does not know it. */
  readonly owner: string | undefined
  readonly more?: { readonly [name: string]: string }
}

const annotationsOf = ({ id, more, owner }: Facts) => ({
  ...(id === undefined ? undefined : { "mcp.task.id": excerpt(id) }),
  ...(owner === undefined ? undefined : { "mcp.task.owner": nameOf(owner) }),
  ...more
})

/** Wraps a server's store and journal so that their operations are logged. */
export const make = (services: TaskStores): Effect.Effect<TaskStores> =>
  Effect.map(Effect.zip(Effect.context<never>(), Defects.reporter), ([context, failed]) => {
    const run = Effect.runSyncWith(context)
    const least = Context.get(context, References.MinimumLogLevel)
    // Not a request's fiber, whose logs are sent to its client.
    const isLogged = {
      Info: LogLevel.isGreaterThanOrEqualTo("Info", least),
      Debug: LogLevel.isGreaterThanOrEqualTo("Debug", least)
    }
    // Lines that would not be logged are not built.
    if (!isLogged.Info) return services
    const line = (level: "Info" | "Debug", message: string, facts: Facts): void => {
      if (!isLogged[level]) return
      try {
        run(Effect.annotateLogs(Effect.logWithLevel(level)(message), annotationsOf(facts)))
      } catch (defect) {
        failed(defect)
      }
    }
    const refused = (why: string, facts: Facts) => line("Info", `Task request rejected: ${why}`, facts)
    const used =
      (message: string, id: string, owner: string, level: "Info" | "Debug" = "Debug") =>
      <A, E>(use: Effect.Effect<Option.Option<A>, E>): Effect.Effect<Option.Option<A>, E> =>
        Effect.tap(use, (found) =>
          Effect.sync(() => {
            if (Option.isSome(found)) line(level, message, { id, owner })
            else refused("the caller has no such task", { id, owner })
          })
        )
    const ended = (id: string, owner: string | undefined, end: string) =>
      line("Info", "Task ended", { id, owner, more: { "mcp.task.end": end } })
    const { journal, store } = reporting(services, {
      created: (id, { owner, tool }) =>
        line("Info", "Task created", { id, owner, more: { "mcp.task.tool": excerpt(tool) } }),
      settled: (id, made, outcome) => ended(id, made?.owner, endOf(outcome)),
      expired: (id, made) => ended(id, made?.owner, "expired")
    })

    return {
      journal,
      store: {
        ...store,
        create: (task, node) =>
          Effect.tapError(store.create(task, node), ({ message }) =>
            Effect.sync(() => refused(message, { owner: task.owner }))
          ),
        get: (id, owner) => used("Task read", id, owner)(store.get(id, owner)),
        list: (owner, cursor, size) =>
          Effect.tap(store.list(owner, cursor, size), () =>
            Effect.sync(() => line("Debug", "Tasks listed", { owner }))
          ),
        answer: (id, owner, answers) => used("Task answered", id, owner)(store.answer(id, owner, answers)),
        cancel: (id, owner, message) => used("Task cancelled", id, owner, "Info")(store.cancel(id, owner, message))
      }
    }
  })
