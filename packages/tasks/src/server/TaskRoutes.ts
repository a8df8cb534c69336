/**
 * What leaves in sessions for one task: its questions, notifications of its status, and its progress.
 *
 * See `Routes` for the order of the routes.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { AskError } from "@effect-mcp/core/ClientInput"
import * as Progress from "@effect-mcp/core/Progress"
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { Id, Params } from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { CoreTasks } from "../extension/CoreTasks.ts"
import type { Answer, Question, Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import { canAsk, canAskOneOf, type Destination } from "./Destination.ts"

/** How long the client, and its user, may take to answer a question of a task. */
const askTimeout: Duration.Input = "7 days"
/** How long a notification of a new status waits for room. */
const statusPatience: Duration.Input = "1 second"

const closed = CancelReason.annotation("The task does not wait for the answer any more")

/** A destination that is open. */
class Route {
  readonly destination: Destination
  /** Completes when it is closed. */
  readonly closed = Deferred.makeUnsafe<void>()

  constructor(destination: Destination) {
    this.destination = destination
  }

  get isRead(): boolean {
    return this.destination.isRead()
  }
}

/** The answer that a question got; undefined where its destination is gone. */
const answerOf = (exit: Exit.Exit<unknown, AskError | McpError.McpError>): Answer | undefined => {
  if (Exit.isSuccess(exit)) return { _tag: "Result", result: isJsonObject(exit.value) ? exit.value : {} }
  const error = exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
  if (error === undefined || error._tag === "Closed" || error._tag === "CapabilityMissing") return undefined
  if (error._tag === "Declined") return { _tag: "Error", code: McpError.UserRejected, message: error.message }
  // A client of this project answers so when it ends while the question is open.
  if (error._tag === "McpError" && error.code === McpError.Interrupted) return undefined
  if (error._tag === "Timeout") return { _tag: "Error", code: McpError.Interrupted, message: error.message }
  const { code, data, message } = error
  return { _tag: "Error", code, message, ...(data === undefined ? undefined : { data }) }
}

/** Params with the task that their message belongs to. */
const relatedTo = (taskId: string, params: JsonObject): Params => ({
  ...params,
  _meta: { ...(isJsonObject(params["_meta"]) ? params["_meta"] : undefined), ...Wire2025.related(taskId) }
})

/** Whether a client reads the route, and can be asked there: no other takes its place. */
const isUseful = ({ isRead, destination }: Route, task: Task): boolean =>
  isRead && (task.questions.size === 0 || canAskOneOf(destination, task))

const microtask = Effect.promise(() => Promise.resolve())

export type ReportProgress = Progress.Progress["Service"]["report"]

export interface Options {
  readonly store: TaskStore["Service"]
  readonly clock: Clock.Clock
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Called once, when nothing is sent for the task any more. */
  readonly over: (routes: TaskRoutes, session: RequestConnection | undefined) => void
}

/** Whether two states of a task are one to its client: the rest of a task does not change. */
const isSame = (a: Wire2025.WireTask, b: Wire2025.WireTask): boolean =>
  a.status === b.status && a.statusMessage === b.statusMessage && a.lastUpdatedAt === b.lastUpdatedAt

/** What leaves for one task. */
export class TaskRoutes {
  private readonly id: string
  private readonly owner: string
  private readonly options: Options
  /** Whether the client knows the task. Before that nothing is sent for it. */
  private isKnown = false
  /** Completes when it does; made where progress waits for it. */
  private known: Deferred.Deferred<void> | undefined = undefined
  private readonly expiresAt: number
  private report: ReportProgress | undefined = undefined
  /** The open `tasks/result`, oldest first. */
  private readonly waits: Array<Route> = []
  /** The session that made the task. */
  private session: Route | undefined = undefined
  /** Completes when there is another route; made where it is waited for. */
  private changed: Deferred.Deferred<void> | undefined = undefined
  /** Made with the first question. */
  private asks: Map<string, Fiber.Fiber<void>> | undefined = undefined
  private follower: Fiber.Fiber<void> | undefined = undefined
  /** What the client was told last. */
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

  /** The client knows the task: from now on notifications of its states, and its questions, are sent. */
  begin(): void {
    this.beginAfter(Effect.void)
  }

  /** As `begin`, once the fiber that runs has sent its answer, in the same turn. */
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
   * The route of a notification, or of a question: in a session that declared what it needs. Undefined where no client reads. A request whose
   * client has gone may be resumed by it.
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

  /** Adds the request that waits for the result; gives what takes it away. */
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
   * Sends on the stream of a session where there is none yet. A stream that is read takes the place of one that is not. It also takes that of one
   * whose session can be asked none of the open questions.
   */
  join(destination: Destination, task: Task): boolean {
    const { session } = this
    if (this.ended || (session !== undefined && (!destination.isRead() || isUseful(session, task)))) return false
    this.session = new Route(destination)
    if (session !== undefined) Deferred.doneUnsafe(session.closed, Effect.void)
    this.wake()
    return true
  }

  /** The session has ended. */
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

  /** Progress waits no longer. */
  private release(): void {
    this.isKnown = true
    if (this.known !== undefined) Deferred.doneUnsafe(this.known, Effect.void)
  }

  /** From now on no progress is sent. */
  silence(): void {
    this.silent = true
  }

  /** From now on nothing is sent: the task has ended, or no client is there. */
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
        // A client that reads the question in one piece with the answer that makes the task may refuse it.
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

  /** Waits until there is another route, or the stream of the session is read. */
  private get moved(): Effect.Effect<void> {
    const { session } = this
    const changed = Deferred.await((this.changed ??= Deferred.makeUnsafe()))
    const read = session?.destination.connection?.read
    // A stream that is read, whose session cannot be asked, stays as it is: the wait for it would end at once, again and again.
    return read === undefined || session?.isRead === true ? changed : Effect.raceFirst(changed, read)
  }

  /** Waits until no client reads a route while one reads another. A client that comes back to the route has its questions. */
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
    const record = (answer: Answer) => options.store.answer(id, owner, { [key]: answer })
    const tooLong = ({ message }: { readonly message: string }) =>
      Effect.ignore(record({ _tag: "Error", code: McpError.LimitExceeded, message }))
    return Effect.asVoid(Effect.catch(record(answer), tooLong))
  }

  // ---- notifications

  /** Tells the client that the status has changed, if it reads and there is room soon. */
  private tell(task: Task): Effect.Effect<void> {
    const wire = Wire2025.write(task)
    const destination = this.routeOf(undefined)?.destination
    if (destination === undefined || isSame(wire, this.told)) return Effect.void
    this.told = wire
    const sent = Effect.map(destination.ready, () => destination.notify(CoreTasks.notifications.status.method, wire))
    return Effect.asVoid(Effect.timeoutOption(sent, statusPatience))
  }

  /** Where progress leaves: on routes of the session of its token alone. */
  private progressDestination({ connection }: Destination): Destination | undefined {
    const { clock } = this.options
    if (this.ended || this.silent || clock.currentTimeMillisUnsafe() >= this.expiresAt) return undefined
    const own = [...(this.session === undefined ? [] : [this.session]), ...this.waits]
    return own.findLast(({ isRead, destination }) => isRead && destination.connection === connection)?.destination
  }

  /** Sends progress with the token of the request that made the task. */
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

  /** Progress of the handler. */
  progress(...report: Parameters<ReportProgress>): Effect.Effect<void> {
    return this.report?.(...report) ?? Effect.void
  }
}
