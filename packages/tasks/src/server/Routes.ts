/**
 * Routes task messages to sessions (2025-11-25: basic/utilities/tasks).
 *
 * A question goes to the task's newest open `tasks/result`, or else to the stream of the session that created the task, provided that
 * session declared the required capability. If there is neither, it waits for one. It is only asked again, with a new ID, if its route is
 * gone. Notifications go to any route, or are dropped.
 */
import { BusyMap, BusySet } from "@effect-mcp/core/internal/inFlight"
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

/** Routes for all of a server's tasks. */
export class Routes {
  private readonly options: Omit<Options, "over">
  private readonly byTask = new BusyMap<string, TaskRoutes>()
  /** Tasks whose messages are sent on a session's stream. */
  private readonly bySession = new Map<RequestConnection, BusySet<TaskRoutes>>()

  constructor(options: Omit<Options, "over">) {
    this.options = options
  }

  /** Creates the routes in a scope. When the scope closes, all open questions end. */
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
   * Sends the task's messages on a session's stream for as long as the session lives, starting with `begin`. Call it right before its
   * effect runs. `token` is the progress token of the request that created the task.
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

  /** Records that the client knows about the task. */
  begin(id: string): void {
    this.byTask.get(id)?.begin()
  }

  /** Like `begin`, but waits until the current fiber has sent its response. */
  beginSoon(id: string): Effect.Effect<void> {
    return Effect.sync(() => this.byTask.get(id)?.beginSoon())
  }

  /** Sends a handler's progress. */
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

  /** Waits for a task to end, using an effect on whose stream the task may ask questions. */
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

  /** Stops sending progress, because the handler has ended. */
  silence(id: string): void {
    this.byTask.get(id)?.silence()
  }

  /** Number of tasks with routes. */
  get size(): number {
    return this.byTask.size
  }

  /** Stops sending anything for a task that has ended. */
  ended(id: string): void {
    this.byTask.get(id)?.end()
  }
}
