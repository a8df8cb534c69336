/**
 * Runs effects on a private scheduler and clock, so that the same decisions produce the same run.
 *
 * One task of one fiber runs at a time, and `Choices` decides whose turn is next. Time passes only if no task is ready. Work outside fibers
 * (a promise, a microtask) continues between two tasks. Before time passes, it gets turns of the event loop, and a few milliseconds if no
 * fiber sleeps.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import { VirtualClock } from "./VirtualClock.ts"

/** The decisions of a run. */
export interface Choices {
  /** Index of the queue of ready tasks to run next; 0 is the longest-waiting one. */
  readonly next: (ready: number) => number
  /**
   * Returns true if a fiber should yield to others before its next operation. Called before every operation. A number makes the fiber pause for that many
   * milliseconds.
   */
  readonly preempts: (fiber: Fiber.Fiber<unknown, unknown>) => boolean | number
}

/** Limits after which a run counts as endless. */
export type Stuck = "waits" | "time" | "tasks"

export interface Options extends Partial<Choices> {
  /** Maximum time that may pass, in milliseconds. Default 1 day. */
  readonly maxTime?: number | undefined
  /** Maximum number of tasks to run. Default 1 000 000. */
  readonly maxTasks?: number | undefined
  /** Number of event loop turns to give work outside fibers before time passes. Default 2. */
  readonly turns?: number | undefined
  /** Called when no task is ready, before time passes. Returns true if it made work. */
  readonly idle?: (() => boolean) | undefined
}

interface Task {
  readonly run: () => void
  readonly priority: number
}

/** One dispatcher's tasks, in order. */
class Dispatcher implements Scheduler.SchedulerDispatcher {
  readonly tasks: Array<Task> = []
  private readonly driver: Driver

  constructor(driver: Driver) {
    this.driver = driver
  }

  scheduleTask(run: () => void, priority: number): void {
    if (this.driver.holds(run)) return
    const later = priority === 0 ? -1 : this.tasks.findIndex((task) => task.priority > priority)
    this.tasks.splice(later === -1 ? this.tasks.length : later, 0, { run, priority })
    if (this.tasks.length === 1) this.driver.ready.push(this)
  }

  flush(): void {
    for (let task = this.tasks.shift(); task !== undefined; task = this.tasks.shift()) task.run()
  }
}

/**
 * Milliseconds to wait for a promise when nothing else is left to do. Each stuck run halves it, down to 50, because slow work such as
 * loading a module happens only once per process.
 */
let outsidePatience = 2000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Lets microtasks that were queued earlier run first. */
const microtasks = Promise.resolve()

export class Driver implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly clock = new VirtualClock()
  /** Dispatchers with tasks, longest-waiting first. */
  readonly ready: Array<Dispatcher> = []
  /** Number of tasks that ran. */
  ran = 0
  private readonly idles: Array<() => void> = []
  private readonly options: Options
  /** How long the rest of the fiber that was just preempted has to wait. */
  private pause = 0
  private held: (() => void) | "next" | undefined
  private fiber: Fiber.Fiber<unknown, unknown> | undefined

  constructor(options: Options = {}) {
    this.options = options
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return new Dispatcher(this)
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    const preempts = this.options.preempts?.(fiber) ?? false
    if (typeof preempts === "number") this.pause = preempts
    return preempts !== false || fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield
  }

  /** Holds back the next scheduled task until `release`. If `preempts` calls it, that task is the rest of the fiber. */
  hold(): void {
    this.held = "next"
  }

  holds(task: () => void): boolean {
    const { pause } = this
    if (pause > 0) {
      this.pause = 0
      this.clock.after(pause, task)
      return true
    }
    if (this.held !== "next") return false
    this.held = task
    return true
  }

  /** Runs the held task. */
  release(): void {
    const { held } = this
    this.held = undefined
    if (typeof held === "function") this.makeDispatcher().scheduleTask(held, 0)
  }

  /** Completes when no fiber can continue without time passing. */
  readonly idle: Effect.Effect<void> = Effect.callback((resume) => {
    this.idles.push(() => resume(Effect.void))
  })

  /** Services that run an effect here, for programs that start their own fibers. */
  readonly context: Context.Context<never> = Context.make(Scheduler.Scheduler, this as Scheduler.Scheduler).pipe(
    Context.add(Clock.Clock, this.clock as Clock.Clock)
  )

  /** Runs an effect to its end, and then everything it left behind, until nothing is ready. */
  readonly run = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Exit.Exit<A, E> | Stuck, never, R> =>
    Effect.contextWith((context: Context.Context<R>) =>
      Effect.promise((signal) => {
        const fiber = Effect.runForkWith(Context.merge(context, this.context))(effect)
        this.fiber = fiber
        signal.addEventListener("abort", () => fiber.interruptUnsafe())
        return this.drive(fiber)
      })
    )

  /** Interrupts everything that an endless run has left, so that it releases its resources. */
  readonly close: Effect.Effect<void> = Effect.promise(async () => {
    this.ran = 0
    this.release()
    this.fiber?.interruptUnsafe()
    if (this.fiber !== undefined) await this.drive(this.fiber)
  })

  private async drive<A, E>(fiber: Fiber.Fiber<A, E>): Promise<Exit.Exit<A, E> | Stuck> {
    const { maxTasks = 1_000_000, maxTime = 86_400_000 } = this.options
    for (;;) {
      while (this.ready.length > 0) {
        this.step()
        if (this.ran > maxTasks) return "tasks"
        // The task's microtasks run before the next task.
        await microtasks
      }
      if (await this.goesOn()) continue
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return exit
      if (this.idles.length > 0) {
        for (const resume of this.idles.splice(0)) resume()
      } else if (this.options.idle?.() !== true && !this.clock.advance(maxTime)) {
        if (this.clock.isAwaited) return "time"
        if (!(await this.outside(fiber))) return "waits"
      }
    }
  }

  private step(): void {
    const { next } = this.options
    const index = this.ready.length === 1 || next === undefined ? 0 : next(this.ready.length)
    const [dispatcher] = this.ready.splice(index, 1)
    const task = dispatcher?.tasks.shift()
    if (dispatcher === undefined || task === undefined) return
    if (dispatcher.tasks.length > 0) this.ready.push(dispatcher)
    this.ran++
    task.run()
  }

  /** Gives work outside fibers some real time when all fibers wait. Returns true if a fiber can continue. */
  private async outside(fiber: Fiber.Fiber<unknown, unknown>): Promise<boolean> {
    const isMoved = () => this.ready.length > 0 || this.clock.isAwaited || fiber.pollUnsafe() !== undefined
    for (const end = performance.now() + outsidePatience; !isMoved() && performance.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    if (isMoved()) return true
    outsidePatience = Math.max(50, outsidePatience / 2)
    return false
  }

  /** True if work outside fibers has made tasks ready. */
  private async goesOn(): Promise<boolean> {
    for (let turns = this.options.turns ?? 2; turns > 0 && this.ready.length === 0; turns--) await turn()
    return this.ready.length > 0
  }
}
