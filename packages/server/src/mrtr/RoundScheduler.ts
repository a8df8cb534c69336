/**
 * The scheduler that handlers run on. It counts each round's tasks, so that a round can wait for siblings that are about to ask.
 *
 * Effect doesn't report whether a fiber is ready to run, but a fiber that yields or was just forked is a task of its dispatcher. Everything
 * else is left to the ambient scheduler.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Context from "effect/Context"
import * as Fiber from "effect/Fiber"
import { MixedScheduler, type Scheduler, type SchedulerDispatcher } from "effect/Scheduler"

/** Counts the tasks that a round's fibers have submitted to their dispatchers. */
export interface RoundTasks {
  /** Tasks that have not run yet. */
  ready: number
  /** All tasks so far. */
  scheduled: number
}

class CountingDispatcher implements SchedulerDispatcher {
  private readonly inner: SchedulerDispatcher
  private readonly round: RoundTasks

  constructor(inner: SchedulerDispatcher, round: RoundTasks) {
    this.inner = inner
    this.round = round
  }

  scheduleTask(task: () => void, priority: number): void {
    this.round.ready++
    this.round.scheduled++
    this.inner.scheduleTask(() => {
      this.round.ready--
      task()
    }, priority)
  }

  flush(): void {
    this.inner.flush()
  }
}

/**
 * Effect calls this before every operation of every fiber. The scheduler's own method is inherited, and any other method may need its
 * original `this`.
 */
const delegated = (ambient: Scheduler): PropertyDescriptorMap =>
  ambient.shouldYield === MixedScheduler.prototype.shouldYield
    ? {}
    : {
        executionMode: { value: ambient.executionMode },
        shouldYield: { value: (fiber: Fiber.Fiber<unknown, unknown>) => ambient.shouldYield(fiber) }
      }

/** Wraps a scheduler. `roundOf` returns the round that a `ClientInput` belongs to, or `undefined` if there is none. */
export const over = (
  ambient: Scheduler,
  roundOf: (input: ClientInput["Service"]) => RoundTasks | undefined
): Scheduler =>
  Object.create(ambient, {
    ...delegated(ambient),
    makeDispatcher: {
      value: (): SchedulerDispatcher => {
        const dispatcher = ambient.makeDispatcher()
        // A dispatcher is created by the fiber that uses it.
        const context = Fiber.getCurrent()?.context
        const input = context && Context.getOrUndefined(context, ClientInput)
        const round = input && roundOf(input)
        return round === undefined ? dispatcher : new CountingDispatcher(dispatcher, round)
      }
    }
  })
