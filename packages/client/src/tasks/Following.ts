/**
 * Follows a server task until it ends. Polls it at the interval the server sets, answers its questions, and returns the result the call
 * would have returned.
 *
 * Request timeouts apply to each request made here, but not to the overall wait for the task. If the call ends before its task does, the
 * task is cancelled with `tasks/cancel`.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { callback } from "@effect-mcp/core/internal/calling"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { ClientError } from "../ClientError.ts"
import type { ResultExchange } from "../extension/ClientExtension.ts"
import { type TaskHandling, CurrentTaskHandling, notFollowed, type RestoreInterruption } from "./TaskHandling.ts"
import { type Generation, invalid, type Seen } from "./Generation.ts"
import { isTerminal, type TaskState } from "./TaskState.ts"

/** Bounds of the wait between two reads, and the default wait, in milliseconds. */
const shortest = 100
const longest = 3_600_000
const usual = 1000
/** Minimum wait between two reads while the server announces each change. */
const announced = 60_000
/** Number of consecutive reads that may time out. */
const maxTimeouts = 3
/** Maximum number of questions per task, and of questions asked at the same time. */
const maxQuestions = 1000
const maxAsked = 16
/** How long an ending call waits for the server to accept the cancellation. */
const cancelTimeout = "5 seconds"

/** Reports the task's progress to the caller, with the new message. */
const teller = ({ options: { onProgress } }: ResultExchange, { observed, progress }: TaskHandling) => {
  let told: string | undefined
  return (state: TaskState): void => {
    observed?.(state)
    const { id, message } = state
    const last = progress?.()
    if (message === undefined || message === told || message === last?.message) return
    told = message
    const { progress: reached = 0, total } = last ?? {}
    const event = { progressToken: id, progress: reached, ...(total === undefined ? undefined : { total }), message }
    callback("onProgress", Effect.runFork, () => onProgress?.(event))
  }
}

/** Returns how long a server that limits the rate of reads wants to wait, in milliseconds, or `undefined` for any other error. */
const refusedFor = (error: ClientError): number | undefined => {
  if (!(error instanceof McpError.McpError) || error.code !== McpError.LimitExceeded) return undefined
  const after = isJsonObject(error.data) ? error.data["retryAfterMs"] : undefined
  return typeof after === "number" ? after : undefined
}

class Follower {
  private readonly generation: Generation
  private readonly asking = Semaphore.makeUnsafe(maxAsked)
  /** Keys of the questions in the last state. */
  private open: ReadonlySet<string> = new Set()
  /** States that were read or announced, but not handled yet. */
  private readonly news: Queue.Queue<Seen>
  /** Ends the call for a reason other than a state: its result has arrived, a question has no answer, or the task cannot be read. */
  private readonly ended = Deferred.makeUnsafe<{ readonly final: unknown }, ClientError>()
  private readonly met = new Set<string>()
  private pollInterval = usual
  /** True if the server announces changes and a later read has shown everything before. */
  private announcing: "no" | "begun" | "complete" = "no"
  private timeouts = 0
  /** How long the server rejects reads, in milliseconds. */
  private refused = 0
  private isOver = false

  constructor(generation: Generation, news: Queue.Queue<Seen>) {
    this.generation = generation
    this.news = news
  }

