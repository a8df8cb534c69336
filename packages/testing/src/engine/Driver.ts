/**
 * Runs effects on a scheduler and a clock of its own: the same decisions give the same run.
 *
 * One task of one fiber runs at a time, and `Choices` says whose is next. Time passes only where no task is ready. Work outside of fibers (a
 * promise, a microtask) continues between two tasks; before time passes it gets turns of the event loop, and
 * some milliseconds where no fiber sleeps.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import { VirtualClock } from "./VirtualClock.ts"

/** What decides a run. */
export interface Choices {
  /** Which of several queues of ready tasks is next; 0 is the one that waits longest. */
  readonly next: (ready: number) => number
  /** Whether a fiber lets others go first before its next operation. Asked before every operation. A number: it pauses so many milliseconds. */
  readonly preempts: (fiber: Fiber.Fiber<unknown, unknown>) => boolean | number
}

/** Why a run has no end. */
export type Stuck = "waits" | "time" | "tasks"

export interface Options extends Partial<Choices> {
  /** How far time may pass, in milliseconds. Default 1 day. */
  readonly maxTime?: number | undefined
  /** How many tasks may run. Default a million. */
  readonly maxTasks?: number | undefined
  /** Turns of the event loop that work outside of fibers gets before time passes. Default 2. */
  readonly turns?: number | undefined
  /** Called where no task is ready, before time passes. True: there is work now. */
  readonly idle?: (() => boolean) | undefined
}

interface Task {
  readonly run: () => void
  readonly priority: number
}

/** The tasks of one dispatcher, in order. */
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
 * How long a promise may take where nothing else is left to do, in milliseconds. Each run that is stuck halves it, down to 50: what takes
 * long, such as a module that is loaded when first needed, does so once in a process.
 */
let outsidePatience = 2000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Microtasks that were queued before run first. */
const microtasks = Promise.resolve()

export class Driver implements Scheduler.Scheduler {
  readonly executionMode = "async"
  readonly clock = new VirtualClock()
  /** The dispatchers with tasks, those that wait longest first. */
  readonly ready: Array<Dispatcher> = []
  /** Tasks that ran. */
  ran = 0
  private readonly idles: Array<() => void> = []
  private readonly options: Options
  /** How long the rest of a fiber that was preempted just now waits. */
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

  /** The task that is scheduled next is not run before `release`: called by `preempts`, it is the rest of that fiber. */
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

  /** Runs the task that was held. */
  release(): void {
    const { held } = this
    this.held = undefined
    if (typeof held === "function") this.makeDispatcher().scheduleTask(held, 0)
  }

  /** Completes when no fiber can go on by itself and time has not passed. */
  readonly idle: Effect.Effect<void> = Effect.callback((resume) => {
    this.idles.push(() => resume(Effect.void))
  })

  /** The services by which an effect runs here, for programs that make fibers of their own. */
  readonly context: Context.Context<never> = Context.make(Scheduler.Scheduler, this as Scheduler.Scheduler).pipe(
    Context.add(Clock.Clock, this.clock as Clock.Clock)
  )

  /** Runs an effect to its end. Whatever it left is run, too, until nothing is ready. */
  readonly run = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<Exit.Exit<A, E> | Stuck, never, R> =>
    Effect.contextWith((context: Context.Context<R>) =>
      Effect.promise((signal) => {
        const fiber = Effect.runForkWith(Context.merge(context, this.context))(effect)
        this.fiber = fiber
        signal.addEventListener("abort", () => fiber.interruptUnsafe())
        return this.drive(fiber)
      })
    )

  /** Ends what a run without an end has left, as far as it lets itself be interrupted: what it holds is released. */
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
        // What the task left to microtasks comes before the next task.
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

  /** Where all fibers wait, work outside of them may take some real time: whether a fiber could continue by then. */
  private async outside(fiber: Fiber.Fiber<unknown, unknown>): Promise<boolean> {
    const isMoved = () => this.ready.length > 0 || this.clock.isAwaited || fiber.pollUnsafe() !== undefined
    for (const end = performance.now() + outsidePatience; !isMoved() && performance.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    if (isMoved()) return true
    outsidePatience = Math.max(50, outsidePatience / 2)
    return false
  }

  /** Whether work outside of fibers has made tasks ready. */
  private async goesOn(): Promise<boolean> {
    for (let turns = this.options.turns ?? 2; turns > 0 && this.ready.length === 0; turns--) await turn()
    return this.ready.length > 0
  }
}
