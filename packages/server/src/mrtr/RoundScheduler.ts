/**
 * The scheduler that handlers run on: counts, per round, the tasks of its fibers that wait for their turn.
 *
 * A round waits for siblings that may ask before it ends. Effect does not say whether a fiber is ready to run; its
 * scheduler knows, since a fiber that yields, or that was just forked, is a task of a dispatcher. Handlers that ask nothing pay for it
 * once per fiber that yields or forks. The rest is the ambient scheduler's.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Context from "effect/Context"
import * as Fiber from "effect/Fiber"
import { MixedScheduler, type Scheduler, type SchedulerDispatcher } from "effect/Scheduler"

/** How many tasks of a round wait for their turn. */
export interface ReadyTasks {
  ready: number
}

class CountingDispatcher implements SchedulerDispatcher {
  private readonly inner: SchedulerDispatcher
  private readonly round: ReadyTasks

  constructor(inner: SchedulerDispatcher, round: ReadyTasks) {
    this.inner = inner
    this.round = round
  }

  scheduleTask(task: () => void, priority: number): void {
    this.round.ready++
    this.inner.scheduleTask(() => {
      this.round.ready--
      task()
    }, priority)
  }

  flush(): void {
    this.inner.flush()
  }
}

/** Effect asks before every operation of every fiber: its own method is inherited, another one may need its own `this`. */
const delegated = (ambient: Scheduler): PropertyDescriptorMap =>
  ambient.shouldYield === MixedScheduler.prototype.shouldYield
    ? {}
    : {
        executionMode: { value: ambient.executionMode },
        shouldYield: { value: (fiber: Fiber.Fiber<unknown, unknown>) => ambient.shouldYield(fiber) }
      }

/** `roundOf` says which round a `ClientInput` belongs to; undefined for one that belongs to none. */
export const over = (
  ambient: Scheduler,
  roundOf: (input: ClientInput["Service"]) => ReadyTasks | undefined
): Scheduler =>
  Object.create(ambient, {
    ...delegated(ambient),
    makeDispatcher: {
      value: (): SchedulerDispatcher => {
        const dispatcher = ambient.makeDispatcher()
        // A dispatcher is made by the fiber that it is for.
        const context = Fiber.getCurrent()?.context
        const input = context && Context.getOrUndefined(context, ClientInput)
        const round = input && roundOf(input)
        return round === undefined ? dispatcher : new CountingDispatcher(dispatcher, round)
      }
    }
  })
