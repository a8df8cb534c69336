/** One run of a call, with its own server, client and world, and at most one fault. */
import * as McpServer from "@effect-mcp/server/McpServer"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type { Client } from "@effect-mcp/client/McpClient"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { reasonOf } from "../engine/Exits.ts"
import { driven, inWorld, patience, serving } from "../engine/Run.ts"
import * as McpTest from "../McpTest.ts"
import type { Failing, When } from "./dependencies.ts"
import { audit, type LedgerEntry, Ledger, ledgerOf } from "./Ledger.ts"
import { type AnswerFault, questioned } from "./questions.ts"
import { type HandlerPlace, Stepper } from "./Stepper.ts"

/** The fault injected into a run. */
export type Fault =
  | { readonly _tag: "None" }
  /** The client cancels its call, or its connection closes. */
  | { readonly _tag: "Cancelled" | "Disconnected"; readonly place: HandlerPlace }
  /** The nth call of a dependency fails. */
  | { readonly _tag: "Failed"; readonly call: number; readonly when: When }
  /** The nth question gets this instead of its answer. */
  | { readonly _tag: "Answered"; readonly question: number; readonly answer: AnswerFault }
  /** The node that runs the handler as a task dies. */
  | { readonly _tag: "Killed"; readonly write: number; readonly when: When }

/** A single run of the call. */
export interface TortureRun {
  readonly revision: Revision.Version
  readonly fault: Fault
  /** The last event before the fault, such as `Pool.acquire`, or `undefined` if there was none. */
  readonly after: string | undefined
  /** True if the fault was injected. False if the handler took a path that didn't reach it. */
  readonly struck: boolean
  /** How the call ended for the client, or `undefined` if it never ended. */
  readonly exit: Exit.Exit<unknown, unknown> | undefined
  /** Effects on the outside world, in order. */
  readonly entries: ReadonlyArray<LedgerEntry>
  /** Problems found in this run. Empty if there are none. */
  readonly found: ReadonlyArray<string>
  /**
   * Number of the handler's operations and waits in this run. If its node crashed: the number of places before and after each write in the
   * run without a crash.
   */
  readonly places: number
}

/** Places for faults, as found by a run without faults. */
export interface RunPlaces {
  readonly operations: number
  readonly waits: number
  /** Called dependencies, in order. */
  readonly calls: ReadonlyArray<string>
  /** Methods of the questions, in order. */
  readonly questions: ReadonlyArray<string>
}

/** One run, and its places for faults. */
export interface TorturePlay {
  readonly run: TortureRun
  readonly places: RunPlaces
}

/** The call to play. */
export interface TortureCall<E, R> {
  readonly features: Layer.Layer<never, E, R>
  readonly call: (client: Client) => Effect.Effect<unknown, unknown>
}

/** Options that all runs share. */
interface Playing<W, X> {
  readonly fails: ReadonlyArray<Failing<W>>
  readonly afterEach: ((run: TortureRun) => Effect.Effect<unknown, X, W | Ledger>) | undefined
  readonly background: number
  readonly client: McpTest.Options["client"]
  readonly server: McpTest.Options["server"]
}

/** Events of one run. */
class Course {
  readonly entries: Array<LedgerEntry> = []
  readonly calls: Array<string> = []
  readonly questions: Array<string> = []
  readonly found: Array<string> = []
  after: string | undefined
  isStruck: boolean
  exit: Exit.Exit<unknown, unknown> | undefined
  private readonly fault: Fault

  constructor(fault: Fault) {
    this.fault = fault
    this.isStruck = fault._tag === "None"
  }

  /** Applies the fault now. */
  struck(): void {
    this.isStruck = true
    this.after = this.entries.at(-1)?.name
  }

  readonly called = (name: string): When | undefined => {
    const { fault } = this
    this.calls.push(name)
    this.entries.push({ kind: "called", name })
    if (fault._tag !== "Failed" || fault.call !== this.calls.length) return undefined
    this.struck()
    return fault.when
  }

