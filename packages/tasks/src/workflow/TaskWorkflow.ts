/** The workflow of a task, and what it waits for in the engine. */
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

/** Its executions are named by their tasks. */
export const make = (name: string) =>
  Workflow.make(name, { payload: { task: Schema.String }, idempotencyKey: ({ task }) => task })

export type TaskWorkflow = ReturnType<typeof make>

/** The name of a step, question or sleep as every storage keeps it. */
export const nameOf = (key: string): string => key.replaceAll("\u0000", "\ufffd")

/** The answer to a question, as JSON. */
export const answerOf = (key: string) => DurableDeferred.make(`answer:${nameOf(key)}`, { success: Schema.String })

/** Ends at a time, in milliseconds since the epoch. */
export const clockUntil = (at: number, now: number) =>
  DurableClock.make({
    name: `until ${DateTime.formatIso(DateTime.makeUnsafe(at))}`,
    duration: Duration.millis(Math.max(0, at - now))
  })

/** An effect of a workflow, in an execution. */
export const within = <A, E, R>(engine: EngineService, instance: Instance, effect: Effect.Effect<A, E, R>) =>
  Effect.provideContext(effect, Context.make(WorkflowEngine, engine).pipe(Context.add(WorkflowInstance, instance)))
