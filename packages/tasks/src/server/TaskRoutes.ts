/**
 * Sends one task's messages to sessions: its questions, status notifications and progress.
 *
 * See `Routes` for the order of the routes.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import * as Progress from "@effect-mcp/core/Progress"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { Id, Params } from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { CoreTasks } from "../extension/CoreTasks.ts"
import type { Answer, Question, Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import { answerOf, askTimeout, recordAnswer } from "./Asking.ts"
import { canAsk, canAskOneOf, type Destination } from "./Destination.ts"

/** How long a status notification waits for room in the stream. */
const statusPatience: Duration.Input = "1 second"

const closed = CancelReason.annotation("The task is no longer waiting for the answer")

/** An open destination. */
class Route {
  readonly destination: Destination
  /** Completes when the route is closed. */
  readonly closed = Deferred.makeUnsafe<void>()

  constructor(destination: Destination) {
    this.destination = destination
  }

  get isRead(): boolean {
    return this.destination.isRead()
  }
}

/** Returns params linking a message to its task. */
const relatedTo = (taskId: string, params: JsonObject): Params => ({
  ...params,
  _meta: { ...(isJsonObject(params["_meta"]) ? params["_meta"] : undefined), ...Wire2025.related(taskId) }
})

/** True if a client is reading the route and can be asked on it, so that no other route should replace it. */
const isUseful = ({ isRead, destination }: Route, task: Task): boolean =>
  isRead && (task.questions.size === 0 || canAskOneOf(destination, task))

const microtask = Effect.promise(() => Promise.resolve())

export type ReportProgress = Progress.Progress["Service"]["report"]

export interface Options {
  readonly store: TaskStore["Service"]
  readonly clock: Clock.Clock
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Called once, when nothing more will be sent for the task. */
  readonly over: (routes: TaskRoutes, session: RequestConnection | undefined) => void
}

/** True if two states of a task look the same to its client. The other fields never change. */
const isSame = (a: Wire2025.WireTask, b: Wire2025.WireTask): boolean =>
  a.status === b.status && a.statusMessage === b.statusMessage && a.lastUpdatedAt === b.lastUpdatedAt

/** One task's routes and messages. */
export class TaskRoutes {
  private readonly id: string
  private readonly owner: string
  private readonly options: Options
  /** True once the client knows about the task. Until then nothing is sent. */
  private isKnown = false
  /** Completes when the client knows about the task. Only created when progress waits for it. */
  private known: Deferred.Deferred<void> | undefined = undefined
  private readonly expiresAt: number
  private report: ReportProgress | undefined = undefined
  /** The open `tasks/result` requests, oldest first. */
  private readonly waits: Array<Route> = []
  /** The session that created the task. */
  private session: Route | undefined = undefined
  /** Completes when there is another route. Only created when something waits for it. */
  private changed: Deferred.Deferred<void> | undefined = undefined
  /** Created with the first question. */
  private asks: Map<string, Fiber.Fiber<void>> | undefined = undefined
  private follower: Fiber.Fiber<void> | undefined = undefined
  /** Last state sent to the client. */
  private told: Wire2025.WireTask
  ended = false
  private silent = false

  constructor(task: Task, owner: string, options: Options) {
    this.id = task.id
    this.owner = owner
    this.options = options
    this.expiresAt = task.createdAt + task.ttl
    this.told = Wire2025.write(task)
  }

  /** Starts sending status notifications and questions, because the client now knows about the task. */
  begin(): void {
    this.beginAfter(Effect.void)
  }

  /** Like `begin`, but waits until the current fiber has sent its response, in the same turn. */
  beginSoon(): void {
    this.beginAfter(microtask)
  }

  private beginAfter(first: Effect.Effect<void>): void {
    if (this.follower !== undefined || this.ended) return
    const { fork, store } = this.options
    const states = Effect.suspend(() => {
      this.release()
      return Stream.runForEach(store.changes(this.id, this.owner), (task) => this.reached(task))
    })
    const follower = fork(
      Effect.ensuring(
        Effect.andThen(first, states),
        Effect.sync(() => this.end())
      )
    )
    if (!this.ended) this.follower = follower
  }

  // ---- routes

  /**
   * Returns the route for a notification, or for a question in a session that declared the required capability. Returns `undefined` if no
   * client is reading. A client may resume a request after disconnecting.
   */
  private routeOf(question: Question | undefined): Route | undefined {
    const can = ({ destination }: Route): boolean => question === undefined || canAsk(destination, question)
    const read = this.waits.findLast((route) => route.isRead && can(route))
    if (read !== undefined) return read
    const { session } = this
    return session?.isRead === true && can(session) ? session : this.waits.findLast(can)
  }

  private wake(): void {
    const { changed } = this
    this.changed = undefined
    if (changed !== undefined) Deferred.doneUnsafe(changed, Effect.void)
  }

  /** Adds a request that is waiting for the result. Returns a function that removes it. */
  open(destination: Destination): () => void {
    const route = new Route(destination)
    this.waits.push(route)
    this.wake()
    return () => {
      this.close(route)
      this.endIfUnused()
    }
  }

  get connection(): RequestConnection | undefined {
    return this.session?.destination.connection
  }

  /**
   * Uses a session's stream if there is none yet. A stream with a reader replaces one without. It also replaces one whose session can't be
   * asked any of the open questions.
   */
  join(destination: Destination, task: Task): boolean {
    const { session } = this
    if (this.ended || (session !== undefined && (!destination.isRead() || isUseful(session, task)))) return false
    this.session = new Route(destination)
    if (session !== undefined) Deferred.doneUnsafe(session.closed, Effect.void)
    this.wake()
    return true
  }

