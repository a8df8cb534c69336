/**
 * Where messages of tasks leave in sessions (2025-11-25: basic/utilities/tasks).
 *
 * A question goes to the newest open `tasks/result` of its task, else to the stream of the session that made the task: of those whose session
 * declared what the question needs. Without either it waits for one of them. It is asked again, with a new id, only when what it went on is
 * gone. Notifications go to any of them, or nowhere.
 */
import { BusyMap, BusySet } from "@effect-mcp/core/internal/BusyMap"
import { exitOf } from "@effect-mcp/core/internal/eager"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { Id } from "@effect-mcp/protocol/JsonRpc"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import type { Outlet } from "./Outlet.ts"
import { type Options, type ReportProgress, TaskRoutes, telling } from "./TaskRoutes.ts"

/** A task whose client knows it soon. */
interface Answered {
  readonly id: string
  /** Its end, and the session in which its status leaves; undefined where it runs, or has routes. */
  readonly ended: Ended | undefined
}

interface Ended {
  readonly task: Task
  readonly session: Outlet
}

/** The routes of all tasks of a server. */
export class Routes {
  private readonly options: Omit<Options, "over">
  private readonly byTask = new BusyMap<string, TaskRoutes>()
  /** Tasks whose client knows them soon: once what was written is on its way, or with it, on the same wire. */
  private answered: Array<Answered> = []
  private answering: Array<Answered> = []
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
  join(task: Task, owner: string, outlet: Outlet, token?: Id): Effect.Effect<void> {
    const { connection } = outlet
    const routes = this.of(task, owner)
    if (token !== undefined) routes.useToken(token, outlet)
    const { connection: before } = routes
    if (connection === undefined || !routes.join(outlet, task)) return Effect.void
    if (before !== undefined) this.bySession.get(before)?.delete(routes)
    return this.leaveAfter(connection, routes)
  }

  /** The client knows the task. */
  begin(id: string): void {
    this.byTask.get(id)?.begin()
  }

  /**
   * As `begin`, once the fiber that runs has written its answer. Tasks that are answered in one turn begin together: what they say leaves in
   * one write, where it was one for each.
   */
  beginSoon(id: string): Effect.Effect<void> {
    return Effect.sync(() => this.soon(id, undefined, false))
  }

  /**
   * As `beginSoon`, called in the turn that answers. `sameWire`: the answer leaves in order before what the task says, so that both leave in
   * one write.
   */
  soon(id: string, ended: Ended | undefined, sameWire: boolean): void {
    const first = (sameWire ? this.answering : this.answered).push({ id, ended }) === 1
    if (!first) return
    if (sameWire) queueMicrotask(this.beginAnswering)
    else this.options.fork(this.beginAnswered)
  }

  private readonly beginAnswered = Effect.map(Effect.yieldNow, () => {
    const { answered } = this
    this.answered = []
    this.beginAll(answered)
  })

  private readonly beginAnswering = (): void => {
    const { answering } = this
    this.answering = []
    this.beginAll(answering)
  }

  private beginAll(tasks: ReadonlyArray<Answered>): void {
    for (const { ended, id } of tasks) {
      if (ended === undefined) this.begin(id)
      else this.conclude(ended)
    }
  }

  /** Tells the end of a task that has no routes. */
  private conclude({ session, task }: Ended): void {
    if (!session.isRead()) return
    const told = telling(session, Wire2025.write(task))
    if (exitOf(told) === undefined) this.options.fork(told)
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
  during<A, E, R>(task: Task, owner: string, outlet: Outlet, wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const routes = this.of(task, owner)
        const close = routes.open(outlet)
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