  private fork(effect: Effect.Effect<unknown, ClientError>): Effect.Effect<void, never, Scope.Scope> {
    const failing = Effect.catchCause(effect, (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Deferred.failCause(this.ended, cause)
    )
    return Effect.asVoid(Effect.forkScoped(failing, { startImmediately: true }))
  }

  /** Handles announcements from the server. They are optional, so reading continues. */
  private readonly listen: Effect.Effect<void> = Effect.suspend(() =>
    Stream.runForEach(this.generation.news, (event) => {
      if (event !== "Listening") return Queue.offer(this.news, event)
      return Effect.sync(() => {
        this.announcing = "begun"
      })
    })
  ).pipe(
    Effect.ignore,
    Effect.ensuring(
      Effect.sync(() => {
        this.announcing = "no"
      })
    )
  )

  /** Polls the task. A slow server is asked once more, and a server that limits the rate is asked again when it allows that. */
  private readonly read: Effect.Effect<never, ClientError> = Effect.suspend(() => {
    const least = this.announcing === "complete" ? announced : shortest
    return Effect.sleep(Math.min(longest, Math.max(least, this.pollInterval, this.refused)))
  }).pipe(
    Effect.andThen(Effect.suspend(() => this.generation.get)),
    Effect.tap((seen) => {
      this.timeouts = 0
      this.refused = 0
      if (this.announcing === "begun") this.announcing = "complete"
      return Queue.offer(this.news, seen)
    }),
    Effect.catchIf(
      (error) => {
        this.refused = refusedFor(error) ?? 0
        return this.refused > 0 || (error._tag === "Timeout" && ++this.timeouts < maxTimeouts)
      },
      () => Effect.void
    ),
    Effect.forever
  )

  /** Answers a state's questions in the background, each key once. */
  private ask(seen: Seen): Effect.Effect<void, ClientError, Scope.Scope> {
    const all = this.generation.asked(seen)
    const asked = all.filter(({ key }) => !this.met.has(key))
    this.open = new Set(all.map(({ key }) => key))
    for (const { key } of asked) this.met.add(key)
    if (this.met.size > maxQuestions) {
      return Effect.fail(invalid(`The task asked more than ${maxQuestions} questions`, seen.wire))
    }
    const answered = asked.map(({ answer, key }) =>
      Effect.flatMap(
        Effect.suspend(() => {
          if (this.open.has(key)) return answer
          // It was waiting for its turn, and the last state no longer contains it. If that state was outdated, a later state will ask
          // again.
          this.met.delete(key)
          return Effect.undefined
        }),
        (end) => (end === undefined ? Effect.void : Deferred.succeed(this.ended, end))
      )
    )
    return Effect.forEach(answered, (answer) => this.fork(this.asking.withPermit(answer)), { discard: true })
  }

  /** Asks the server to cancel the task, unless it is known to have ended. */
  readonly cancel: Effect.Effect<void, ClientError> = Effect.suspend(() =>
    this.isOver
      ? Effect.void
      : Effect.flatMap(this.generation.cancel, (seen) =>
          seen === undefined ? Effect.void : Effect.asVoid(Queue.offer(this.news, seen))
        )
  )

  /** Returns the call's result. Calls `tell` with each state. */
  follow(first: Seen, tell: (state: TaskState) => void): Effect.Effect<unknown, ClientError, Scope.Scope> {
    const step = (seen: Seen): Effect.Effect<unknown, ClientError, Scope.Scope> => {
      const { state } = seen
      tell(state)
      if (isTerminal(state)) {
        this.isOver = true
        return this.generation.outcome(seen)
      }
      this.pollInterval = state.pollInterval ?? usual
      const next = Effect.raceFirst(Deferred.await(this.ended), Queue.take(this.news))
      return Effect.andThen(
        this.ask(seen),
        Effect.flatMap(next, (next) => {
          if (!("final" in next)) return step(next)
          this.isOver = true
          return Effect.succeed(next.final)
        })
      )
    }
    return Effect.andThen(Effect.andThen(this.fork(this.listen), this.fork(this.read)), step(first))
  }
}

/** Follows a task, starting from a state. */
export const follow = (
  first: Seen,
  generation: Generation,
  exchange: ResultExchange,
  restore: RestoreInterruption
): Effect.Effect<unknown, ClientError> =>
  Effect.gen(function* () {
    const handling = yield* CurrentTaskHandling
    const follower = new Follower(generation, yield* Queue.sliding<Seen>(16))
    const { id } = first.state
    yield* Effect.logDebug(`Following the task ${excerpt(id)}`)
    handling.created?.({ id, cancel: follower.cancel })
    const { follows = true, restore: interruptible = restore } = handling
    const following = follows ? follower.follow(first, teller(exchange, handling)) : Effect.fail(notFollowed())
    return yield* Effect.onExit(interruptible(following), ({ _tag }) =>
      Effect.andThen(
        handling.keeps?.() === true ? Effect.void : Effect.ignore(Effect.timeoutOption(follower.cancel, cancelTimeout)),
        Effect.logDebug(`Stopped following the task ${excerpt(id)}: ${_tag}`)
      )
    )
  }).pipe(Effect.scoped)
