/**
 * One request to the server behind, and everything that comes of it: progress, logs, questions, the answer.
 *
 * It runs in the gateway's scope, not in the fiber of the request it was made for: where that one is answered in rounds (2026-07-28),
 * the call waits between them. Whoever drives it passes on what comes; what comes while nobody does is kept, hints up to a bound.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { AskError, AskOptions, ClientInput, Question } from "@effect-mcp/core/ClientInput"
import type { Log } from "@effect-mcp/core/Log"
import type { Progress, ReportOptions } from "@effect-mcp/core/Progress"
import type { HeaderParam } from "@effect-mcp/protocol/HeaderParams"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"

type Input = ClientInput["Service"]

/** What the caller sees while the call runs. */
type Hint =
  | { readonly _tag: "Progress"; readonly progress: number; readonly options: ReportOptions }
  | { readonly _tag: "Log"; readonly message: LogMessageParams }
  | { readonly _tag: "Over" }

/** Hints that wait for whoever drives; the oldest are dropped. */
const maxHints = 256

interface Asked {
  /** Asks the caller, and hands the answer on; does nothing once there is one. */
  readonly put: (input: Input) => Effect.Effect<void>
  readonly settled: () => boolean
  /** Nobody is left here who could answer. */
  readonly move: () => void
}

/** The call ended before its caller had answered: the question was another's, and is asked elsewhere. */
export class Moved extends Data.TaggedError("Moved")<{}> {}

/** Who drives a call, and by what it reaches the caller. */
export interface Driver {
  readonly input: Input
  readonly progress: Progress["Service"]
  readonly log: Log["Service"]
}

/** The call that a fiber works for, where that is known: a server without sessions asks inside the call itself. */
export const CurrentCall = Context.Reference<Call<unknown> | undefined>("@effect-mcp/gateway/CurrentCall", {
  defaultValue: () => undefined
})

export class Call<A> {
  readonly id: string
  /** The fiber of the request behind. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** What it is called on the wire. */
  wireId: JsonRpc.Id | undefined = undefined
  /** The arguments that travel in headers, too: every round has to say the same in both. */
  headerParams: ReadonlyArray<HeaderParam> = []
  /** How many drive it at the moment. */
  drivers = 0
  private readonly hints: Queue.Queue<Hint>
  private readonly questions: Array<Asked> = []
  private readonly somethingAsked = Latch.makeUnsafe(false)
  private result: Exit.Exit<A, McpError.McpError> | undefined = undefined

  static readonly make = <A>(id: string): Effect.Effect<Call<A>> =>
    Effect.map(Queue.sliding<Hint>(maxHints), (hints) => new Call<A>(id, hints))

  private constructor(id: string, hints: Queue.Queue<Hint>) {
    this.id = id
    this.hints = hints
  }

  progress(progress: number, options: ReportOptions): void {
    Queue.offerUnsafe(this.hints, { _tag: "Progress", progress, options })
  }
  log(message: LogMessageParams): void {
    Queue.offerUnsafe(this.hints, { _tag: "Log", message })
  }
  /** The call is over: drivers are told once they have passed on what came before. */
  end(exit: Exit.Exit<A, McpError.McpError>): void {
    this.result ??= exit
    for (const question of this.questions) question.move()
    Queue.offerUnsafe(this.hints, { _tag: "Over" })
  }

  /** A question of the server behind, by the name it has there: waits until whoever drives has an answer. Interrupting it takes the question back. */
  ask<M extends Question>(
    method: M,
    params: Method.ServerRequests[M]["params"],
    { key: named, onProgress }: AskOptions = {}
  ): Effect.Effect<Method.ServerRequests[M]["result"], AskError | McpError.McpError | Moved> {
    return Effect.suspend(() => {
      const answer = Deferred.makeUnsafe<Method.ServerRequests[M]["result"], AskError | McpError.McpError | Moved>()
      const withdrawn = Deferred.makeUnsafe<Context.Context<never> | undefined>()
      // The caller sees it; it is the same in every round.
      const key = named ?? `${method}#${this.questions.length + 1}`
      this.questions.push({
        move: () => void Deferred.doneUnsafe(answer, Exit.fail(new Moved())),
        settled: () => Deferred.isDoneUnsafe(answer) || Deferred.isDoneUnsafe(withdrawn),
        put: (input) => {
          const asked = Effect.matchCauseEffect(input.ask(method, params, { key, onProgress }), {
            onSuccess: (value) => Deferred.succeed(answer, value),
            // A round that ends interrupts it; the question stays.
            onFailure: (cause) =>
              Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Deferred.failCause(answer, cause)
          })
          return Effect.flatMap(Effect.forkChild(asked, { startImmediately: true }), (fiber) =>
            Effect.raceFirst(
              Fiber.join(fiber),
              // The caller is told why.
              Effect.map(Deferred.await(withdrawn), (reason) => fiber.interruptUnsafe(undefined, reason))
            )
          ).pipe(Effect.asVoid, Effect.orDie)
        }
      })
      this.somethingAsked.openUnsafe()
      return Effect.onExit(Deferred.await(answer), (exit) =>
        Effect.sync(() => {
          if (!Exit.isFailure(exit) || !Cause.hasInterrupts(exit.cause)) return
          const reason = CancelReason.of(exit.cause)
          const annotation = reason === undefined ? undefined : CancelReason.annotation(reason)
          Deferred.doneUnsafe(withdrawn, Exit.succeed(annotation))
        })
      )
    })
  }

  /** Passes on what comes of the call until it is over. */
  drive(driver: Driver): Effect.Effect<A, McpError.McpError> {
    return Effect.andThen(
      Effect.forkChild(this.answering(driver.input), { startImmediately: true }),
      this.following(driver)
    )
  }

  private following(driver: Driver): Effect.Effect<A, McpError.McpError> {
    let hinted = false
    const next: Effect.Effect<A, McpError.McpError> = Effect.flatMap(Queue.take(this.hints), (hint) => {
      if (hint._tag === "Over") {
        // Another may drive it as well: a retry whose first try still runs.
        Queue.offerUnsafe(this.hints, hint)
        const result = this.result ?? Effect.never
        // In a write of its own: a client that reads both at once may take the answer first, and lose the hints.
        return hinted ? Effect.andThen(Effect.yieldNow, result) : result
      }
      hinted = true
      return Effect.andThen(
        hint._tag === "Progress"
          ? driver.progress.report(hint.progress, hint.options)
          : driver.log.log(hint.message.level, hint.message.data, hint.message.logger),
        next
      )
    })
    return next
  }

  /** Asks every open question, and those still to come, each in a fiber of its own. */
  private answering(input: Input): Effect.Effect<never> {
    let next = 0
    return Effect.suspend(() => {
      this.somethingAsked.closeUnsafe()
      const open = this.questions.slice(next).filter((question) => !question.settled())
      next = this.questions.length
      return Effect.andThen(
        Effect.forEach(open, (question) => Effect.forkChild(question.put(input), { startImmediately: true }), {
          discard: true
        }),
        this.somethingAsked.await
      )
    }).pipe(Effect.forever)
  }
}
