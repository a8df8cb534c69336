/** Waits for a task on behalf of a request from a client that doesn't support tasks. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Question, stateOf, type Task } from "../model/Task.ts"
import { answerOf, askTimeout, recordAnswer } from "./Asking.ts"
import * as Destination from "./Destination.ts"
import { found, type Service } from "./Service.ts"

export interface Options {
  readonly id: string
  readonly owner: string
  /** How long to wait, in milliseconds. The wait continues while the client is asked. */
  readonly patience: number
  /** Whether to ask the client in this request. Default true. */
  readonly asks?: boolean | undefined
  /** Called with each state. */
  readonly seen?: ((task: Task) => void) | undefined
}

/**
 * Returns the task when it has ended, when it asks something that isn't asked in this request, or when the time is up. If the request ends
 * while it asks, the question stays open, and the next request asks it again.
 */
export const wait = (
  { store }: Pick<Service, "store">,
  { asks = true, id, owner, patience, seen }: Options
): Effect.Effect<Task, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const input = yield* ClientInput
    const destination = Destination.ofRequest(yield* RequestContext, input)
    const changes = Stream.tap(store.changes(id, owner), (task) => Effect.sync(() => seen?.(task)))

    /** Asks the client. Returns false if it is gone. */
    const ask = ([key, { method, params }]: readonly [string, Question]): Effect.Effect<boolean> => {
      const asked = input.askExtension({ method, params, decode: Effect.succeed }, { key, timeout: askTimeout })
      const answered = Effect.flatMap(Effect.exit(asked), (exit) => {
        const answer = answerOf(exit)
        return answer === undefined
          ? Effect.succeed(false)
          : Effect.as(recordAnswer(store, { id, owner, key }, answer), true)
      })
      // Another request may have received the answer.
      const isClosed = Stream.runDrain(Stream.takeUntil(changes, ({ questions }) => !questions.has(key)))
      return Effect.raceFirst(answered, Effect.as(isClosed, true))
    }

    const deadline = (yield* Clock.currentTimeMillis) + patience
    let task = yield* found(store.get(id, owner))
    seen?.(task)
    while (task.outcome === undefined) {
      const open = [...task.questions].filter(([, question]) => asks && Destination.canAsk(destination, question))
      if (open.length > 0) {
        const isAnswered = yield* Effect.forEach(open, ask, { concurrency: "unbounded" })
        if (isAnswered.includes(false)) return task
        task = yield* found(store.get(id, owner))
      } else {
        const left = deadline - (yield* Clock.currentTimeMillis)
        if (task.questions.size > 0 || left <= 0) return task
        const next = Stream.runHead(Stream.filter(changes, (task) => stateOf(task) !== "working"))
        const changed = yield* Effect.timeoutOption(next, left)
        if (Option.isNone(changed)) return yield* found(store.get(id, owner))
        // The store may drop an ended task to make room.
        task = yield* found(Effect.succeed(changed.value))
      }
    }
    // Tells the store that the caller has seen the end.
    yield* store.get(id, owner)
    return task
  })
