/** The store of tasks that run on an engine. Answers and cancellations also reach the task's execution. */
import { bytesOf } from "../store/Row.ts"
import type { Task } from "../model/Task.ts"
import { type Answers, LimitReached, type TaskStore } from "../store/TaskStore.ts"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { answered, type Options } from "./EngineJournal.ts"
import { answerOf, type TaskWorkflow } from "./TaskWorkflow.ts"

/** Runs one of the engine's effects in a fiber without the request's services. */
export type Isolate = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

const answer = Effect.fnUntraced(function* (
  { engine, limits, store }: Options,
  workflow: TaskWorkflow,
  isolate: Isolate,
  task: Task,
  owner: string,
  answers: Answers
) {
  const open = Object.keys(answers).filter((key) => task.questions.has(key))
  const tooLong = open.find((key) => bytesOf(answers[key]) > limits.entryBytes)
  if (tooLong !== undefined) {
    return yield* new LimitReached({ message: `The answer to ${tooLong} is too large` })
  }
  // The engine comes first and wakes the task, so every question that the store shows as answered has its answer.
  for (const key of open) {
    const deferred = answerOf(key)
    yield* isolate(
      engine.deferredDone(deferred, {
        workflowName: workflow._tag,
        executionId: task.id,
        deferredName: deferred.name,
        exit: Exit.succeed(JSON.stringify(answers[key]))
      })
    )
  }
  const given = Object.fromEntries(open.map((key) => [key, answers[key] ?? answered]))
  const shown = Object.fromEntries(open.map((key) => [key, answered]))
  // An answer that is too long for the store is only kept in the engine.
  return yield* Effect.catch(store.answer(task.id, owner, given), () => store.answer(task.id, owner, shown))
})

export const make = (options: Options, workflow: TaskWorkflow, isolate: Isolate): TaskStore["Service"] => {
  const { engine, store } = options
  return {
    ...store,
    answer: (id, owner, answers) =>
      Effect.flatMap(store.get(id, owner), (task) =>
        Option.isNone(task) ? Effect.succeedNone : answer(options, workflow, isolate, task.value, owner, answers)
      ),
    // A running handler sees the end of its task in the store. The engine ends a suspended one.
    cancel: (id, owner, message) =>
      Effect.tap(store.cancel(id, owner, message), (task) =>
        Option.isNone(task) ? Effect.void : isolate(engine.interrupt(workflow, id))
      )
  }
}