  /** Called when the session ends. */
  leave(connection: RequestConnection): void {
    const { session } = this
    if (session === undefined || session.destination.connection !== connection) return
    this.session = undefined
    Deferred.doneUnsafe(session.closed, Effect.void)
    this.endIfUnused()
  }

  private close(route: Route): void {
    const index = this.waits.indexOf(route)
    if (index >= 0) this.waits.splice(index, 1)
    if (this.session === route) this.session = undefined
    Deferred.doneUnsafe(route.closed, Effect.void)
    this.wake()
  }

  private endIfUnused(): void {
    if (this.waits.length === 0 && this.session === undefined) this.end()
  }

  /** Releases progress that is waiting. */
  private release(): void {
    this.isKnown = true
    if (this.known !== undefined) Deferred.doneUnsafe(this.known, Effect.void)
  }

  /** Stops sending progress. */
  silence(): void {
    this.silent = true
  }

  /** Stops sending anything, because the task has ended or there is no client. */
  end(): void {
    if (this.ended) return
    this.ended = true
    this.release()
    this.options.over(this, this.connection)
    for (const ask of this.asks?.values() ?? []) ask.interruptUnsafe(undefined, closed)
    this.asks = undefined
    this.follower?.interruptUnsafe()
  }

  // ---- questions

  private reached(task: Task): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const [key, question] of task.questions) {
        const asks = (this.asks ??= new Map())
        // A client may reject a question that arrives together with the answer that creates the task.
        if (!asks.has(key)) asks.set(key, this.options.fork(Effect.andThen(Effect.yieldNow, this.ask(key, question))))
      }
      for (const [key, ask] of this.asks ?? []) {
        if (task.questions.has(key)) continue
        this.asks?.delete(key)
        ask.interruptUnsafe(undefined, closed)
      }
      return this.tell(task)
    })
  }

  /** Waits until there is another route, or the session's stream has a reader. */
  private get moved(): Effect.Effect<void> {
    const { session } = this
    const changed = Deferred.await((this.changed ??= Deferred.makeUnsafe()))
    const read = session?.destination.connection?.read
    // Keeps a stream that has a reader but cannot be asked. Otherwise the wait would end at once, again and again.
    return read === undefined || session?.isRead === true ? changed : Effect.raceFirst(changed, read)
  }

  /**
   * Waits until no client is reading this route while another route is being read. A client that returns to the route still has its
   * questions.
   */
  private lost(route: Route, question: Question): Effect.Effect<void> {
    const elsewhere: Effect.Effect<void> = Effect.suspend(() => {
      if (route.isRead) return this.lost(route, question)
      return this.routeOf(question) === route ? Effect.andThen(this.moved, elsewhere) : Effect.void
    })
    return Effect.andThen(route.destination.left, elsewhere)
  }

  private ask(key: string, question: Question): Effect.Effect<void> {
    return Effect.suspend(() => {
      const route = this.routeOf(question)
      const again = Effect.suspend(() => this.ask(key, question))
      if (route === undefined) return Effect.andThen(this.moved, again)
      const { method, params } = question
      const asked = route.destination.input.askExtension(
        { method, params: relatedTo(this.id, params), decode: Effect.succeed },
        { timeout: askTimeout }
      )
      const answered = Effect.map(Effect.exit(asked), (exit) => answerOf(exit) ?? "closed")
      const gone = Effect.raceFirst(Deferred.await(route.closed), this.lost(route, question))
      return Effect.flatMap(Effect.raceFirst(answered, Effect.as(gone, "gone" as const)), (answer) => {
        if (answer === "closed") this.close(route)
        return typeof answer === "string" ? again : this.answer(key, answer)
      })
    })
  }

  private answer(key: string, answer: Answer): Effect.Effect<void> {
    const { id, options, owner } = this
    return recordAnswer(options.store, { id, owner, key }, answer)
  }

  // ---- notifications

  /** Notifies the client of a changed status, if it is reading and the stream has room soon. */
  private tell(task: Task): Effect.Effect<void> {
    const wire = Wire2025.write(task)
    const destination = this.routeOf(undefined)?.destination
    if (destination === undefined || isSame(wire, this.told)) return Effect.void
    this.told = wire
    const sent = Effect.map(destination.ready, () => destination.notify(CoreTasks.notifications.status.method, wire))
    return Effect.asVoid(Effect.timeoutOption(sent, statusPatience))
  }

  /** Returns where to send progress: only to routes in the token's session. */
  private progressDestination({ connection }: Destination): Destination | undefined {
    const { clock } = this.options
    if (this.ended || this.silent || clock.currentTimeMillisUnsafe() >= this.expiresAt) return undefined
    const own = [...(this.session === undefined ? [] : [this.session]), ...this.waits]
    return own.findLast(({ isRead, destination }) => isRead && destination.connection === connection)?.destination
  }

  /** Uses the progress token of the request that created the task. */
  useToken(token: Id, session: Destination): void {
    const destination = () => this.progressDestination(session)
    const { report: send } = Progress.make({
      token,
      writable: () => false,
      ready: Effect.suspend(() => destination()?.ready ?? Effect.void),
      send: (event) => destination()?.notify("notifications/progress", relatedTo(this.id, { ...event }))
    })
    const sent: ReportProgress = (progress, options) =>
      Effect.suspend(() => (destination() === undefined ? Effect.void : send(progress, options)))
    const report: ReportProgress = (progress, options) =>
      Effect.suspend(() =>
        this.isKnown
          ? sent(progress, options)
          : Effect.andThen(Deferred.await((this.known ??= Deferred.makeUnsafe())), sent(progress, options))
      )
    this.report = report
  }

  /** Sends the handler's progress. */
  progress(...report: Parameters<ReportProgress>): Effect.Effect<void> {
    return this.report?.(...report) ?? Effect.void
  }
}
