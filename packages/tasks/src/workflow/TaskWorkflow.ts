/** A task's workflow, and the engine's deferreds and clocks that it waits for. */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as DurableClock from "effect/workflow/DurableClock"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"

export type Instance = WorkflowInstance["Service"]
export type EngineService = WorkflowEngine["Service"]

/** Creates the workflow. Its executions are named after their tasks. */
export const make = (name: string) =>
  Workflow.make(name, { payload: { task: Schema.String }, idempotencyKey: ({ task }) => task })

export type TaskWorkflow = ReturnType<typeof make>

/** Returns the name of a step, question or sleep in a form that every storage keeps. */
export const nameOf = (key: string): string => key.replaceAll("\u0000", "\ufffd")

/** The answer to a question, as JSON. */
export const answerOf = (key: string) => DurableDeferred.make(`answer:${nameOf(key)}`, { success: Schema.String })

/** A clock that ends at a time, in milliseconds since 1970. */
export const clockUntil = (at: number, now: number) =>
  DurableClock.make({
    name: `until ${DateTime.formatIso(DateTime.makeUnsafe(at))}`,
    duration: Duration.millis(Math.max(0, at - now))
  })

/** Runs an effect of a workflow inside an execution. */
export const within = <A, E, R>(engine: EngineService, instance: Instance, effect: Effect.Effect<A, E, R>) =>
  Effect.provideContext(effect, Context.make(WorkflowEngine, engine).pipe(Context.add(WorkflowInstance, instance)))
