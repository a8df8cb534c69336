/**
 * Where messages of tasks leave in sessions (2025-11-25: basic/utilities/tasks).
 *
 * A question goes to the newest open `tasks/result` of its task, else to the stream of the session that made the task: of those whose session
 * declared what the question needs. Without either it waits for one of them. It is asked again, with a new id, only when what it went on is
 * gone. Notifications go to any of them, or nowhere.
 */
import { BusyMap, BusySet } from "@effect-mcp/core/internal/BusyMap"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { Id } from "@effect-mcp/protocol/JsonRpc"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Task } from "../model/Task.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import type { Destination } from "./Destination.ts"
import { type Options, type ReportProgress, TaskRoutes } from "./TaskRoutes.ts"

/** The routes of all tasks of a server. */
export class Routes {
  private readonly options: Omit<Options, "over">
  private readonly byTask = new BusyMap<string, TaskRoutes>()
  /** The tasks whose messages leave on the stream of a session. */
  private readonly bySession = new WeakMap<RequestConnection, BusySet<TaskRoutes>>()

  constructor(options: Omit<Options, "over">) {
    this.options = options
  }

  /** In a scope, which ends all that is asked. */
  static readonly make = (store: TaskStore["Service"]): Effect.Effect<Routes, never, Scope.Scope> =>
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const clock = yield* Clock.Clock
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      return new Routes({ store, clock, fork: (effect) => Fiber.runIn(runFork(effect), scope) })
    })

  private of(task: Task, owner: string): TaskRoutes {
    const known = this.byTask.get(task.id)
    if (known !== undefined) return known
    const over: Options["over"] = (routes, session) => {
      if (session !== undefined) this.bySession.get(session)?.delete(routes)
      if (this.byTask.get(task.id) === routes) this.byTask.delete(task.id)
    }
    const made = new TaskRoutes(task, owner, { ...this.options, over })
    this.byTask.set(task.id, made)
    return made
  }

  /**
   * Sends what belongs to the task on the stream of a session while the session lives, from `begin` on. Called right before its effect runs.
   * `token`: that of the progress of the request that made the task.
   */
  join(task: Task, owner: string, destination: Destination, token?: Id): Effect.Effect<void> {
    const { connection } = destination
    const routes = this.of(task, owner)
    if (token !== undefined) routes.useToken(token, destination)
    const { connection: before } = routes
    if (connection === undefined || !routes.join(destination, task)) return Effect.void
    if (before !== undefined) this.bySession.get(before)?.delete(routes)
    return this.leaveAfter(connection, routes)
  }

  /** The client knows the task. */
  begin(id: string): void {
    this.byTask.get(id)?.begin()
  }

  /** As `begin`, once the fiber that runs has sent its answer. */
  beginSoon(id: string): Effect.Effect<void> {
    return Effect.sync(() => this.byTask.get(id)?.beginSoon())
  }

  /** Sends progress of the handler of a task. */
  report(id: string, ...report: Parameters<ReportProgress>): Effect.Effect<void> {
    return this.byTask.get(id)?.progress(...report) ?? Effect.void
  }

  private leaveAfter(connection: RequestConnection, routes: TaskRoutes): Effect.Effect<void> {
    const known = this.bySession.get(connection)
    if (known !== undefined) {
      known.add(routes)
      return Effect.void
    }
    const tasks = new BusySet<TaskRoutes>()
    tasks.add(routes)
    this.bySession.set(connection, tasks)
    return Scope.addFinalizer(
      connection.scope,
      Effect.sync(() => {
        // A task that joins later leaves at once.
        this.bySession.delete(connection)
        for (const routes of tasks) routes.leave(connection)
      })
    )
  }

  /** Runs the wait for the end of a task, on whose stream the task may ask. */
  during<A, E, R>(
    task: Task,
    owner: string,
    destination: Destination,
    wait: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const routes = this.of(task, owner)
        const close = routes.open(destination)
        routes.begin()
        return close
      }),
      () => wait,
      (close, exit) => Effect.sync(() => (Exit.isSuccess(exit) ? this.ended(task.id) : close()))
    )
  }

  /** No progress is sent any more: the handler has ended. */
  silence(id: string): void {
    this.byTask.get(id)?.silence()
  }

  /** How many tasks have routes. */
  get size(): number {
    return this.byTask.size
  }

  /** Nothing more is sent for a task that has ended. */
  ended(id: string): void {
    this.byTask.get(id)?.end()
  }
}