  readonly asked = (method: string): AnswerFault | undefined => {
    const { fault } = this
    this.questions.push(method)
    this.entries.push({ kind: "asked", name: method })
    if (fault._tag !== "Answered" || fault.question !== this.questions.length) return undefined
    this.struck()
    return fault.answer
  }
}

const placeOf = (fault: Fault): HandlerPlace | undefined =>
  fault._tag === "Cancelled" || fault._tag === "Disconnected" ? fault.place : undefined

/** Plays the call once. */
export const play = <W, E, R, LE, LR, X>(
  revision: Revision.Version,
  { call, features }: TortureCall<E, R>,
  world: Layer.Layer<W, LE, LR>,
  options: Playing<W, X>,
  fault: Fault
): Effect.Effect<TorturePlay, E | LE | McpTest.TestConnectError, Exclude<LR, Ledger>> => {
  const course = new Course(fault)
  const stepper = new Stepper(placeOf(fault))
  const { driver } = stepper
  const ledger = Layer.succeed(Ledger, ledgerOf(course.entries))
  const { found } = course
  const result = (): TortureRun => ({
    revision,
    fault,
    after: course.after,
    struck: course.isStruck,
    exit: course.exit,
    entries: [...course.entries],
    found: [...found, ...audit(course.entries)],
    places: stepper.operations + stepper.waits
  })
  const whole = Effect.fnUntraced(function* (built: Context.Context<W | Ledger>) {
    const services = options.fails.reduce<Context.Context<never>>(
      (made, { wrapped }) => wrapped(made, course.called),
      built
    )
    const context = Context.merge(built, services)
    const server = yield* serving(features, options.server, context)
    const { requests } = Context.get(server, McpServer.McpServer)
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const client = yield* McpTest.join(revision, { client: options.client }).pipe(
      Effect.provide(Context.merge(questioned(context, course.asked), server)),
      Scope.provide(scope)
    )
    const disconnect = Scope.close(scope, Exit.void)
    yield* calling(stepper, course, fault, call(client), disconnect)
    const { running } = stepper
    if (running > options.background) found.push(`${running} fibers of the handler run on`)
    if (stepper.open > 0) found.push(`${stepper.open} scopes of the handler are open`)
    for (const { kind, method } of yield* requests.list) found.push(`The server keeps a ${kind}: ${method}`)
    if (fault._tag !== "Disconnected" && Exit.isFailure(yield* Effect.exit(client.ping)))
      found.push("The session does not answer a ping afterwards")
    const after = Effect.exit(options.afterEach?.(result()) ?? Effect.void)
    const checked = yield* Effect.provide(after, Context.merge(built, context))
    if (Exit.isFailure(checked)) found.push(reasonOf(checked.cause))
  })
  const onStuck = (reason: string) => void found.push(`The call has no end: ${reason}`)
  return Effect.map(driven(driver, inWorld(whole, Layer.provideMerge(world, ledger)), onStuck), () => {
    const { calls, questions } = course
    const places: RunPlaces = { operations: stepper.operations, waits: stepper.waits, calls, questions }
    return { run: result(), places }
  })
}

/**
 * Makes the call and applies the fault when its place is reached. Completes when the call and everything it left have ended, or time has
 * run out.
 */
const calling = Effect.fnUntraced(function* (
  stepper: Stepper,
  course: Course,
  fault: Fault,
  call: Effect.Effect<unknown, unknown>,
  disconnect: Effect.Effect<void>
) {
  const { driver } = stepper
  const reached = Deferred.makeUnsafe<void>()
  stepper.onReached = () => Deferred.doneUnsafe(reached, Exit.void)
  stepper.arm()
  const called = yield* Effect.forkChild(call)
  yield* Effect.raceFirst(Fiber.await(called), Deferred.await(reached))
  if (Deferred.isDoneUnsafe(reached)) {
    course.struck()
    // The fault may wait for the end of the handler, which is held until the fault has happened.
    yield* Effect.forkChild(fault._tag === "Cancelled" ? Fiber.interrupt(called) : disconnect)
  }
  yield* driver.idle
  driver.release()
  course.exit = yield* Fiber.await(called)
  yield* driver.idle
  if (stepper.running > 0) yield* Effect.sleep(patience)
})
